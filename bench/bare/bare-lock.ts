import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { POLL_MS, type Locker, type LockerOptions } from '../locker.js';

type Question = (key: string, owner: string) => Promise<unknown>;

/** One node of a lock without a fence, a lease, a time-out or a clean-up. */
export interface BareNode {
  /** Truthy if the key was free. */
  readonly take: Question;
  /** Truthy if the key was still the owner's. */
  readonly giveBack: Question;
  close(): void;
}

/** The least that a lock on Redis takes. On several nodes: to all at once, a majority decides. */
export function bareLock(name: string, nodes: readonly BareNode[], { waits }: Pick<LockerOptions, 'waits'>): Locker {
  const take = askAll(nodes.map((node) => node.take));
  const giveBack = askAll(nodes.map((node) => node.giveBack));
  return {
    name,
    role: 'limit',
    async lock(key, work) {
      const owner = randomUUID();
      while (!(await take(key, owner))) {
        if (!waits) throw new Error(`${key} is taken`);
        await sleep(POLL_MS * (0.5 + Math.random()));
      }
      if (work) await work();
      if (!(await giveBack(key, owner))) throw new Error(`${key} was not held`);
    },
    close: async () => nodes.forEach((node) => node.close()),
  };
}

/** Resolves as soon as a majority agrees or cannot any more, as the contenders may. */
function askAll(questions: readonly Question[]): Question {
  const [only] = questions;
  if (only && questions.length === 1) return only;
  const quorum = Math.floor(questions.length / 2) + 1;
  return (key, owner) =>
    new Promise((resolve, reject) => {
      let yes = 0;
      let open = questions.length;
      const count = (answer: unknown): void => {
        open--;
        if (answer && ++yes === quorum) resolve(true);
        else if (yes + open < quorum) resolve(false);
      };
      for (const ask of questions) ask(key, owner).then(count, reject);
    });
}
