import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { POLL_MS, type Locker, type LockerOptions } from '../locker.js';

/** One node of a lock without a fence, a lease, a time-out or a clean-up. */
export interface BareNode {
  /** Truthy if the key was free. */
  take(key: string, owner: string): Promise<unknown>;
  /** Truthy if the key was still the owner's. */
  giveBack(key: string, owner: string): Promise<unknown>;
  close(): void;
}

type Ask = (send: (node: BareNode) => Promise<unknown>) => Promise<boolean>;

/** The least that a lock on Redis takes. On several nodes: to all at once, a majority decides. */
export function bareLock(name: string, nodes: readonly BareNode[], { waits }: Pick<LockerOptions, 'waits'>): Locker {
  const ask = nodes.length === 1 ? one(nodes[0]!) : majority(nodes);
  return {
    name,
    role: 'limit',
    async lock(key, work) {
      const owner = randomUUID();
      while (!(await ask((node) => node.take(key, owner)))) {
        if (!waits) throw new Error(`${key} is taken`);
        await sleep(POLL_MS * (0.5 + Math.random()));
      }
      await work?.();
      if (!(await ask((node) => node.giveBack(key, owner)))) throw new Error(`${key} was not held`);
    },
    close: async () => nodes.forEach((node) => node.close()),
  };
}

function one(node: BareNode): Ask {
  return async (send) => Boolean(await send(node));
}

/** Resolves as soon as a majority agrees or cannot any more, as the contenders may. */
function majority(nodes: readonly BareNode[]): Ask {
  const quorum = Math.floor(nodes.length / 2) + 1;
  return (send) =>
    new Promise((resolve, reject) => {
      let yes = 0;
      let open = nodes.length;
      for (const node of nodes) {
        send(node).then((answer) => {
          open--;
          if (answer && ++yes === quorum) resolve(true);
          else if (yes + open < quorum) resolve(false);
        }, reject);
      }
    });
}
