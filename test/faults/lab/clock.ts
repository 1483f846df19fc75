const trueNow = Date.now;
const TrueDate = Date;

/** From now on the wall clock of this process is off by so much. The monotonic clock is not. */
export function shiftClock(ms: number): void {
  if (ms === 0) return;
  globalThis.Date = class extends TrueDate {
    constructor(...args: [] | [number | string]) {
      if (args.length === 0) super(trueNow() + ms);
      else super(args[0]);
    }
    static override now(): number {
      return trueNow() + ms;
    }
  } as DateConstructor;
}
