/** One key given to one attempt. */
export interface Grant {
  readonly key: string;
  readonly token: number;
  /** On the clock of the world, which no process can see. */
  readonly startedAt: number;
  readonly grantedAt: number;
}

/** The time for which one attempt may believe that it holds its keys. */
export interface Lease {
  readonly owner: string;
  readonly keys: readonly string[];
  readonly valid: boolean;
}

export interface Promises {
  /** No two grants of a key have the same token, those of attempts that overlapped included. */
  readonly distinct: boolean;
  /** An attempt that began more than this after another was granted gets a higher token. */
  readonly risingAfterMs: number;
  /** No two leases of a key are valid at one time. */
  readonly exclusive: boolean;
}

/** Holds what was granted against what is promised. The same for every scenario, the broken ones included. */
export class GrantLog {
  readonly violations: string[] = [];
  readonly #grants = new Map<string, Grant[]>();
  readonly #leases = new Set<Lease>();

  constructor(private readonly promises: Promises) {}

  get count(): number {
    return [...this.#grants.values()].reduce((sum, grants) => sum + grants.length, 0);
  }

  granted(grant: Grant): void {
    const earlier = this.#grants.get(grant.key) ?? [];
    this.#grants.set(grant.key, [...earlier, grant]);
    for (const other of earlier) {
      if (this.promises.distinct && other.token === grant.token) this.#broken('equal tokens', show(other), show(grant));
      const apart = grant.startedAt - other.grantedAt > this.promises.risingAfterMs;
      if (apart && grant.token <= other.token) this.#broken('token not above', show(other), show(grant));
    }
  }

  /** A lease began, by a grant or a renewal. */
  leased(lease: Lease): void {
    this.#leases.add(lease);
    if (!this.promises.exclusive || !lease.valid) return;
    for (const other of this.#leases) {
      if (!other.valid) this.#leases.delete(other);
      else if (other !== lease && other.keys.some((key) => lease.keys.includes(key))) {
        this.#broken('two holders', other.owner, lease.owner);
      }
    }
  }

  #broken(what: string, first: string, second: string): void {
    this.violations.push(`${what}: ${first}, then ${second}`);
  }
}

function show({ key, token, startedAt, grantedAt }: Grant): string {
  return `${key} ${token} (${startedAt.toFixed(2)} to ${grantedAt.toFixed(2)} ms)`;
}
