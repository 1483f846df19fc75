import { describe, expect, it, jest } from '@jest/globals';
import { LockUnavailableError, type NodeFailure } from '../../../lib/errors.js';
import { systemRuntime } from '../../../lib/runtime.js';
import { toFailoverTerms } from '../../../lib/stores/failover/failover.options.js';
import { RedisHealth } from '../../../lib/stores/failover/redis-health.js';
import { MemoryStore } from '../../../lib/stores/memory.store.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';
import { PrimaryStandIn } from './stand-ins.js';

function probing(ttlMs?: number) {
  const store = new MemoryStore();
  const acquire = jest.spyOn(store, 'acquire');
  const health = new RedisHealth(store, toFailoverTerms(), 'pod-1', systemRuntime, ttlMs);
  return { health, acquire, store };
}

describe('RedisHealth', () => {
  it('calls Redis down, or up, once it has failed, or worked, for long enough; and knows nothing at first', async () => {
    const runtime = new ManualRuntime();
    const redis = new PrimaryStandIn(runtime);
    const terms = toFailoverTerms({ failoverAfter: '4s', returnAfter: '10s' });
    const health = new RedisHealth(redis, terms, 'pod-1', runtime);
    expect(health.state).toBe('unsure');
    for (const [down, state, afterMs] of [
      [true, 'down', 4000],
      [false, 'up', 10_000],
      [true, 'down', 4000],
    ] as const) {
      redis.down = down;
      await health.probe();
      await runtime.advance(afterMs - 1);
      await health.probe(); // one more of the same kind does not start the time anew
      expect(health.state).toBe('unsure');
      await runtime.advance(1);
      expect(health.state).toBe(state);
    }
  });

  it('does not call Redis down while all that keeps it is a quarantine, which is over sooner than a switch', async () => {
    const runtime = new ManualRuntime();
    const redis = new PrimaryStandIn(runtime);
    const health = new RedisHealth(redis, toFailoverTerms(), 'pod-1', runtime);
    const acquire = jest.spyOn(redis, 'acquire');
    const quarantine = { node: 'a', reason: 'in quarantine', untilMs: runtime.clock.wall() + 30_000 };
    const failing = async (...causes: NodeFailure[]): Promise<void> => {
      acquire.mockRejectedValue(new LockUnavailableError('probe', causes));
      for (const ms of [0, 60_000]) {
        await runtime.advance(ms);
        await health.probe();
      }
    };
    await failing(quarantine, { ...quarantine, node: 'b' });
    expect(health.state).toBe('unsure');
    expect(health.trouble).toContain('in quarantine');
    await failing(quarantine, { node: 'b', reason: 'not connected' });
    expect(health.state).toBe('down');
    // Nor is it up before it is over.
    await failing(quarantine);
    expect(health.state).toBe('unsure');
  });

  it('leaves no lock of its own behind', async () => {
    const { health, store } = probing();
    await health.probe();
    expect(await store.inspect('nestjs-fenced-lock:probe:pod-1')).toEqual({ locked: false });
  });

  it('probes once at a time', async () => {
    const { health, acquire } = probing();
    await Promise.all([health.probe(), health.probe()]);
    expect(acquire).toHaveBeenCalledTimes(1);
  });

  it('probes with no longer a ttl than locks have, so that Redis does not warn of the probe', async () => {
    const { health, acquire } = probing(3000);
    await health.probe();
    expect(acquire.mock.lastCall?.[2]).toBe(3000);
  });

  it('lets no probe of a process that died linger for as long as locks may be held', async () => {
    const { health, acquire } = probing(60_000);
    await health.probe();
    expect(acquire.mock.lastCall?.[2]).toBe(5000);
  });

  it('names what each node said, and neither the key of the probe nor advice about it', async () => {
    const { health, acquire } = probing();
    acquire.mockRejectedValue(
      new LockUnavailableError('probe', [
        { node: 'a:6379', reason: 'not connected' },
        { node: 'b:6379', reason: 'READONLY' },
      ]),
    );
    await health.probe();
    expect(health.trouble).toBe('a:6379: not connected; b:6379: READONLY');
  });

  it('has no trouble to tell of once Redis works again', async () => {
    const { health, acquire } = probing();
    acquire.mockRejectedValueOnce(new Error('out of memory'));
    await health.probe();
    expect(health.trouble).toBe('out of memory');
    await health.probe();
    expect(health.trouble).toBeUndefined();
  });
});
