import { toMs, type Duration } from './duration.js';
import { LockOptionsError } from './errors.js';

/** What one acquisition can ask for. Every field also has a module-wide default: `forRoot({ defaults: { … } })`. */
export interface LockOptions {
  /**
   * How long the lock outlives a holder that died; also the longest it outlives a lost connection. Default 30 s.
   * Lower frees a dead holder's key sooner, but costs more renewals and forgives shorter pauses.
   */
  readonly ttl?: Duration;
  /** Renew every third of the ttl for as long as the lock is held. Default true; false makes the ttl a hard limit. */
  readonly autoRenew?: boolean;
  /** How long to queue for a busy key before `LockBusyError`. Default 0: one attempt. */
  readonly wait?: Duration;
  /**
   * Keep the key taken until this long after it was granted, even if released sooner. Default 0. It stops a pod with a skewed
   * clock from running a short cron job again; it also delays every other taker that much.
   */
  readonly minHold?: Duration;
  /**
   * Stop renewing, and abort the signal, after this long: a stuck handler cannot keep the key for ever. Default: no limit.
   * The key frees itself at most one ttl later.
   */
  readonly maxHold?: Duration;
  /** Share the lock that this async context already holds, instead of `LockReentryError`. Default false. */
  readonly reentrant?: boolean;
  /** Ends the wait: the acquisition rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * What this kind of lock is called in events, metrics and traces, where keys would be too many. Default: none; for a `@WithLock` method its template, or its name if
   * the key is a function.
   */
  readonly label?: string;
}

/** Options of `withLock` and `@WithLock`, which also see what became of the work. */
export interface WithLockOptions extends LockOptions {
  /**
   * What a lost lock does to work that returned normally: 'throw' (default) rejects with `LockLostError`, which carries the result;
   * 'ignore' returns the result. An error of the work itself always wins.
   */
  readonly onLost?: 'throw' | 'ignore';
}

/** Options that can be given module-wide. */
export type LockDefaults = Omit<WithLockOptions, 'signal' | 'reentrant' | 'label'>;

/** Checked options, in ms. */
export interface LockTerms {
  readonly ttlMs: number;
  readonly autoRenew: boolean;
  readonly waitMs: number;
  readonly minHoldMs: number;
  readonly maxHoldMs: number;
  readonly reentrant: boolean;
  readonly onLost: 'throw' | 'ignore';
  readonly signal: AbortSignal | undefined;
  readonly label: string | undefined;
}

/** Below this, drift and one round trip would eat the whole lease. */
const SHORTEST_TTL_MS = 10;

const DEFAULT_TERMS: LockTerms = {
  ttlMs: 30_000,
  autoRenew: true,
  waitMs: 0,
  minHoldMs: 0,
  maxHoldMs: Number.POSITIVE_INFINITY,
  reentrant: false,
  onLost: 'throw',
  signal: undefined,
  label: undefined,
};
export const LONGEST_LABEL = 128;

const KNOWN = ['ttl', 'autoRenew', 'wait', 'minHold', 'maxHold', 'reentrant', 'signal', 'onLost', 'label'];

/**
 * Checks options and fills in what they leave open.
 * @throws LockOptionsError naming the option, its value and what is accepted.
 */
export function toTerms(options: WithLockOptions | undefined, defaults: LockTerms = DEFAULT_TERMS): LockTerms {
  if (options === undefined) return defaults;
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError('lock options', options, 'give an object such as { ttl: 30 }.');
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) throw new LockOptionsError('lock option', name, `known are ${KNOWN.join(', ')}.`);
  }
  const { ttl, wait, minHold, maxHold, signal, label } = options;
  const terms: LockTerms = {
    ttlMs: ttl === undefined ? defaults.ttlMs : toMs('ttl', ttl, SHORTEST_TTL_MS),
    autoRenew: flag('autoRenew', options.autoRenew, defaults.autoRenew),
    waitMs: wait === undefined ? defaults.waitMs : toMs('wait', wait),
    minHoldMs: minHold === undefined ? defaults.minHoldMs : toMs('minHold', minHold),
    maxHoldMs: maxHold === undefined ? defaults.maxHoldMs : toMs('maxHold', maxHold, SHORTEST_TTL_MS),
    reentrant: flag('reentrant', options.reentrant, defaults.reentrant),
    onLost: options.onLost ?? defaults.onLost,
    signal,
    label,
  };
  if (terms.onLost !== 'throw' && terms.onLost !== 'ignore') {
    throw new LockOptionsError('onLost', terms.onLost, "give 'throw' or 'ignore'.");
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockOptionsError('signal', signal, 'give an AbortSignal.');
  }
  if (label !== undefined && (typeof label !== 'string' || label === '' || label.length > LONGEST_LABEL)) {
    throw new LockOptionsError('label', label, `give a non-empty string of up to ${LONGEST_LABEL} characters.`);
  }
  return terms;
}

function flag(option: string, value: boolean | undefined, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new LockOptionsError(option, value, 'give true or false.');
  return value;
}
