import type { Pending } from './flight.js';

/** A script holds Redis up for as long as it runs: about 5 µs a request. */
const MOST_PER_SCRIPT = 256;
/** Below this, what another script costs outweighs what it saves. */
const LEAST_WORTH_HALVING = 32;

/**
 * What is asked of a node in one tick. A lone request goes out at once; what else its tick asks for follows as one script, or as several, so that the node works
 * on one while this process makes the next. What is asked for between `cork` and `uncork` stays together.
 */
export class TickBatch {
  #pending: Pending[] = [];
  /** Whether the tick has asked for something already; its end sends the rest. */
  #ticking = false;
  /** Whether it has asked for several. */
  #bursting = false;
  /** Whether the last tick asked for several. */
  #inBurst = false;
  #corked = false;
  #corkedBefore = false;

  constructor(
    private readonly send: (batch: readonly Pending[]) => void,
    /** How many requests are on their way. */
    private readonly open: () => number,
    /** Whether each goes alone: in a Cluster each user key has its own slot, and a script may not cross slots. */
    private readonly apart: boolean,
  ) {}

  add(pending: Pending): void {
    pending.joined = this.#corked && this.#corkedBefore;
    this.#corkedBefore = this.#corked;
    if (!this.#ticking) {
      this.#ticking = true;
      process.nextTick(this.#endTick);
      // In a burst the first has no reason to go alone.
      if (!this.#corked && !this.#inBurst) return this.send([pending]);
    }
    this.#pending.push(pending);
    if (!this.#corked && this.#pending.length >= this.#mostPerScript()) this.#flush();
  }

  cork(): void {
    this.#corked = true;
    this.#corkedBefore = false;
  }

  uncork(): void {
    this.#corked = false;
  }

  readonly #endTick = (): void => {
    const { length } = this.#pending;
    this.#inBurst = this.#bursting || length > 1;
    this.#ticking = false;
    if (length > 0) this.#flush();
    this.#bursting = false;
  };

  #flush(): void {
    const pending = this.#pending;
    const most = this.#mostPerScript();
    this.#pending = [];
    this.#bursting = true;
    for (let from = 0, to = 0; from < pending.length; from = to) {
      to = this.apart ? from + 1 : endOfScript(pending, from, most);
      this.send(to - from === pending.length ? pending : pending.slice(from, to));
    }
  }

  /** Half of what is under way, so that the node works on one half while this process is busy with the other. */
  #mostPerScript(): number {
    const half = Math.ceil((this.#pending.length + this.open()) / 2);
    return Math.min(MOST_PER_SCRIPT, Math.max(LEAST_WORTH_HALVING, half));
  }
}

/** Where a script that begins there ends, so that those who are joined stay together. */
function endOfScript(pending: readonly Pending[], from: number, most: number): number {
  if (pending.length - from <= most) return pending.length;
  for (let to = from + most; to > from; to--) if (!pending[to]!.joined) return to;
  let to = from + most + 1;
  while (pending[to]?.joined) to++;
  return to;
}
