import type { HeldLockEvent, LockEventListener, LockEventName } from '../lock-events.js';
import type { Attributes, Meter } from './otel.js';

/** What metrics are made from. */
export interface EventSource {
  on<N extends LockEventName>(name: N, listener: LockEventListener<N>): () => void;
}

/** From what nobody notices to what somebody has to look at. */
const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];
const SHARES = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2, 5, 10, 100];
/** A label that is made of what is different each time must not become a series each time. */
const MOST_LABELS = 200;
const MS = 1000;

/** Counters and histograms of one manager. Their attributes are the manager, the label of the lock, an outcome, a reason or a node: never a key. */
export class LockMetrics {
  readonly #labels = new Set<string>();
  readonly #stops: (() => void)[] = [];

  constructor(events: EventSource, meter: Meter) {
    const on: EventSource['on'] = (name, listener) => {
      const stop = events.on(name, listener);
      this.#stops.push(stop);
      return stop;
    };
    const seconds = { unit: 's', advice: { explicitBucketBoundaries: SECONDS } };
    const attempts = meter.createCounter('lock.attempts', { unit: '{attempt}', description: 'Calls for a lock' });
    const wait = meter.createHistogram('lock.wait', { ...seconds, description: 'Time from the call to its answer' });
    on('granted', (event) => {
      attempts.add(1, this.#attributes(event, { 'lock.outcome': 'granted' }));
      wait.record(event.waitedMs / MS, this.#attributes(event, { 'lock.outcome': 'granted' }));
      held.add(1, this.#attributes(event));
    });
    for (const outcome of ['busy', 'unavailable'] as const) {
      on(outcome, (event) => {
        attempts.add(1, this.#attributes(event, { 'lock.outcome': outcome }));
        wait.record(event.waitedMs / MS, this.#attributes(event, { 'lock.outcome': outcome }));
      });
    }

    const held = meter.createUpDownCounter('lock.held', { unit: '{lock}', description: 'Locks held at present' });
    const hold = meter.createHistogram('lock.hold', { ...seconds, description: 'Time from the grant to the end' });
    const share = meter.createHistogram('lock.hold_to_ttl', {
      ...{ unit: '1', description: 'Time held, divided by the ttl' },
      advice: { explicitBucketBoundaries: SHARES },
    });
    const over = (event: HeldLockEvent): void => {
      held.add(-1, this.#attributes(event));
      hold.record(event.heldMs / MS, this.#attributes(event));
      share.record(event.heldMs / event.ttlMs, this.#attributes(event));
    };
    on('released', over);
    const losses = meter.createCounter('lock.losses', { unit: '{lock}', description: 'Locks lost while held' });
    on('lost', (event) => {
      over(event);
      losses.add(1, this.#attributes(event, { 'lock.reason': event.reason }));
    });
    const overruns = meter.createCounter('lock.overruns', {
      ...{ unit: '{lock}', description: 'Work that went on beyond the ttl of a lock without renewal' },
    });
    on('overrun', (event) => overruns.add(1, this.#attributes(event)));
    const renewals = meter.createCounter('lock.renewals', { unit: '{renewal}', description: 'Leases made longer' });
    on('renewed', (event) => renewals.add(1, this.#attributes(event)));

    const latency = meter.createHistogram('lock.node.latency', {
      ...seconds,
      description: 'Time from a request to a node to its answer',
    });
    on('nodeAnswered', ({ manager, node, latencyMs }) =>
      latency.record(latencyMs / MS, { 'lock.manager': manager, 'lock.node': node }),
    );
    const outages = meter.createCounter('lock.node.outages', { unit: '{outage}', description: 'Nodes that went away' });
    on('nodeDown', ({ manager, node }) => outages.add(1, { 'lock.manager': manager, 'lock.node': node }));
  }

  /** Counts no longer. */
  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #attributes({ manager, label = '' }: { manager: string; label: string | undefined }, more?: Attributes): Attributes {
    if (this.#labels.size < MOST_LABELS) this.#labels.add(label);
    const known = this.#labels.has(label) ? label : 'other';
    return { 'lock.manager': manager, 'lock.label': known, ...more };
  }
}
