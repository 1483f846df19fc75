import type { LockStore } from '../../lib/stores/lock-store.js';
import { defineStoreContract } from '../../lib/testing/index.js';

/** More stores on one client would have its emitter take them for a leak. */
const LANES = 3;

/** Runs the cases of the contract of the stores side by side, each on a store and keys of its own: most of their time is waiting. Rejects with all that failed, by name. */
export async function keepsContract(createStore: () => Promise<LockStore>): Promise<void> {
  const cases: [string, () => Promise<void>][] = [];
  defineStoreContract({ test: (name, run) => cases.push([name, run]), createStore });
  if (cases.length === 0) throw new Error('The contract has no cases');
  const failed: string[] = [];
  const lane = async (): Promise<void> => {
    for (let next = cases.shift(); next; next = cases.shift()) {
      const [name, run] = next;
      await run().catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  if (failed.length > 0) throw new Error(['The contract is not kept:', ...failed].join('\n'));
}
