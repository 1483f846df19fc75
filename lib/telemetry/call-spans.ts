import type { CallProgress, CallTracer, TracedCall } from '../call-tracer.js';
import { LockBusyError, LockError } from '../errors.js';
import type { Lock } from '../lock.js';
import type { Clock } from '../runtime.js';
import type { Otel, Span } from './otel.js';
import { SCOPE } from './scope.js';

/** A span for each guarded call, from the first attempt to the release; spans of the work are its children. Keys are left out: they may name people. */
export class CallSpans implements CallTracer {
  constructor(
    private readonly otel: Pick<Otel, 'trace' | 'SpanStatusCode'>,
    private readonly clock: Clock,
  ) {}

  trace<T>({ manager, label, keys }: TracedCall, run: (progress: CallProgress) => Promise<T>): Promise<T> {
    const attributes = { 'lock.manager': manager, 'lock.label': label ?? '', 'lock.keys': keys.length };
    const name = label === undefined ? 'lock' : `lock ${label}`;
    return this.otel.trace
      .getTracer(SCOPE)
      .startActiveSpan(name, { attributes }, (span) => new TracedRun(span, this.otel, this.clock).follow(run));
  }
}

class TracedRun implements CallProgress {
  readonly #startedAt: number;
  #grantedAt: number | undefined;

  constructor(
    private readonly span: Span,
    private readonly otel: Pick<Otel, 'SpanStatusCode'>,
    private readonly clock: Clock,
  ) {
    this.#startedAt = clock.monotonic();
  }

  granted({ fencingToken }: Lock): void {
    this.#grantedAt = this.clock.monotonic();
    this.span.addEvent('granted');
    this.span.setAttribute('lock.wait_ms', this.#grantedAt - this.#startedAt);
    this.span.setAttribute('lock.fencing_token', fencingToken);
  }

  async follow<T>(run: (progress: CallProgress) => Promise<T>): Promise<T> {
    try {
      const result = await run(this);
      this.span.setAttribute('lock.outcome', 'done');
      return result;
    } catch (error) {
      this.#failed(error);
      throw error;
    } finally {
      const { span } = this;
      if (this.#grantedAt === undefined) span.setAttribute('lock.wait_ms', this.clock.monotonic() - this.#startedAt);
      else span.setAttribute('lock.hold_ms', this.clock.monotonic() - this.#grantedAt);
      span.end();
    }
  }

  /** That someone else does the work is no error. Messages name keys, so a lock's error is told of by its code. */
  #failed(error: unknown): void {
    this.span.setAttribute('lock.outcome', outcomeOf(error));
    if (error instanceof LockBusyError) return;
    const message = error instanceof LockError ? error.code : String(error);
    this.span.setStatus({ code: this.otel.SpanStatusCode.ERROR, message });
  }
}

function outcomeOf(error: unknown): string {
  return error instanceof LockError ? error.code.toLowerCase().replace(/^lock_/, '') : 'error';
}
