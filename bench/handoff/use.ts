/** One caller's use of the key. Times are in ms, on the clock that all processes of the machine share. */
export interface Use {
  readonly who: number;
  takenAt: number;
  leftAt: number;
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
