import type { Lock } from '../../../lib/lock.js';
import type { SimProcess } from '../sim-process.js';
import { Holding } from './holding.js';

/** Timers fire a little late. */
const LATE_MS = 15;

/** Who may believe to hold what, and whether two may at one time, or one although another was granted the key since. */
export class LeaseBook {
  /** Those of which something was heard since the last judgement. */
  readonly #stirred = new Set<Holding>();
  readonly #holdings = new Map<string, Holding[]>();
  readonly #all: Holding[] = [];

  constructor(
    private readonly nowMs: () => number,
    private readonly broken: (what: string) => void,
    /** How much later than its end a loss may be told: a machine that slept finds out at the next look at its clocks. */
    private readonly noticeMs: number,
  ) {}

  enter(lock: Lock, process: SimProcess, listens: boolean): Holding {
    const holding = new Holding(`${process.name} of ${lock.keys.join('+')}`, lock, process, this.#all.length);
    this.#all.push(holding);
    holding.validUntil = this.nowMs();
    holding.look(this.nowMs());
    for (const key of lock.keys) this.#holdings.set(key, [...this.#valid(key), holding]);
    this.#stirred.add(holding);
    holding.listens = listens;
    if (listens && lock.signal.aborted) holding.told = true;
    else if (listens) lock.signal.addEventListener('abort', () => this.#told(holding), { once: true });
    return holding;
  }

  /** A renewal of this key was answered. */
  renewed(key: string, process: SimProcess): void {
    for (const holding of this.#valid(key)) if (holding.process === process) this.#stirred.add(holding);
  }

  end(holding: Holding): void {
    this.#checkTold(holding);
    holding.over = true;
  }

  /** After each event, once all that follows from it has happened. */
  judge(): void {
    if (this.#stirred.size === 0) return;
    const stirred = [...this.#stirred];
    this.#stirred.clear();
    for (const holding of stirred) {
      if (holding.over || !holding.process.alive) continue;
      holding.look(this.nowMs());
      if (holding.validUntil > this.nowMs()) for (const key of holding.lock.keys) this.#compare(key, holding);
    }
  }

  /** When all is over: nobody may still believe, or not have been told. */
  close(): void {
    for (const holding of this.#all) if (!holding.over && holding.process.alive) this.#checkTold(holding);
  }

  #compare(key: string, holding: Holding): void {
    for (const other of this.#holdings.get(key) ?? []) {
      if (other === holding || !other.process.alive) continue;
      if (other.order > holding.order) {
        this.broken(`renewed although ${key} was granted since: ${String(holding)}, then ${String(other)}`);
      } else if (other.validAt(this.nowMs()) && this.#stillHeld(other)) {
        this.broken(`two holders of ${key}: ${String(other)}, then ${String(holding)}`);
      }
    }
  }

  /** Its process may have noticed since, if it runs: then its wall clock ran ahead, say. */
  #stillHeld(holding: Holding): boolean {
    return holding.process.paused || holding.lock.held;
  }

  #told(holding: Holding): void {
    this.#checkTold(holding);
    holding.told = true;
  }

  #checkTold(holding: Holding): void {
    if (!holding.listens || holding.told || holding.over) return;
    const lateMs = this.nowMs() - holding.validUntil - (holding.process.pausedMs - holding.pausedMs);
    if (lateMs > this.noticeMs + LATE_MS) this.broken(`told ${lateMs.toFixed(1)} ms late: ${String(holding)}`);
  }

  /** Those that may matter yet, and the last one. */
  #valid(key: string): Holding[] {
    const holdings = this.#holdings.get(key) ?? [];
    return holdings.filter((each, index) => index >= holdings.length - 2 || (!each.over && each.process.alive));
  }
}
