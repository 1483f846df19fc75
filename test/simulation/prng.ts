// Looking a global up takes long within a test runner, which gives each test its own.
const { floor, imul } = Math;

/** Random numbers that are the same for the same seed, on every machine. */
export class Prng {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Neighbouring seeds start far apart.
    for (let i = 0; i < 4; i++) this.#next();
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.fraction() * (most - least);
  }

  /** A whole number in [0, count). */
  below(count: number): number {
    return floor(this.fraction() * count);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('Nothing to pick from');
    return items[this.below(items.length)]!;
  }

  /** Draws names, each as often as its weight says. */
  chooser<K extends string>(weights: Readonly<Record<K, number>>): () => K {
    const names = (Object.keys(weights) as K[]).filter((name) => weights[name] > 0);
    const total = names.reduce((sum, name) => sum + weights[name], 0);
    return () => {
      let left = this.fraction() * total;
      for (const name of names) if ((left -= weights[name]) < 0) return name;
      return names.at(-1)!;
    };
  }

  /** A Weyl sequence, mixed by multiplications: every state comes once in 2³² numbers. */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }
}
