import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
  type Histogram,
} from '@opentelemetry/sdk-metrics';
import { LockManager } from '../../lib/lock-manager.js';
import type { StoreObserver } from '../../lib/stores/store-observer.js';
import { LockMetrics } from '../../lib/telemetry/lock-metrics.js';
import { ManualRuntime } from '../../lib/testing/manual-runtime.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { altered, steal } from '../support/manual-locks.js';

type Points = DataPoint<number | Histogram>[];

let exporter: InMemoryMetricExporter;
let reader: PeriodicExportingMetricReader;
let provider: MeterProvider;
let runtime: ManualRuntime;
let memory: MemoryStore;
let locks: LockManager;
let metrics: LockMetrics;
let observer: StoreObserver;

beforeEach(() => {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  provider = new MeterProvider({ readers: [reader] });
  runtime = new ManualRuntime();
  memory = new MemoryStore(runtime);
  const observe = (watching: StoreObserver): (() => void) => {
    observer = watching;
    return () => undefined;
  };
  locks = new LockManager(altered(memory, { observe }), {}, runtime);
  metrics = new LockMetrics(locks, provider.getMeter('test'));
});
afterEach(async () => {
  await provider.shutdown();
});

async function read(): Promise<Map<string, Points>> {
  exporter.reset();
  await reader.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as Points]));
}

/** The values of a counter, by what tells its series apart. */
function values(points: Points | undefined): Record<string, number> {
  return Object.fromEntries(
    (points ?? []).map(({ attributes, value }) => [
      Object.entries(attributes)
        .filter(([name]) => name !== 'lock.manager')
        .map(([, each]) => String(each))
        .join(' '),
      typeof value === 'number' ? value : value.count,
    ]),
  );
}

describe('The metrics of a manager', () => {
  it('count attempts by outcome, and how long they took', async () => {
    await memory.acquire('taken', 'someone else', 60_000);
    await (await locks.acquire('a', { label: 'job' })).release();
    await locks.tryAcquire('taken', { label: 'job' });
    const waiting = locks.tryAcquire('taken', { label: 'job', wait: '2s' });
    await runtime.advance(2000);
    await waiting;
    const found = await read();
    expect(values(found.get('lock.attempts'))).toEqual({ 'job granted': 1, 'job busy': 2 });
    const busy = found.get('lock.wait')!.find(({ attributes }) => attributes['lock.outcome'] === 'busy');
    expect(busy!.value).toMatchObject({ count: 2, sum: 2 });
  });

  it('tell how long locks are held, also in ttls, and how many are at present', async () => {
    const first = await locks.acquire('a', { label: 'job', ttl: '8s' });
    await locks.acquire('b', { label: 'job' });
    await runtime.advance(4000);
    await first.release();
    const found = await read();
    expect(found.get('lock.hold')![0]!.value).toMatchObject({ count: 1, sum: 4 });
    expect(found.get('lock.hold_to_ttl')![0]!.value).toMatchObject({ count: 1, sum: 0.5 });
    expect(values(found.get('lock.held'))).toEqual({ job: 1 });
    expect(values(found.get('lock.renewals'))).toEqual({ job: 1 });
  });

  it('count losses by reason, overruns, and take what is lost from what is held', async () => {
    await locks.acquire('a', { label: 'job', ttl: '1s', autoRenew: false });
    await locks.acquire('b', { label: 'job', ttl: '3s' });
    await steal(memory, 'b');
    await runtime.advance(1000);
    const found = await read();
    expect(values(found.get('lock.losses'))).toEqual({ 'job expired': 1, 'job taken': 1 });
    expect(values(found.get('lock.overruns'))).toEqual({ job: 1 });
    expect(values(found.get('lock.held'))).toEqual({ job: 0 });
  });

  it('tell of nodes: how fast they answer, and how often they went away', async () => {
    const answered = observer.nodeAsked!('a:6379')!;
    await runtime.advance(20);
    answered();
    observer.nodeDown('a:6379', 'refused');
    const found = await read();
    expect(found.get('lock.node.latency')![0]!.value).toMatchObject({ count: 1, sum: 0.02 });
    expect(values(found.get('lock.node.outages'))).toEqual({ 'a:6379': 1 });
  });

  it('stay a handful of series for 10,000 keys, and a bounded number for 10,000 labels', async () => {
    for (let key = 0; key < 10_000; key++)
      await (await locks.acquire(`order:${key}`, { label: 'order:{0}' })).release();
    const series = (found: Map<string, Points>): number =>
      [...found.values()].reduce((sum, each) => sum + each.length, 0);
    expect(series(await read())).toBeLessThan(10);
    for (let label = 0; label < 1000; label++) await (await locks.acquire('a', { label: `order:${label}` })).release();
    const found = await read();
    expect(found.get('lock.attempts')).toHaveLength(201);
    expect(values(found.get('lock.attempts'))['other granted']).toBe(801);
    const texts = JSON.stringify([...found.values()].flat().map(({ attributes }) => attributes));
    expect(texts).not.toContain('order:9999');
  });

  it('end with it', async () => {
    metrics.stop();
    await (await locks.acquire('a')).release();
    expect(values((await read()).get('lock.attempts'))).toEqual({});
  });

  it('of two managers do not mix', async () => {
    const other = new LockManager(new MemoryStore(), { name: 'billing' });
    new LockMetrics(other, provider.getMeter('test'));
    await using _ = await other.acquire('a');
    await locks.acquire('a');
    await locks.acquire('b');
    const counts = (await read())
      .get('lock.attempts')!
      .map(({ attributes, value }) => [attributes['lock.manager'], value]);
    expect(Object.fromEntries(counts)).toEqual({ default: 2, billing: 1 });
  });
});
