/** What a contender tells of one lock it held. Times are of the machine's monotonic clock, in ms: the same for all processes. */
export interface Hold {
  readonly keys: readonly string[];
  readonly token: number;
  /** Read before the lock was asked for. */
  readonly startedAt: number;
  /** Read after it was granted. */
  readonly grantedAt: number;
  /** Read before its holder last found that it still held the lock. */
  readonly heldUntil: number;
  /** How many of its keys' counters it raised by one. */
  readonly counted: readonly string[];
}

/** Holds all that the contenders tell against what a lock promises. */
export class Audit {
  readonly #holds = new Map<string, Hold[]>();

  add(hold: Hold): void {
    for (const key of hold.keys) {
      const holds = this.#holds.get(key);
      if (holds) holds.push(hold);
      else this.#holds.set(key, [hold]);
    }
  }

  /** @param counters what each key's counter says in the end */
  violations(counters: ReadonlyMap<string, number>): string[] {
    return [...this.#holds].flatMap(([key, holds]) => [
      ...overlaps(key, holds),
      ...tokens(key, holds),
      ...lostUpdates(key, holds, counters.get(key) ?? 0),
    ]);
  }
}

function overlaps(key: string, holds: readonly Hold[]): string[] {
  const inOrder = [...holds].sort((a, b) => a.grantedAt - b.grantedAt);
  const found: string[] = [];
  let last: Hold | undefined;
  for (const hold of inOrder) {
    if (last && hold.grantedAt <= last.heldUntil) found.push(`two holders of ${key}: ${show(last)}, ${show(hold)}`);
    if (!last || hold.heldUntil > last.heldUntil) last = hold;
  }
  return found;
}

/** Distinct, and above those of all that were granted before the attempt began. */
function tokens(key: string, holds: readonly Hold[]): string[] {
  const byGrant = [...holds].sort((a, b) => a.grantedAt - b.grantedAt);
  const byStart = [...holds].sort((a, b) => a.startedAt - b.startedAt);
  const found: string[] = [];
  const seen = new Map<number, Hold>();
  let next = 0;
  let highest: Hold | undefined;
  for (const hold of byStart) {
    for (; next < byGrant.length && byGrant[next]!.grantedAt < hold.startedAt; next++) {
      if (!highest || byGrant[next]!.token > highest.token) highest = byGrant[next];
    }
    if (highest && hold.token <= highest.token) {
      found.push(`token of ${key} not above: ${show(highest)}, ${show(hold)}`);
    }
    const twin = seen.get(hold.token);
    if (twin) found.push(`equal tokens of ${key}: ${show(twin)}, ${show(hold)}`);
    seen.set(hold.token, hold);
  }
  return found;
}

function lostUpdates(key: string, holds: readonly Hold[], counter: number): string[] {
  const writes = holds.filter(({ counted }) => counted.includes(key)).length;
  return counter === writes ? [] : [`${writes} raises left the counter of ${key} at ${counter}`];
}

function show({ token, startedAt, grantedAt, heldUntil }: Hold): string {
  return `${token} (asked ${startedAt.toFixed(1)}, granted ${grantedAt.toFixed(1)}, held until ${heldUntil.toFixed(1)})`;
}
