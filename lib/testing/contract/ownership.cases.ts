import { strict as assert } from 'node:assert';
import { LONG_MS, type ContractCase } from './contract-trial.js';

const CONTENDERS = 100;

export const ownershipCases: readonly ContractCase[] = [
  {
    name: 'gives a free key to one owner, and to nobody else while it holds',
    async run(trial) {
      await trial.granted();
      await trial.refused();
      await trial.refused();
    },
  },
  {
    name: 'gives a key to exactly one of a hundred who ask at once',
    async run(trial) {
      const asked = Array.from({ length: CONTENDERS }, () => trial.store.acquire(trial.key, trial.owner(), LONG_MS));
      const granted = (await Promise.all(asked)).filter(({ acquired }) => acquired);
      assert.equal(granted.length, 1);
      await trial.refused();
    },
  },
  {
    name: 'refuses a key to the very owner that holds it, which goes on holding it',
    async run(trial) {
      const { owner } = await trial.granted();
      await trial.refused(trial.key, owner);
      await trial.refused();
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), true);
    },
  },
  {
    name: 'frees a key when its owner releases it, and says so once',
    async run(trial) {
      const { owner } = await trial.granted();
      assert.equal(await trial.store.release(trial.key, owner), true);
      assert.equal(await trial.store.release(trial.key, owner), false);
      await trial.free();
    },
  },
  {
    name: 'lets nobody but its owner release a key',
    async run(trial) {
      const { owner } = await trial.granted();
      assert.equal(await trial.store.release(trial.key, trial.owner()), false);
      assert.equal(await trial.store.release(trial.key, trial.owner(), LONG_MS), false);
      await trial.refused();
      assert.equal(await trial.store.release(trial.key, owner), true);
    },
  },
  {
    name: 'lets nobody but its owner renew a key',
    async run(trial) {
      const { owner } = await trial.granted();
      assert.equal(await trial.store.renew(trial.key, trial.owner(), LONG_MS), false);
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), true);
      await trial.refused();
    },
  },
  {
    name: 'creates nothing when a key that nobody holds is renewed or released',
    async run(trial) {
      const stranger = trial.owner();
      assert.equal(await trial.store.renew(trial.key, stranger, LONG_MS), false);
      assert.equal(await trial.store.release(trial.key, stranger), false);
      assert.equal(await trial.store.release(trial.key, stranger, LONG_MS), false);
      await trial.free();
    },
  },
  {
    name: 'never re-creates a lock that was released',
    async run(trial) {
      const { owner } = await trial.granted();
      await trial.store.release(trial.key, owner);
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), false);
      const next = await trial.granted();
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), false);
      assert.equal(await trial.store.release(trial.key, owner), false);
      assert.equal(await trial.store.renew(trial.key, next.owner, LONG_MS), true);
    },
  },
  {
    name: 'says in a refusal, where it knows, how long the holder can keep the key at most',
    async run(trial) {
      await trial.granted();
      const { retryAfterMs } = await trial.refused();
      if (retryAfterMs === undefined) return;
      assert(retryAfterMs > 0 && retryAfterMs <= LONG_MS, `retryAfterMs is ${retryAfterMs}, the ttl ${LONG_MS}`);
    },
  },
];
