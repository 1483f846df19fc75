import { strict as assert } from 'node:assert';
import { LONG_MS, type ContractCase } from './contract-trial.js';

export const leaseCases: readonly ContractCase[] = [
  {
    name: 'frees a key by itself once its ttl is over',
    async run(trial) {
      await trial.expired();
      await trial.takenOver();
      await trial.refused();
    },
  },
  {
    name: "lets an expired owner neither renew nor release the next owner's lock, which the next owner can",
    async run(trial) {
      const { owner } = await trial.expired();
      const next = await trial.takenOver();
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), false);
      assert.equal(await trial.store.release(trial.key, owner), false);
      assert.equal(await trial.store.release(trial.key, owner, LONG_MS), false);
      await trial.refused();
      assert.equal(await trial.store.renew(trial.key, next.owner, LONG_MS), true);
      assert.equal(await trial.store.release(trial.key, next.owner), true);
      await trial.free();
    },
  },
  {
    name: 'never re-creates a lock that expired',
    async run(trial) {
      const { owner } = await trial.expired();
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), false);
      assert.equal(await trial.store.release(trial.key, owner), false);
      await trial.free();
    },
  },
  {
    name: 'keeps a key taken for as long as its renewal says',
    async run(trial) {
      await trial.withShortLease('an owner could not renew a key that it held', async (leaseMs, key) => {
        const { owner } = await trial.granted(key, trial.owner(), leaseMs);
        if (!(await trial.store.renew(key, owner, LONG_MS))) return false;
        await trial.elapse(leaseMs * 1.2);
        await trial.refused(key);
        assert.equal(await trial.store.release(key, owner), true);
        return true;
      });
    },
  },
  {
    name: 'counts a renewal from when it is made, also when that shortens the lease',
    async run(trial) {
      await trial.withShortLease('a renewal was refused', async (leaseMs, key) => {
        const { owner } = await trial.granted(key);
        assert.equal(await trial.store.renew(key, owner, leaseMs), true);
        await trial.takenOver(key);
        return true;
      });
    },
  },
  {
    name: 'keeps a released key taken for keepForMs, where nobody can renew or release it',
    async run(trial) {
      const { owner } = await trial.granted();
      assert.equal(await trial.store.release(trial.key, owner, LONG_MS), true);
      const { retryAfterMs = LONG_MS } = await trial.refused();
      assert(retryAfterMs > 0 && retryAfterMs <= LONG_MS, `retryAfterMs is ${retryAfterMs}, keepForMs ${LONG_MS}`);
      for (const someone of [owner, trial.owner()]) {
        assert.equal(await trial.store.renew(trial.key, someone, LONG_MS), false);
        assert.equal(await trial.store.release(trial.key, someone), false);
      }
      await trial.refused();
    },
  },
  {
    name: 'frees a released key once keepForMs is over',
    async run(trial) {
      await trial.withShortLease('keepForMs did not keep the key taken', async (leaseMs, key) => {
        const { owner } = await trial.granted(key);
        assert.equal(await trial.store.release(key, owner, leaseMs), true);
        const early = await trial.store.acquire(key, trial.owner(), LONG_MS);
        if (early.acquired) return false;
        await trial.takenOver(key);
        return true;
      });
    },
  },
];
