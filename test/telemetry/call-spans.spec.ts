import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import * as sdk from '@opentelemetry/sdk-trace';
import { LockManager } from '../../lib/lock-manager.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { CallSpans } from '../../lib/telemetry/call-spans.js';
import { ManualRuntime } from '../../lib/testing/manual-runtime.js';
import { steal } from '../support/manual-locks.js';

const exporter = new sdk.InMemorySpanExporter();

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  trace.setGlobalTracerProvider(
    new sdk.TracerProvider({ spanProcessors: [new sdk.SimpleSpanProcessor({ exporter })] }),
  );
});
afterEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
});

function traced() {
  const runtime = new ManualRuntime();
  const memory = new MemoryStore(runtime);
  const tracer = new CallSpans({ trace, SpanStatusCode }, runtime.clock);
  return { runtime, memory, locks: new LockManager(memory, { tracer }, runtime) };
}

describe('A span of a guarded call', () => {
  it('tells how long it waited and held, and is the parent of what the work does', async () => {
    const { runtime, locks } = traced();
    const first = await locks.acquire('customer:4711');
    const call = locks.withLock('customer:4711', { wait: '10s', label: 'customer:{0}' }, async () => {
      trace.getTracer('work').startSpan('query').end();
      await runtime.advance(3000);
    });
    await runtime.advance(2000);
    await first.release();
    await call;
    const [query, lock] = exporter.getFinishedSpans();
    expect(lock).toMatchObject({ name: 'lock customer:{0}', status: { code: SpanStatusCode.UNSET } });
    expect(lock!.attributes).toEqual({
      'lock.manager': 'default',
      'lock.label': 'customer:{0}',
      'lock.keys': 1,
      'lock.wait_ms': 2000,
      'lock.hold_ms': 3000,
      'lock.fencing_token': expect.any(Number),
      'lock.outcome': 'done',
    });
    expect(query!.parentSpanContext?.spanId).toBe(lock!.spanContext().spanId);
    expect(JSON.stringify([lock!.name, lock!.attributes, lock!.events])).not.toContain('4711');
  });

  it('tells of a busy key without calling it an error', async () => {
    const { memory, locks } = traced();
    await memory.acquire('a', 'someone else', 60_000);
    await expect(locks.withLock('a', () => undefined)).rejects.toMatchObject({ code: 'LOCK_BUSY' });
    const [span] = exporter.getFinishedSpans();
    expect(span).toMatchObject({ name: 'lock', status: { code: SpanStatusCode.UNSET } });
    expect(span!.attributes).toMatchObject({ 'lock.outcome': 'busy', 'lock.wait_ms': 0 });
    expect(span!.attributes).not.toHaveProperty('lock.hold_ms');
  });

  it('is an error where the lock is lost, by a code that names no key, or the work throws', async () => {
    const { runtime, memory, locks } = traced();
    const lost = locks.withLock('customer:4711', { ttl: '3s' }, async () => {
      await steal(memory, 'customer:4711');
      await runtime.advance(1000);
    });
    await expect(lost).rejects.toMatchObject({ code: 'LOCK_LOST' });
    const failing = locks.withLock('a', () => Promise.reject(new Error('no paper')));
    await expect(failing).rejects.toThrow('no paper');
    expect(exporter.getFinishedSpans().map(({ status, attributes }) => [status, attributes['lock.outcome']])).toEqual([
      [{ code: SpanStatusCode.ERROR, message: 'LOCK_LOST' }, 'lost'],
      [{ code: SpanStatusCode.ERROR, message: 'Error: no paper' }, 'error'],
    ]);
  });
});
