import type { LockCallEvent } from '../lock-events.js';
import type { Calls, Figures, LabelFigures, Loss, Slot } from './protocol.js';

/** Steps in which people think of waiting. */
export const WAIT_LIMITS_MS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000] as const;

const SLOT_MS = 10_000;
const SLOTS = 60;
const MOST_LABELS = 100;
const LABELS_SHOWN = 10;
const MOST_LOSSES = 50;
const OTHERS = 'others';

type Counters = { -readonly [Name in keyof Calls]: number };

/** Counts what the calls of this process meet. It stays as small as it is, however many keys and labels there are. */
export class ProcessFigures {
  #changes = 0;
  readonly #waits: number[] = Array.from({ length: WAIT_LIMITS_MS.length + 1 }, () => 0);
  /** By the number of the stretch of time, of which the slot is that modulo `SLOTS`. */
  readonly #slots: { stretch: number; calls: Counters }[] = [];
  readonly #labels = new Map<string, Counters>();
  readonly #losses: Loss[] = [];
  #lost = 0;

  count(name: keyof Calls, { label = '(no label)' }: Pick<LockCallEvent, 'label'>, now: number): void {
    this.#changes++;
    this.#slot(now)[name]++;
    this.#label(label)[name]++;
  }

  waited(ms: number): void {
    const index = WAIT_LIMITS_MS.findIndex((limit) => ms <= limit);
    this.#waits[index < 0 ? WAIT_LIMITS_MS.length : index]!++;
  }

  lose(loss: Loss): void {
    this.#changes++;
    this.#lost++;
    this.#losses.push(loss);
    if (this.#losses.length > MOST_LOSSES) this.#losses.shift();
  }

  /** Differs when what `at` returns does. */
  versionAt(now: number): string {
    return `${this.#changes} ${Math.floor(now / SLOT_MS)}`;
  }

  at(now: number): Figures {
    const last = Math.floor(now / SLOT_MS);
    const slots = Array.from({ length: SLOTS }, (_, index): Slot => {
      const stretch = last - SLOTS + 1 + index;
      const slot = this.#slots[stretch % SLOTS];
      const calls = slot?.stretch === stretch ? slot.calls : none();
      return { from: stretch * SLOT_MS, ms: SLOT_MS, ...calls };
    });
    return { waits: [...this.#waits], slots, labels: this.#contended(), losses: [...this.#losses], lost: this.#lost };
  }

  #slot(now: number): Counters {
    const stretch = Math.floor(now / SLOT_MS);
    const slot = this.#slots[stretch % SLOTS];
    if (slot?.stretch === stretch) return slot.calls;
    const calls = none();
    this.#slots[stretch % SLOTS] = { stretch, calls };
    return calls;
  }

  #label(label: string): Counters {
    const name = this.#labels.has(label) || this.#labels.size < MOST_LABELS ? label : OTHERS;
    const counters = this.#labels.get(name) ?? none();
    this.#labels.set(name, counters);
    return counters;
  }

  #contended(): LabelFigures[] {
    const contention = ({ waiting, busy }: Calls): number => waiting + busy;
    return [...this.#labels]
      .map(([label, calls]) => ({ label, ...calls }))
      .sort((one, other) => contention(other) - contention(one) || other.granted - one.granted)
      .slice(0, LABELS_SHOWN);
  }
}

function none(): Counters {
  return { granted: 0, waiting: 0, busy: 0, unavailable: 0 };
}
