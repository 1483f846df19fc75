/** When one holder began and ended, as far as is known: in between, and not before. Whole numbers. */
export interface Window {
  readonly token: number;
  readonly from: number;
  readonly until: number;
  readonly heldUntil: number;
}

/** Tries all whole moments for all holders in all orders: slow, and too simple to be wrong. */
export function fits(
  windows: readonly Window[],
  freeFrom = Number.NEGATIVE_INFINITY,
  above = Number.NEGATIVE_INFINITY,
): boolean {
  if (windows.length === 0) return true;
  return windows.some((next) => {
    if (next.token <= above) return false;
    const others = windows.filter((each) => each !== next);
    for (let began = next.from; began <= next.until; began++) {
      if (began < freeFrom) continue;
      const ended = Math.max(began, next.heldUntil);
      if (fits(others, ended, next.token)) return true;
    }
    return false;
  });
}
