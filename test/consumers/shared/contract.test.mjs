/** What every store promises, under the test runner that comes with Node. */
import { describe, test } from 'node:test';
import { connectRedis, MemoryStore } from 'nestjs-fenced-lock';
import { defineStoreContract, ManualRuntime } from 'nestjs-fenced-lock/testing';

describe('MemoryStore', () => {
  const runtime = new ManualRuntime();
  defineStoreContract({ test, createStore: () => new MemoryStore(runtime), elapse: (ms) => runtime.advance(ms) });
});

describe('one Redis', { concurrency: 8 }, () => {
  defineStoreContract({ test, createStore: () => connectRedis({ nodes: [process.env.REDIS_URL], ttlMs: 30_000 }) });
});
