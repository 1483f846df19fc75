import { strict as assert } from 'node:assert';
import { LONG_MS, type ContractCase } from './contract-trial.js';

const GRANTS = 20;
const CONTENDERS = 5;

export const tokenCases: readonly ContractCase[] = [
  {
    name: 'gives tokens that are whole, positive, exact, and higher with each grant',
    async run(trial) {
      let last = 0;
      for (let grant = 0; grant < GRANTS; grant++) {
        const { owner, token } = await trial.granted();
        assert(Number.isSafeInteger(token) && token > last, `token ${token} came after ${last}`);
        last = token;
        await trial.store.release(trial.key, owner);
      }
    },
  },
  {
    name: 'gives a higher token after an expiry',
    async run(trial) {
      const first = await trial.expired();
      const second = await trial.takenOver();
      assert(second.token > first.token, `token ${second.token} came after ${first.token}`);
    },
  },
  {
    name: 'gives a higher token after a key was kept past its release',
    async run(trial) {
      await trial.withShortLease('a release was refused', async (leaseMs, key) => {
        const first = await trial.granted(key);
        assert.equal(await trial.store.release(key, first.owner, leaseMs), true);
        const second = await trial.takenOver(key);
        assert(second.token > first.token, `token ${second.token} came after ${first.token}`);
        return true;
      });
    },
  },
  {
    name: 'gives rising tokens to owners who compete for a key',
    async run(trial) {
      let last = 0;
      for (let round = 0; round < GRANTS; round++) {
        const owners = Array.from({ length: CONTENDERS }, () => trial.owner());
        const results = await Promise.all(owners.map((owner) => trial.store.acquire(trial.key, owner, LONG_MS)));
        for (const [index, result] of results.entries()) {
          if (!result.acquired) continue;
          assert(result.fencingToken > last, `token ${result.fencingToken} came after ${last}`);
          last = result.fencingToken;
          assert.equal(await trial.store.release(trial.key, owners[index]!), true);
        }
      }
      assert(last > 0, 'none of them was ever granted the key');
    },
  },
];
