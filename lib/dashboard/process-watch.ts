import type { HeldLockEvent } from '../lock-events.js';
import type { LockManager } from '../lock-manager.js';
import type { Clock } from '../runtime.js';
import type { HoldHistory } from './hold-history.js';
import type { ProcessFigures } from './process-figures.js';
import type { Hold, HoldEnd } from './protocol.js';

export interface WatchOptions {
  readonly figures: ProcessFigures;
  readonly history: HoldHistory;
  readonly clock: Clock;
  /** This process, as holders are named. */
  readonly self: { readonly pod: string; readonly pid: number };
  /** A node went or came, or another store decides: look at once. */
  readonly changed: () => void;
}

/** Listens to a manager for the figures and the history of its process; returns what ends that. */
export function watchProcess(locks: Pick<LockManager, 'on'>, options: WatchOptions): () => void {
  const { figures, history, clock, self, changed } = options;

  const ended = (event: HeldLockEvent, end: HoldEnd, more: Pick<Hold, 'reason'> = {}): void => {
    const to = clock.wall();
    const { fencingToken: token, heldMs } = event;
    for (const key of event.keys) history.add({ key, ...self, token, from: to - heldMs, to, end, ...more });
  };

  const stops = [
    locks.on('granted', (event) => {
      figures.waited(event.waitedMs);
      figures.count('granted', event, clock.wall());
    }),
    locks.on('waiting', (event) => figures.count('waiting', event, clock.wall())),
    locks.on('busy', (event) => figures.count('busy', event, clock.wall())),
    locks.on('unavailable', (event) => figures.count('unavailable', event, clock.wall())),
    locks.on('released', (event) => ended(event, 'released')),
    locks.on('lost', (event) => {
      const { key, fencingToken: token, heldMs, reason } = event;
      figures.lose({ at: clock.wall(), key, token, heldMs, reason });
      ended(event, 'lost', { reason });
      changed();
    }),
    locks.on('nodeDown', changed),
    locks.on('nodeUp', changed),
    locks.on('authorityChanged', changed),
  ];
  return () => stops.forEach((stop) => stop());
}
