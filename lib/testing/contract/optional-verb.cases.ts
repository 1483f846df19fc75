import { strict as assert } from 'node:assert';
import type { Lease } from '../../stores/lock-store.js';
import { LONG_MS, type ContractCase, type ContractTrial } from './contract-trial.js';

const LIFT = 1_000_000;
/** Losing a wake-up is allowed, losing all is not. */
const CHANCES = 10;
const STEP_MS = 50;
const STEPS = 20;

/** Verbs a store need not have. For one that is missing there is nothing to prove. */
export const optionalVerbCases: readonly ContractCase[] = [
  {
    name: 'raise, where it exists, puts the next token above the one given',
    async run(trial) {
      const { store, key } = trial;
      if (!store.raise) return;
      const { owner, token } = await trial.granted();
      assert.equal(await store.raise(key, owner, token), true, 'it is there already');
      assert.equal(await store.raise(key, owner, token + LIFT), true);
      await trial.refused();
      assert.equal(await store.release(key, owner), true);
      const next = await trial.granted();
      assert(next.token > token + LIFT, `token ${next.token} came after a raise to ${token + LIFT}`);
    },
  },
  {
    name: 'raise, where it exists, refuses to lower a fence',
    async run(trial) {
      const { store, key } = trial;
      if (!store.raise) return;
      const { owner, token } = await trial.granted();
      assert.equal(await store.raise(key, owner, token - 1), false);
      assert.equal(await store.raise(key, owner, token + LIFT), true);
      assert.equal(await store.raise(key, owner, token + LIFT - 1), false);
      await store.release(key, owner);
      const next = await trial.granted();
      assert(next.token > token + LIFT, `token ${next.token} came after a raise to ${token + LIFT}`);
    },
  },
  {
    name: 'raise, where it exists, refuses whoever does not hold the key',
    async run(trial) {
      const { store, key } = trial;
      if (!store.raise) return;
      const first = await trial.granted();
      const far = first.token + LIFT;
      assert.equal(await store.raise(key, trial.owner(), far), false);
      await store.release(key, first.owner);
      assert.equal(await store.raise(key, first.owner, far), false);
      const second = await trial.granted();
      assert.equal(await store.raise(key, first.owner, far), false);
      await store.release(key, second.owner, LONG_MS);
      assert.equal(await store.raise(key, second.owner, far), false);
    },
  },
  {
    name: 'renewAll, where it exists, tells each lease by itself whether it was renewed',
    async run(trial) {
      const { store, key } = trial;
      if (!store.renewAll) return;
      const expired = await trial.expired();
      const taken = await trial.granted();
      const other = await trial.granted(`${key}/other`);
      const owners: [string, string][] = [
        [key, expired.owner],
        [key, taken.owner],
        [`${key}/other`, taken.owner],
        [`${key}/other`, other.owner],
        [`${key}/free`, trial.owner()],
      ];
      const told = owners.map(([held, owner]) => renewal(held, owner));
      store.renewAll(
        told.map(({ lease }) => lease),
        LONG_MS,
      );
      assert.deepEqual(await Promise.all(told.map(({ answer }) => answer)), [false, true, false, true, false]);
    },
  },
  {
    name: 'inspect, where it exists, tells who holds a key and for how long, and touches nothing',
    async run(trial) {
      const { store, key } = trial;
      if (!store.inspect) return;
      assert.equal((await store.inspect(key)).locked, false);
      const { owner, token } = await trial.granted();
      const state = await store.inspect(key);
      assert.equal(state.locked, true);
      assert.equal(state.owner ?? owner, owner);
      assert.equal(state.fencingToken ?? token, token);
      const { remainingMs = LONG_MS } = state;
      assert(remainingMs > 0 && remainingMs <= LONG_MS, `remainingMs is ${remainingMs}, the ttl ${LONG_MS}`);
      assert.equal(await store.renew(key, owner, LONG_MS), true);
      await store.release(key, owner, LONG_MS);
      assert.equal((await store.inspect(key)).locked, true, 'kept past its release, it is still taken');
    },
  },
  {
    name: 'inspect, where it exists, sees a key as free once it was released or its ttl is over',
    async run(trial) {
      const { store, key } = trial;
      if (!store.inspect) return;
      await trial.free();
      assert.equal((await store.inspect(key)).locked, false);
      await trial.expired();
      assert.equal((await store.inspect(key)).locked, false);
      await trial.free();
    },
  },
  {
    name: 'onFree, where it exists, wakes who subscribed when the key comes free',
    async run(trial) {
      await expectWakeUp(trial, () => undefined);
    },
  },
  {
    name: 'onFree, where it exists, leaves alone who has unsubscribed, and nobody else',
    async run(trial) {
      let woken = 0;
      const unsubscribe = trial.store.onFree?.(trial.key, () => woken++);
      await expectWakeUp(trial, () => {
        unsubscribe?.();
        unsubscribe?.();
      });
      assert.equal(woken, 0);
    },
  },
  {
    name: 'close, where it exists, comes to an end, also when nothing was ever asked and when called again',
    async run({ store }) {
      await store.close?.();
      await store.close?.();
    },
  },
];

function renewal(key: string, owner: string): { readonly lease: Lease; readonly answer: Promise<boolean> } {
  let lease!: Lease;
  const answer = new Promise<boolean>((renewed, unclear) => {
    lease = { key, owner, renewals: 0, over: false, renewed, unclear };
  });
  return { lease, answer };
}

async function expectWakeUp(trial: ContractTrial, subscribed: () => void): Promise<void> {
  const { store, key } = trial;
  if (!store.onFree) return;
  let woken = false;
  const unsubscribe = store.onFree(key, () => (woken = true));
  subscribed();
  try {
    for (let chance = 0; chance < CHANCES; chance++) {
      const { owner } = await trial.granted();
      await trial.refused(key, trial.owner(), {});
      await store.release(key, owner);
      for (let step = 0; step < STEPS && !woken; step++) await trial.elapse(STEP_MS);
      if (woken) return;
    }
  } finally {
    unsubscribe();
  }
  assert.fail(`${CHANCES} releases woke nobody`);
}
