import { describe, expect, it, jest } from '@jest/globals';
import { LockUnavailableError } from '../../../lib/errors.js';
import { systemRuntime } from '../../../lib/runtime.js';
import { toFailoverTerms } from '../../../lib/stores/failover/failover.options.js';
import { RedisHealth } from '../../../lib/stores/failover/redis-health.js';
import { MemoryStore } from '../../../lib/stores/memory.store.js';

function probing(ttlMs?: number) {
  const store = new MemoryStore();
  const acquire = jest.spyOn(store, 'acquire');
  const health = new RedisHealth(store, toFailoverTerms(), 'pod-1', systemRuntime, ttlMs);
  return { health, acquire };
}

describe('RedisHealth', () => {
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
