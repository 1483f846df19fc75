import { setTimeout as sleep } from 'node:timers/promises';
import type { LockStore } from '../stores/lock-store.js';
import { ContractTrial } from './contract/contract-trial.js';
import { keyCases } from './contract/key.cases.js';
import { leaseCases } from './contract/lease.cases.js';
import { lookCases } from './contract/look.cases.js';
import { optionalVerbCases } from './contract/optional-verb.cases.js';
import { ownershipCases } from './contract/ownership.cases.js';
import { tokenCases } from './contract/token.cases.js';

/** The runner, and the store that it is to test. */
export interface StoreContractOptions {
  /** The runner's own function: `it` of Jest or Vitest, `test` of node:test. */
  readonly test: (name: string, run: () => Promise<void>) => unknown;
  /** A store, for each case a new one; it is closed after the case. What it shares with others may stay: every case has keys of its own. */
  readonly createStore: () => Promise<LockStore> | LockStore;
  /** Lets that many ms, or more, pass for the store. Default: waits. With a manual clock: `(ms) => runtime.advance(ms)`. */
  readonly elapse?: (ms: number) => Promise<unknown>;
}

/**
 * What every `LockStore` promises, as tests for any runner. It reads from the store which optional verbs it has.
 *
 * ```ts
 * describe('MyStore', () => defineStoreContract({ test: it, createStore: () => new MyStore() }));
 * ```
 */
export function defineStoreContract({ test, createStore, elapse = (ms) => sleep(ms) }: StoreContractOptions): void {
  const cases = [ownershipCases, leaseCases, tokenCases, keyCases, optionalVerbCases, lookCases].flat();
  for (const { name, run } of cases) {
    test(name, async () => {
      const store = await createStore();
      try {
        await run(new ContractTrial(store, elapse));
      } finally {
        await store.close?.();
      }
    });
  }
}
