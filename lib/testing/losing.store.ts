import { MemoryStore } from '../stores/memory.store.js';

/** A memory store that lets a test take a lock away from its holder, who is told at once, as of a broken connection to Postgres. */
export class LosingStore extends MemoryStore {
  readonly #holders = new Map<string, Set<() => void>>();

  onLoss(key: string, owner: string, lost: () => void): () => void {
    const name = nameOf(key, owner);
    const holders = this.#holders.get(name) ?? new Set();
    this.#holders.set(name, holders.add(lost));
    return () => {
      holders.delete(lost);
      if (holders.size === 0) this.#holders.delete(name);
    };
  }

  /** False: nobody holds it. */
  async lose(key: string): Promise<boolean> {
    const { owner } = await this.inspect(key);
    if (owner === undefined || !(await this.release(key, owner))) return false;
    for (const lost of [...(this.#holders.get(nameOf(key, owner)) ?? [])]) lost();
    return true;
  }
}

function nameOf(key: string, owner: string): string {
  return `${owner} ${key}`;
}
