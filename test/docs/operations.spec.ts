import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { metrics } from '@opentelemetry/api';
import { DistributedLockModule, LockManager, LockOptionsError, MemoryStore } from 'nestjs-fenced-lock';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';
import { LockMetrics } from '../../lib/telemetry/lock-metrics.js';
import type { Meter } from '../../lib/telemetry/otel.js';
import { freePort } from '../support/free-port.js';
import { steal } from '../support/manual-locks.js';
import { propertyReader, root, typeErrors } from './compiler.js';
import { tables } from './markdown.js';
import { Snippets } from './snippets.js';

const text = readFileSync(join(root, 'docs/operations.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const code = (cell = ''): string => cell.replace(/`/g, '');
const rowsOf = (head: string): readonly (readonly string[])[] =>
  tables(text).find((table) => table.head[0] === head)!.rows;

describe('the page on operating', () => {
  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('has snippets that type-check', () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
  });

  it('names every event there is', () => {
    let known = '';
    try {
      new LockManager(new MemoryStore()).on('' as never, () => undefined);
    } catch (error) {
      known = (error as LockOptionsError).message;
    }
    const named = rowsOf('event').map(([name]) => code(name));
    expect(named.sort()).toEqual(/known are (.*)\./.exec(known)![1]!.split(', ').sort());
    expect(named).toEqual([...propertyReader(join(root, 'lib/lock-events.ts'))('LockEventMap')].sort());
  });

  it('names every metric there is', () => {
    const made: string[] = [];
    const instrument = (name: string) => {
      made.push(name);
      return { add: () => undefined, record: () => undefined };
    };
    const meter: Meter = { createCounter: instrument, createHistogram: instrument, createUpDownCounter: instrument };
    new LockMetrics(new LockManager(new MemoryStore()), meter).stop();
    expect(rowsOf('metric').map(([name]) => code(name))).toEqual(expect.arrayContaining(made));
    expect(rowsOf('metric')).toHaveLength(made.length);
  });

  it('shows a provider that hears of what is lost', async () => {
    const { LockAlerts } = await snippets.claim('class LockAlerts').load<{ LockAlerts: Type<{ lost: string[] }> }>();
    const runtime = new ManualRuntime();
    const store = new MemoryStore(runtime);
    const locks = new LockManager(store, {}, runtime);
    const module = await Test.createTestingModule({
      providers: [LockAlerts, { provide: LockManager, useValue: locks }],
    }).compile();
    await module.init();
    await locks.acquire('a', { ttl: '9s' });
    await locks.acquire('b', { ttl: '1s', autoRenew: false, label: 'report' });
    await steal(store, 'a');
    await runtime.advance(3000);
    expect(module.get(LockAlerts).lost).toEqual([
      'report takes longer than its ttl of 1000 ms',
      expect.stringMatching(/^b: expired after \d+ ms$/),
      'a: taken after 3000 ms',
    ]);
    await module.close();
  });

  it('shows how to have the metrics in Prometheus', async () => {
    type Exporter = { shutdown(): Promise<void> };
    const { exportMetrics } = await snippets
      .claim('function exportMetrics')
      .load<{ exportMetrics(port: number, host: string): Promise<Exporter> }>();
    const port = await freePort();
    const exporter = await exportMetrics(port, '127.0.0.1');
    const app = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: new MemoryStore(), telemetry: true })],
    }).compile();
    const locks = app.get(LockManager);
    for (let order = 0; order < 10_000; order++) {
      await locks.withLock(`order:${order}`, { label: 'order:{0}' }, () => undefined);
    }
    const kept = await Promise.all(['a', 'b', 'c'].map((key) => locks.acquire(key, { label: 'order:{0}' })));
    const answer = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const labels = 'lock_manager="default",lock_label="order:\\{0\\}"';
    expect(answer).toMatch(new RegExp(`^lock_attempts_total\\{${labels},lock_outcome="granted".*\\} 10003`, 'm'));
    expect(answer).toMatch(new RegExp(`^lock_held\\{${labels}.*\\} 3`, 'm'));
    expect(answer.split('\n').filter((line) => /^lock_(attempts_total|held)\{/.test(line))).toHaveLength(2);
    await Promise.all(kept.map((lock) => lock.release()));
    await app.close();
    await exporter.shutdown();
    metrics.disable();
  });

  it('shows a health check', async () => {
    const { HealthModule } = await snippets.claim('class HealthController').load<{ HealthModule: Type }>();
    const testing = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: new MemoryStore() }), HealthModule],
    }).compile();
    const app = testing.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    const answer = await fetch(`${await app.getUrl()}/health`);
    expect(await answer.json()).toMatchObject({ status: 'ok', info: { locks: { status: 'up', held: 0 } } });
    await app.close();
  });

  it('tells of every block what it is for', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
