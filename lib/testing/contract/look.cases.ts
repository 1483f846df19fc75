import { strict as assert } from 'node:assert';
import type { KeyState } from '../../stores/lock-store.js';
import { LONG_MS, type ContractCase, type ContractTrial } from './contract-trial.js';

/** Beginnings that a store which matches patterns would take for others. */
const PREFIXES = ['*', 'a*', '?', '[ab]', '[^a]', '\\', '\\*', '%', '_', '{', '}', 'a\u0000', "'", 'ключ', '😀'];
const LOCKS = 25;
const STEP_MS = 20;
const STEPS = 100;
/** Losing a wake-up is allowed, losing all is not. */
const CHANCES = 10;
const MOST_PAGES = 1000;

/** For people who look, and act. For a verb that is missing there is nothing to prove. */
export const lookCases: readonly ContractCase[] = [
  {
    name: 'list, where it exists, shows the keys that are taken, by whom, and no others',
    async run(trial) {
      if (!trial.store.list) return;
      const prefix = `${trial.key}/`;
      const held = await trial.granted(`${prefix}held`);
      await trial.free(`${prefix}freed`);
      await trial.expired(`${prefix}expired`);
      const kept = await trial.granted(`${prefix}kept`);
      await trial.store.release(`${prefix}kept`, kept.owner, LONG_MS);
      await trial.granted(trial.key);
      const listed = await listAll(trial, prefix);
      const byKey = new Map(listed.map((state) => [state.key, state]));
      assert.deepEqual([...byKey.keys()].sort(), [`${prefix}held`, `${prefix}kept`]);
      const { locked, owner = held.owner, fencingToken = held.token, remainingMs = 1 } = byKey.get(`${prefix}held`)!;
      assert.deepEqual({ locked, owner, fencingToken }, { locked: true, owner: held.owner, fencingToken: held.token });
      assert(remainingMs > 0 && remainingMs <= LONG_MS, `remainingMs is ${remainingMs}, the ttl ${LONG_MS}`);
      assert.equal(byKey.get(`${prefix}kept`)!.locked, true, 'kept past its release, it is still taken');
    },
  },
  {
    name: 'list, where it exists, takes a prefix as it is, and gives every key exactly',
    async run(trial) {
      if (!trial.store.list) return;
      const prefixes = PREFIXES.map((prefix) => `${trial.key}/${prefix}`);
      for (const prefix of prefixes) for (const end of ['', '/x', ':fence']) await trial.granted(prefix + end);
      const all = prefixes.flatMap((prefix) => ['', '/x', ':fence'].map((end) => prefix + end));
      for (const prefix of [`${trial.key}/`, ...prefixes]) {
        const keys = (await listAll(trial, prefix)).map(({ key }) => key);
        assert.deepEqual([...new Set(keys)].sort(), all.filter((key) => key.startsWith(prefix)).sort());
      }
    },
  },
  {
    name: 'list, where it exists, gives pages of no more than was asked for, which together hold every key that stays taken',
    async run(trial) {
      if (!trial.store.list) return;
      const prefix = `${trial.key}/`;
      const keys = Array.from({ length: LOCKS }, (_, index) => `${prefix}${index}`);
      await Promise.all(keys.map((key) => trial.granted(key)));
      for (const limit of [1, 7, LOCKS, 1000]) {
        const listed = await listAll(trial, prefix, limit);
        assert.deepEqual([...new Set(listed.map(({ key }) => key))].sort(), [...keys].sort(), `in pages of ${limit}`);
      }
    },
  },
  {
    name: 'list, where it exists, refuses a cursor that it never gave',
    async run(trial) {
      if (!trial.store.list) return;
      for (const cursor of ['\u0000', '***', 'W10']) {
        // An order of keys may go on after any text; what it must not do is take something else for its own.
        const page = trial.store.list({ prefix: trial.key, limit: 10, cursor });
        await page.catch((error: unknown) => assert.equal((error as { code?: string }).code, 'LOCK_OPTIONS'));
      }
    },
  },
  {
    name: 'forceRelease, where it exists, takes a key from its owner, who can neither renew nor release it any more',
    async run(trial) {
      const { store, key } = trial;
      if (!store.forceRelease) return;
      const first = await trial.granted();
      const other = await trial.granted(`${key}/other`);
      assert.equal(await store.forceRelease(key), true);
      assert.equal((await store.inspect?.(key))?.locked ?? false, false);
      assert.equal(await store.renew(key, first.owner, LONG_MS), false);
      const next = await trial.granted();
      assert(next.token > first.token, `token ${next.token} came after ${first.token}`);
      assert.equal(await store.release(key, first.owner), false);
      await trial.refused();
      assert.equal(await store.renew(key, next.owner, LONG_MS), true);
      assert.equal(await store.renew(`${key}/other`, other.owner, LONG_MS), true, 'another key of the same store');
    },
  },
  {
    name: 'forceRelease, where it exists, says that there was nothing to release',
    async run(trial) {
      const { store, key } = trial;
      if (!store.forceRelease) return;
      assert.equal(await store.forceRelease(key), false);
      await trial.free();
      assert.equal(await store.forceRelease(key), false);
      await trial.granted();
      assert.equal(await store.forceRelease(key), true);
      assert.equal(await store.forceRelease(key), false);
      await trial.free();
    },
  },
  {
    name: 'forceRelease, where it exists, frees a key that is kept past its release',
    async run(trial) {
      const { store, key } = trial;
      if (!store.forceRelease) return;
      const { owner, token } = await trial.granted();
      await store.release(key, owner, LONG_MS);
      assert.equal(await store.forceRelease(key), true);
      const next = await trial.granted();
      assert(next.token > token, `token ${next.token} came after ${token}`);
    },
  },
  {
    name: 'forceRelease, where it exists, wakes who waits for the key',
    async run(trial) {
      const { store, key } = trial;
      if (!store.forceRelease || !store.onFree) return;
      await trial.granted();
      let woken = 0;
      const unsubscribe = store.onFree(key, () => woken++);
      try {
        for (let round = 0; round < CHANCES; round++) {
          await trial.refused(key, trial.owner(), {});
          // Whoever begins to listen may be woken for that alone.
          woken = 0;
          assert.equal(await store.forceRelease(key), true);
          for (let step = 0; step < STEPS && woken === 0; step++) await trial.elapse(STEP_MS);
          if (woken > 0) return;
          await trial.granted();
        }
      } finally {
        unsubscribe();
      }
      assert.fail('it woke nobody');
    },
  },
];

async function listAll({ store }: ContractTrial, prefix: string, limit = 10): Promise<KeyState[]> {
  const all: KeyState[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await store.list!({ prefix, limit, ...(cursor === undefined ? {} : { cursor }) });
    assert(page.keys.length <= limit, `a page of ${page.keys.length}, where ${limit} were asked for`);
    all.push(...page.keys);
    cursor = page.cursor;
    if (cursor === undefined) return all;
  }
  return assert.fail(`${MOST_PAGES} pages, and no end`);
}
