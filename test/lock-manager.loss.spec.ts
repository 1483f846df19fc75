import { describe, expect, it } from '@jest/globals';
import { altered, manualLocks } from './support/manual-locks.js';

/** A store that knows by itself when a lock is gone. `lose` plays that moment. */
function selfAware() {
  const listeners = new Map<string, () => void>();
  const locks = manualLocks((memory) =>
    altered(memory, {
      onLoss: (key, _owner, lost) => {
        listeners.set(key, lost);
        return () => void listeners.delete(key);
      },
    }),
  );
  return { ...locks, listeners, lose: (key: string) => listeners.get(key)?.() };
}

describe('a store that notices a loss by itself', () => {
  it('ends the lock at once, without waiting for a renewal, and is not listened to any more', async () => {
    const { locks, runtime, listeners, lose, warnings } = selfAware();
    const lock = await locks.acquire('a');
    const { signal } = lock;
    lose('a');
    expect(signal.aborted).toBe(true);
    expect(lock.held).toBe(false);
    expect(lock.loss).toMatchObject({ reason: 'disconnected' });
    expect(warnings).toEqual([expect.stringContaining('connection')]);
    expect(listeners.size).toBe(0);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('ends a lock over several keys when one of them is gone', async () => {
    const { locks, listeners, lose } = selfAware();
    const lock = await locks.acquire(['a', 'b']);
    expect(listeners.size).toBe(2);
    lose('b');
    expect(lock.held).toBe(false);
    expect(listeners.size).toBe(0);
  });

  it('is not listened to after the release', async () => {
    const { locks, listeners } = selfAware();
    const lock = await locks.acquire('a');
    await lock.release();
    expect(listeners.size).toBe(0);
    expect(lock.loss).toBeUndefined();
  });
});
