import type { Lock, LockManager } from 'nestjs-fenced-lock';
import { connectAll, disconnectAll } from './connections.js';

/** Keys that are there while others are measured. */
export interface Stock {
  /** Makes it so many. */
  resize(size: number): Promise<void>;
  close(): Promise<void>;
}

/** What goes through the manager together while a stock is made. */
const AT_ONCE = 500;

/** Keys that were taken and given back before: Redis still keeps their fences. */
export async function usedKeys(url: string, use: (index: number) => Promise<void>): Promise<Stock> {
  const [redis] = await connectAll([url]);
  let used = 0;
  return {
    async resize(size) {
      if (size < used) {
        await redis!.flushall();
        used = 0;
      }
      await inTurn(size - used, (index) => use(used + index));
      used = size;
    },
    close: () => disconnectAll([redis!]),
  };
}

/** Keys that the manager holds. */
export function heldKeys(manager: LockManager): Stock {
  const held: Lock[] = [];
  const resize = async (size: number): Promise<void> => {
    const surplus = held.splice(size);
    await inTurn(surplus.length, async (index) => void (await surplus[index]!.release()));
    const first = held.length;
    await inTurn(size - first, async (index) => {
      held.push(await manager.acquire(`bench:held:${first + index}`));
    });
  };
  return { resize, close: () => resize(0) };
}

async function inTurn(count: number, operation: (index: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < count; first += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => operation(first + index)));
  }
}
