import { endOf, validity, type Moment } from '../../deadline.js';
import type { Place, Turn } from '../lock-store.js';
import type { Channels } from './channels.js';
import { turnChannel, untagged } from './key-names.js';
import type { TurnEar } from './lock-node.js';
import { TURN_MS } from './node-lua.js';

/** An attempt that stands in line. */
interface Expected {
  readonly sentAt: Moment;
  readonly leaseMs: number;
  readonly place: Place;
  fencingToken: number | undefined;
}

/** Owner, token if there is one, and key. */
const MESSAGE = /^(\S+) (\d*) (.+)$/s;

/**
 * With less left of it than this part, a turn is not taken without asking: it was long on its way, or its attempt long in line. It would have to be renewed at once, which
 * costs as much, while asking brings the whole ttl.
 */
const ENOUGH = 2 / 3;

/**
 * Attempts of this process that stand in line at one Redis, and the turns they got. The server has made the lock theirs by the time it tells them, for a moment; when that was
 * nobody here knows, only that it was after the attempt was sent, so that is what the lease counts from.
 */
export class Turns implements TurnEar {
  unwanted: TurnEar['unwanted'] = undefined;
  readonly #expected = new Map<string, Expected>();
  #process = '/';
  #channel = '';
  /** Who waits until they can stand in line. */
  readonly #waiting = new Set<() => void>();

  constructor(private readonly channels: Pick<Channels, 'prefix' | 'open' | 'isOpen' | 'isLive'>) {}

  listen(owner: string, wake: () => void): () => void {
    this.#waiting.add(wake);
    const channel = this.#channelOf(owner);
    // For good: the next who waits can then stand in line at once.
    if (!this.channels.isOpen(channel)) this.channels.open(channel, (message) => this.#heard(message));
    return () => void this.#waiting.delete(wake);
  }

  expect(owner: string, sentAt: Moment, ttlMs: number, place: Place): boolean {
    if (!this.channels.isLive(this.#channelOf(owner))) return false;
    this.#expected.set(owner, { sentAt, leaseMs: Math.min(ttlMs, TURN_MS), place, fencingToken: undefined });
    return true;
  }

  take(owner: string, at: Moment): Turn | undefined {
    const expected = this.#expected.get(owner);
    this.#expected.delete(owner);
    if (expected?.fencingToken === undefined) return undefined;
    const { sentAt, leaseMs, fencingToken } = expected;
    const isEnough = endOf(sentAt, validity(leaseMs), at) - at.monotonic >= leaseMs * ENOUGH;
    return isEnough ? { fencingToken, sentAt, leaseMs } : undefined;
  }

  forget(owner: string): void {
    this.#expected.delete(owner);
  }

  /** Mostly that of the owner before: they are of one process. */
  #channelOf(owner: string): string {
    if (!owner.startsWith(this.#process)) {
      this.#process = owner.slice(0, owner.indexOf('/') + 1) || owner;
      this.#channel = turnChannel(this.channels.prefix, owner);
    }
    return this.#channel;
  }

  #heard(message: string | undefined): void {
    if (message === undefined) {
      for (const wake of [...this.#waiting]) wake();
      for (const { place } of [...this.#expected.values()]) place.wake?.();
      return;
    }
    const [, owner, token, key] = MESSAGE.exec(message) ?? [];
    if (owner === undefined) return;
    const expected = this.#expected.get(owner);
    if (!expected) return this.unwanted?.(untagged(key!), owner);
    // Without a token it is theirs all the same, if they ask.
    if (token !== '') expected.fencingToken = Number(token);
    expected.place.wake?.();
  }
}
