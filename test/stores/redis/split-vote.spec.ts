import { describe, expect, it } from '@jest/globals';
import { LockBusyError } from '../../../lib/errors.js';
import { LockManager } from '../../../lib/lock-manager.js';
import { systemRuntime } from '../../../lib/runtime.js';
import type { AcquireResult } from '../../../lib/stores/lock-store.js';
import { MemoryStore } from '../../../lib/stores/memory.store.js';
import type { NodeReply } from '../../../lib/stores/redis/lock-node.js';
import { RedlockStore } from '../../../lib/stores/redis/redlock.store.js';
import { promisedNode } from './promised.js';

/** Three nodes, each of which someone holds, or nobody. */
function attemptAt(...holders: (string | undefined)[]): Promise<AcquireResult> {
  const nodes = holders.map((holder, index) => {
    const free: NodeReply = { status: 'yes', value: 1 };
    const reply: NodeReply = holder === undefined ? free : { status: 'no', value: 1000, holder };
    return promisedNode(`node ${index}`, async () => reply);
  });
  const terms = { nodeTimeoutMs: 1000, quarantineMs: 0, log: () => undefined };
  return new RedlockStore(nodes, terms, systemRuntime).acquire('a', 'me', 30_000);
}

describe('A vote that is split', () => {
  it.each([
    ['three others', ['x', 'y', 'z']],
    ['two others and this one', [undefined, 'x', 'y']],
  ])('among %s is undecided, not "busy"', async (_, holders) => {
    expect(await attemptAt(...holders)).toEqual({ acquired: false, undecided: true });
  });

  it('is none when one other has a majority', async () => {
    expect(await attemptAt('x', 'x', 'y')).toEqual({ acquired: false, retryAfterMs: 1000 });
    expect(await attemptAt('x', 'x', undefined)).toEqual({ acquired: false, retryAfterMs: 1000 });
  });

  class SplitStore extends MemoryStore {
    attempts = 0;
    constructor(private readonly splits: number) {
      super();
    }
    override async acquire(...args: Parameters<MemoryStore['acquire']>): Promise<AcquireResult> {
      return ++this.attempts <= this.splits ? { acquired: false, undecided: true } : super.acquire(...args);
    }
  }

  it('is repeated until it is decided, though nobody asked to wait', async () => {
    const store = new SplitStore(2);
    await using lock = await new LockManager(store).acquire('a');
    expect(lock.held).toBe(true);
    expect(store.attempts).toBe(3);
  });

  it('is "busy" in the end', async () => {
    const store = new SplitStore(Number.POSITIVE_INFINITY);
    await expect(new LockManager(store).acquire('a')).rejects.toBeInstanceOf(LockBusyError);
    expect(store.attempts).toBe(7);
  });
});
