/** Why one node, or one store, could not answer. */
export interface NodeFailure {
  /** The node as the user configured it, without credentials. */
  readonly node: string;
  /** What it said or did: READONLY, NOPERM, timeout, not connected, quarantine … */
  readonly reason: string;
  /** When that is over by itself, on the wall clock, where it is known: a quarantine. */
  readonly untilMs?: number;
  /** Nothing ends it but somebody who mends it, so that waiting is of no use: a wrong password, a full memory. */
  readonly lasting?: true;
}

/** The base of every error of this module: a stable `code`, and a message that names the key, the event and the remedy. */
export abstract class LockError extends Error {
  /** Written out in each class: a minifier may rename the class itself. */
  abstract override readonly name: string;
  abstract readonly code: string;
}

/** Someone else holds the key. HTTP 409. */
export class LockBusyError extends LockError {
  override readonly name = 'LockBusyError';
  readonly code = 'LOCK_BUSY';

  constructor(
    readonly key: string,
    /** The longest the present holder can still keep it without renewing, in ms, where the store knows. */
    readonly retryAfterMs: number | undefined,
    waitedMs: number,
  ) {
    super(
      `Lock ${quote(key)} is held by someone else${waitedMs > 0 ? ` and did not come free within ${waitedMs} ms` : ''}. ` +
        'Try again later, or raise `wait` to queue for it.',
    );
  }
}

/** The store could not decide: too few nodes answered. Nobody is known to hold the key. HTTP 503. */
export class LockUnavailableError extends LockError {
  override readonly name: string = 'LockUnavailableError';
  readonly code: string = 'LOCK_UNAVAILABLE';
  /** One entry per node that was known by then not to take part. */
  readonly causes: readonly NodeFailure[];

  constructor(
    readonly key: string,
    causes: readonly NodeFailure[],
    message = `Lock ${quote(key)} could not be decided: ${describe(causes)}. Check these nodes; nothing was locked.`,
  ) {
    super(message);
    this.causes = [...causes];
  }
}

/** The manager is shutting down and grants nothing any more. HTTP 503. */
export class LockShutdownError extends LockUnavailableError {
  override readonly name = 'LockShutdownError';
  override readonly code = 'LOCK_SHUTDOWN';

  constructor(key: string) {
    super(
      key,
      [{ node: 'this process', reason: 'shutting down' }],
      `Lock ${quote(key)} was not taken: this application is shutting down. Retry on another instance.`,
    );
  }
}

/** Why a lock that was held is not held any more. */
export type LossReason = 'expired' | 'taken' | 'disconnected' | 'max-hold' | 'shutdown' | 'released';

const LOSSES: Record<LossReason, string> = {
  expired: 'its lease ran out before a renewal succeeded (a paused process, or stores out of reach)',
  taken: 'the store no longer has it under this owner (expired there, deleted, or flushed)',
  disconnected: 'the connection that held it broke, and the store let go of it',
  'max-hold': 'it was held for longer than `maxHold`',
  shutdown: 'the application shut down and `shutdownTimeout` passed',
  released: 'it had already been released',
};

/** The lock was held and then lost. What ran under it may have overlapped with a successor. */
export class LockLostError extends LockError {
  override readonly name = 'LockLostError';
  readonly code = 'LOCK_LOST';
  /** What the method returned, if it had returned normally. */
  readonly result: unknown;

  constructor(
    readonly key: string,
    readonly fencingToken: number,
    readonly reason: LossReason,
    result?: unknown,
  ) {
    super(
      `Lock ${quote(key)} (token ${fencingToken}) is not held any more: ${LOSSES[reason]}. ` +
        'Stop writing under it; guard writes with the fencing token, or raise `ttl`.',
    );
    this.result = result;
  }
}

/** This async context already holds the key: waiting for it would never end. */
export class LockReentryError extends LockError {
  override readonly name = 'LockReentryError';
  readonly code = 'LOCK_REENTRY';

  constructor(readonly key: string) {
    super(
      `Lock ${quote(key)} is already held by the code that asks for it, so waiting would never end. ` +
        'Pass `reentrant: true` to share the lock already held, or take all keys in the outer call.',
    );
  }
}

/** A guarded write came with a token lower than one already seen: its lock is someone else's by now. */
export class StaleTokenError extends LockError {
  override readonly name = 'StaleTokenError';
  readonly code = 'STALE_TOKEN';

  constructor(
    readonly resource: string,
    readonly token: number,
  ) {
    super(
      `Write to ${quote(resource)} with fencing token ${token} was refused: a later holder has already claimed it. ` +
        'Drop this work; the later holder does it.',
    );
  }
}

/** Bad input, thrown where it was given. */
export class LockOptionsError extends LockError {
  override readonly name = 'LockOptionsError';
  readonly code = 'LOCK_OPTIONS';

  constructor(
    /** The option or argument. */
    readonly option: string,
    /** The value that was given. */
    readonly value: unknown,
    /** What is accepted instead, and how to give it. */
    remedy: string,
  ) {
    super(`Invalid ${option} ${show(value)}: ${remedy}`);
  }
}

const LONGEST_SHOWN = 80;

function shorten(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

function quote(key: string): string {
  return JSON.stringify(shorten(key));
}

function show(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'function') return 'function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'array' : 'object';
  return String(value);
}

function describe(causes: readonly NodeFailure[]): string {
  return causes.map(({ node, reason }) => `${node}: ${reason}`).join('; ') || 'no node answered';
}
