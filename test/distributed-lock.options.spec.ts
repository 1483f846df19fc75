import { describe, expect, it } from '@jest/globals';
import { systemRuntime } from '../lib/runtime.js';
import { toSettings } from '../lib/distributed-lock.options.js';
import { LockOptionsError } from '../lib/errors.js';
import { MemoryStore } from '../lib/stores/memory.store.js';

const url = (host: string): string => `redis://${host}:6379`;

describe('module options', () => {
  it('default to one Redis on this machine, and leave other defaults to whoever uses them', () => {
    expect(toSettings({})).toEqual({
      source: { nodes: ['redis://localhost:6379'] },
      defaults: {},
      ttlMs: 30_000,
      nodeTimeout: undefined,
      quarantine: undefined,
      shutdownTimeoutMs: undefined,
      telemetry: false,
      runtime: systemRuntime,
    });
  });

  it('take one node or an odd number of them: URLs, options and clients', () => {
    for (const nodes of [[url('a')], [url('a'), url('b'), { host: 'c' }], ['a', 'b', 'c', 'd', 'e'].map(url)]) {
      expect(toSettings({ nodes }).source).toEqual({ nodes });
    }
    expect(toSettings({ nodes: ['rediss://:secret@a:6380/2'] }).source).toEqual({
      nodes: ['rediss://:secret@a:6380/2'],
    });
  });

  it('take the ttl that quarantine defaults to from the lock defaults', () => {
    expect(toSettings({ defaults: { ttl: '5s' } }).ttlMs).toBe(5000);
  });

  it('give the time for a shutdown in ms', () => {
    expect(toSettings({ shutdownTimeout: 5 }).shutdownTimeoutMs).toBe(5000);
  });

  it('refuse two nodes and any even count, and say why', () => {
    expect(() => toSettings({ nodes: ['a', 'b'].map(url) })).toThrow(/2 nodes.*survives no more failures/);
    expect(() => toSettings({ nodes: ['a', 'b', 'c', 'd'].map(url) })).toThrow(/4 nodes.*survives no more failures/);
  });

  it('refuse nodes beside a store, and node options beside a store', () => {
    const store = new MemoryStore();
    expect(() => toSettings({ store, nodes: [url('a')] })).toThrow(/cannot go with `store`/);
    expect(() => toSettings({ store, nodeTimeout: '1s' })).toThrow(/nodeTimeout/);
    expect(() => toSettings({ store, quarantine: 5 })).toThrow(/quarantine/);
  });

  it('take a fallback beside the nodes, with how and when to move to it', () => {
    const fallback = { open: async () => Promise.reject(new Error('not opened here')) } as never;
    const { source } = toSettings({ nodes: [url('a')], fallback, failover: { policy: 'available', lease: '3s' } });
    expect(source).toMatchObject({ fallback: { source: fallback, terms: { available: true, leaseMs: 3000 } } });
    const plain = toSettings({ nodes: [url('a')], fallback }).source;
    expect(plain).toMatchObject({
      fallback: { terms: { available: false, leaseMs: 6000, failoverAfterMs: 4000, returnAfterMs: 10_000 } },
    });
  });

  it('take a store that is yet to be opened', () => {
    const store = { open: async () => new MemoryStore() };
    expect(toSettings({ store }).source).toEqual({ store });
  });

  it('refuse a fallback that is none, one beside a store, and terms without one', () => {
    const fallback = { open: async () => Promise.reject(new Error('not opened here')) } as never;
    expect(() => toSettings({ fallback: new MemoryStore() as never })).toThrow(/fallback.*postgres\(/);
    expect(() => toSettings({ store: new MemoryStore(), fallback })).toThrow(/fallback.*cannot go with `store`/);
    expect(() => toSettings({ failover: { policy: 'strict' } })).toThrow(/failover.*needs a `fallback`/);
    for (const failover of [
      { policy: 'maybe' },
      { lease: '1ms' },
      { lease: 'x' },
      { after: 1 },
      null,
      { onAuthorityChange: 1 },
    ]) {
      expect(() => toSettings({ fallback, failover: failover as never })).toThrow(LockOptionsError);
    }
  });

  it('refuse a node that is listed twice: one Redis would have two votes', () => {
    const client = {};
    expect(() => toSettings({ nodes: [url('a'), url('a'), url('b')] })).toThrow(/nodes.*listed twice/);
    expect(() => toSettings({ nodes: [client, url('a'), client] })).toThrow(/nodes.*listed twice/);
  });

  it('never show a URL, which may carry a password', () => {
    const refused = (): unknown => toSettings({ nodes: ['http://:hunter2@a:6379'] });
    expect(refused).toThrow(/nodes/);
    expect(refused).not.toThrow(/hunter2/);
  });

  it.each([
    ['null', null],
    ['text', 'redis://a'],
    ['an unknown option', { ttl: 30 }],
    ['an extra in the result of a factory', { isGlobal: false }],
    ['no nodes', { nodes: [] }],
    ['nodes that are no list', { nodes: 'redis://a:6379' }],
    ['a node that is no URL', { nodes: ['localhost'] }],
    ['a node that is a number', { nodes: [6379] }],
    ['a node that is null', { nodes: [null] }],
    ['a store without verbs', { store: {} }],
    ['a store that is null', { store: null }],
    ['a ttl of 0', { defaults: { ttl: 0 } }],
    ['an unknown lock default', { defaults: { tll: 5 } }],
    ['a time-out without a unit', { nodeTimeout: '50' }],
    ['a time-out of 0', { nodeTimeout: 0 }],
    ['a negative quarantine', { quarantine: -1 }],
    ['telemetry that is neither on nor off', { telemetry: 'on' }],
    ['an endless shutdown', { shutdownTimeout: Number.POSITIVE_INFINITY }],
  ])('refuse %s', (_, options) => {
    expect(() => toSettings(options as never)).toThrow(LockOptionsError);
  });
});
