import { createHash, randomUUID } from 'node:crypto';
import { connectAll } from '../connections.js';
import { RENEWALS_PER_TTL, type Keeper, type KeeperEntrant } from './keeper.js';

interface Held {
  readonly key: string;
  readonly owner: string;
}

const SLOT_MS = 100;
const MOST_PER_SCRIPT = 250;

const RENEW = `
local lost = 0
for place, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[place + 1] then redis.call('PEXPIRE', key, ARGV[1]) else lost = lost + 1 end
end
return lost`;
const SHA = createHash('sha1').update(RENEW).digest('hex');

/** What many renewals cost if a library cost nothing: the locks that fall into the same tenth of a second go out as one script of nothing but GET and PEXPIRE. */
export const WHEEL: KeeperEntrant = {
  id: 'wheel',
  open: (url) => bareKeeper(`bare wheel, ${MOST_PER_SCRIPT} keys a script`, url, startWheel),
};

/** What is mostly done: a timer for each lock, and a command for each time it fires. */
export const TIMERS: KeeperEntrant = {
  id: 'timers',
  open: (url) => bareKeeper('bare timer and script per lock', url, startTimers),
};

/** Renews, and counts what was lost. */
type Renew = (batch: readonly Held[]) => void;
type Start = (locks: readonly Held[], ttlMs: number, renew: Renew) => () => void;

function startTimers(locks: readonly Held[], ttlMs: number, renew: Renew): () => void {
  const timers = locks.map((lock) => setInterval(() => renew([lock]), ttlMs / RENEWALS_PER_TTL));
  return () => timers.forEach(clearInterval);
}

function startWheel(locks: readonly Held[], ttlMs: number, renew: Renew): () => void {
  const slots = Math.max(1, Math.round(ttlMs / RENEWALS_PER_TTL / SLOT_MS));
  const perSlot = Math.ceil(locks.length / slots);
  let slot = 0;
  const turn = (): void => {
    const due = locks.slice(slot * perSlot, (slot + 1) * perSlot);
    for (let from = 0; from < due.length; from += MOST_PER_SCRIPT) renew(due.slice(from, from + MOST_PER_SCRIPT));
    slot = (slot + 1) % slots;
  };
  const timer = setInterval(turn, SLOT_MS);
  return () => clearInterval(timer);
}

async function bareKeeper(name: string, url: string, start: Start): Promise<Keeper> {
  const [client] = await connectAll([url]);
  const redis = client!;
  await redis.script('LOAD', RENEW);
  const locks: Held[] = [];
  let stop = (): void => undefined;
  let lost = 0;
  return {
    name,
    role: 'limit',
    async keep(keys, ttlMs) {
      const fresh = keys.map((key) => ({ key, owner: randomUUID() }));
      await Promise.all(fresh.map(({ key, owner }) => redis.set(key, owner, 'PX', ttlMs, 'NX')));
      locks.push(...fresh);
      stop();
      stop = start(locks, ttlMs, (batch) => {
        const keys = batch.map(({ key }) => key);
        const owners = batch.map(({ owner }) => owner);
        redis.evalsha(SHA, keys.length, ...keys, ttlMs, ...owners).then(
          (gone) => (lost += Number(gone)),
          () => (lost += batch.length),
        );
      });
    },
    lost: () => lost,
    async letGo() {
      stop();
      for (const { key } of locks.splice(0)) await redis.del(key);
      lost = 0;
    },
  };
}
