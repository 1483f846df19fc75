import type { Hold } from './protocol.js';

interface Entry {
  readonly hold: Hold;
  readonly number: number;
}

const MOST_HOLDS = 1000;

/** Who held what, and until when: the latest of what this process has seen. */
export class HoldHistory {
  #number = 0;
  readonly #entries = new Map<string, Entry>();

  /** Rises with each hold. */
  get number(): number {
    return this.#number;
  }

  /** What is told twice of one hold: what the process itself was told is better than what was seen from outside, and what was done here is best. */
  add(hold: Hold): void {
    const id = idOf(hold);
    const known = this.#entries.get(id)?.hold;
    if (known && (hold.end === 'ended' || hold.end === 'expired' || known.end === 'forced')) return;
    this.#entries.delete(id);
    this.#entries.set(id, { hold: { ...known, ...hold }, number: ++this.#number });
    if (this.#entries.size > MOST_HOLDS) this.#entries.delete(this.#entries.keys().next().value!);
  }

  /** It has not ended. */
  retract(hold: Pick<Hold, 'key' | 'token'> & { readonly since?: number }): void {
    this.#entries.delete(idOf({ ...hold, ...(hold.since === undefined ? {} : { from: hold.since }) }));
  }

  /** Those added after that number, the oldest first. */
  since(number: number): readonly Hold[] {
    if (number >= this.#number) return [];
    return [...this.#entries.values()].filter((entry) => entry.number > number).map(({ hold }) => hold);
  }
}

function idOf({ key, token, from }: Pick<Hold, 'key' | 'token' | 'from'>): string {
  return `${token ?? from ?? ''} ${key}`;
}
