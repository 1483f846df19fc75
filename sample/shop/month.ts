/** Here a month lasts two seconds; the month's number counts them since 1970. */
export const MONTH_MS = 2_000;

/** The month that a tick at this time begins. A tick may come late, by less than half a month. */
export function monthAt(time: number): number {
  return Math.round(time / MONTH_MS);
}

/** The time of the tick that begins the month. */
export function nameOf(month: number): string {
  return new Date(month * MONTH_MS).toISOString().slice(11, 19);
}
