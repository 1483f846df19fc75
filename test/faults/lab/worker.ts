/** One worker of the fault lab: it takes a lock again and again, works under it, and tells its parent all that happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { TimerWatch } from '../../support/leaks.js';
import { adapterOf } from './adapters.js';
import { shiftClock } from './clock.js';
import { Hold, SHORT, type HoldOrders } from './hold.js';
import { Ledger } from './ledger.js';
import { nowMs, type Leftovers, type Order, type Report, type WorkerTerms } from './messages.js';

const LONGEST_PAUSE_MS = 10;
/** After a failure. */
const RETRY_MS = 20;
const RACE_SPREAD_MS = 60;
/** A request whose answer nobody waits for ends within this time. */
const GRACE_MS = 500;

const terms = JSON.parse(process.env['TERMS']!) as WorkerTerms;
const tell = (report: Report): void => void process.send!(report);
process.on('unhandledRejection', (error) => tell({ type: 'trouble', kind: 'rejection', message: String(error) }));
process.on('uncaughtException', (error) => tell({ type: 'trouble', kind: 'exception', message: String(error) }));

shiftClock(terms.clockMs);
const timers = new TimerWatch();
const locks = await adapterOf(terms.adapter).open(terms);
const pool = new pg.Pool({ connectionString: terms.database, max: 4 });
const ledger = new Ledger(pool);
const idleTimers = await libraryTimers();
let working = false;
let loops: Promise<unknown> = Promise.resolve();
let next = SHORT;
let go: () => void = () => undefined;

async function attempt(key: string, work: (hold: Hold) => Promise<void>, orders: () => HoldOrders): Promise<void> {
  const startedAt = nowMs();
  let hold: Hold | undefined;
  let failure: string | null = null;
  try {
    await locks.run(key, (holding) => {
      hold = new Hold(terms.name, key, startedAt, holding, orders(), tell);
      return work(hold);
    });
  } catch (error) {
    failure = String(error);
  }
  if (hold) return tell({ type: 'hold', hold: hold.record(failure) });
  tell({ type: 'failure', at: nowMs(), message: failure! });
  await sleep(RETRY_MS);
}

function takeOrders(): HoldOrders {
  const taken = next;
  next = SHORT;
  return taken;
}

async function work(): Promise<void> {
  while (working) {
    await attempt(terms.key, (hold) => hold.work(ledger), takeOrders);
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
}

/** Each time the lock is given back about when its renewal goes out. */
async function race(index: number, afterMs: number): Promise<void> {
  const key = `${terms.key}:race:${terms.name}:${index}`;
  while (working) {
    await attempt(
      key,
      (hold) => hold.idle(afterMs - 20 + Math.random() * RACE_SPREAD_MS),
      () => SHORT,
    );
  }
}

/** Blocks the event loop, then writes in the same turn: no timer comes between. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  tell({ type: 'unblocked', at: nowMs() });
  go();
}

/** Timers of the lock library, by where they were set. A connection that stays subscribed for a second has one, which is no leftover of a lock. */
async function libraryTimers(): Promise<string[]> {
  const frames = (await timers.active()).map(ownFrames);
  return frames.filter((text) => /\/(lib|bench\/node_modules\/(?!ioredis))/.test(text) && !/free-channel/.test(text));
}

/** Nor are those that ran before the first lock: heartbeats, and looks at the authority. */
async function leftovers(): Promise<Leftovers> {
  for (const start = nowMs(); ; await sleep(20)) {
    const left = await libraryTimers();
    if (left.length <= idleTimers.length || nowMs() - start > GRACE_MS) {
      return { timers: left.length <= idleTimers.length ? [] : left };
    }
  }
}

function ownFrames(stack: string): string {
  const lines = stack.split('\n').filter((line) => !line.includes('node:'));
  return lines.slice(0, 2).join('\n');
}

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'work':
      working = true;
      return void (loops = work());
    case 'race':
      working = true;
      return void (loops = Promise.all(Array.from({ length: order.keys }, (_, index) => race(index, order.afterMs))));
    case 'hold':
      next = { long: true, slow: order.slow ?? false, go: new Promise((resolve) => (go = resolve)) };
      return;
    case 'go':
      return go();
    case 'block':
      return block(order.ms);
    case 'clock':
      return shiftClock(order.ms);
    case 'rest':
      working = false;
      go();
      await loops;
      return leftovers();
    case 'leave':
      await locks.close();
      return pool.end();
  }
}

process.on('message', (order: Order) => {
  void obey(order).then((answer) => {
    tell({ type: 'done', order: order.do, answer });
    // From here on only what was left behind can keep the process alive.
    if (order.do === 'leave') process.disconnect();
  });
});
tell({ type: 'ready' });
