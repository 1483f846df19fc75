import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { connectRedis, LockBusyError, LockManager, MemoryStore } from 'nestjs-fenced-lock';
import { LockingTestingModule, ManualRuntime } from 'nestjs-fenced-lock/testing';
import pg from 'pg';
import { eventually } from '../support/eventually.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { root, typeErrors } from './compiler.js';
import { codeBlocks } from './markdown.js';
import { PodProgram } from './pod-program.js';
import { Snippets } from './snippets.js';

const readme = await readFile(join(root, 'README.md'), 'utf8');
const snippets = new Snippets(readme, join(root, 'test/tmp'));

/** Remembers for which keys it was asked. */
class ObservedStore extends MemoryStore {
  readonly asked: string[] = [];

  override acquire(key: string, owner: string, ttlMs: number): ReturnType<MemoryStore['acquire']> {
    this.asked.push(key);
    return super.acquire(key, owner, ttlMs);
  }
}

describe('the snippets of the README', () => {
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function application(provider: Type, store: MemoryStore): Promise<INestApplicationContext> {
    const module = await Test.createTestingModule({
      imports: [LockingTestingModule.forRoot({ store })],
      providers: [provider],
    }).compile();
    closers.push(() => module.close());
    return module.init();
  }

  it('type-check, and one with a mistake would not', async () => {
    const faulty = join(root, 'test/tmp', `faulty-${process.pid}.ts`);
    const mistake = `import { WithLock } from 'nestjs-fenced-lock';\nexport const x = WithLock('a', { tll: 30 });\n`;
    await writeFile(faulty, mistake);
    closers.push(() => rm(faulty));

    const errors = typeErrors([...snippets.paths, faulty]);

    expect(errors).toEqual([expect.stringMatching(/faulty-\d+\.ts:2: .*'tll' does not exist/)]);
  });

  describe('the first example', () => {
    const example = snippets.claim('billing with token');

    it('fits on a screen, in at most twelve lines', () => {
      expect(example.code.trim().split('\n').length).toBeLessThanOrEqual(12);
      expect(readme.indexOf(example.code)).toBe(readme.indexOf('```ts\n') + '```ts\n'.length);
    });

    it('bills in one pod when several tick', async () => {
      const { BillingService } = await example.load<{ BillingService: Type<{ bill(): Promise<void> }> }>();
      const log = jest.spyOn(console, 'log').mockReturnValue();
      closers.push(async () => log.mockRestore());
      const store = new MemoryStore();
      const pods = [await application(BillingService, store), await application(BillingService, store)];

      await Promise.all(pods.map((pod) => pod.get<{ bill(): Promise<void> }>(BillingService).bill()));

      const { fencingToken } = await store.inspect('job:billing');
      expect(log.mock.calls).toEqual([[`billing with token ${fencingToken}`]]);
    });
  });

  describe('the program of the three steps', () => {
    const program = snippets.claim('NestFactory.createApplicationContext');
    const REPORT = /^([ab]) reports with token (\d+)$/;

    it('reports every tick from exactly one of two pods, with rising tokens, and goes on in one when the other ends', async () => {
      const redis = await RedisServer.start();
      closers.push(() => redis.stop());
      const pods = await Promise.all(['a', 'b'].map((name) => PodProgram.start(program.path, name, redis.url)));
      closers.push(() => Promise.all(pods.map((pod) => pod.stop())));

      const reports = (): { pod: string; token: number }[] =>
        pods
          .flatMap((pod) => pod.lines)
          .map((line) => ({ pod: REPORT.exec(line)![1]!, token: Number(REPORT.exec(line)![2]) }))
          .sort((a, b) => a.token - b.token);
      await eventually(() => expect(reports().length).toBeGreaterThanOrEqual(3), { timeoutMs: 60_000 });
      // A pod that ends with the lock would keep the other waiting for the ttl.
      const store = await connectRedis({ nodes: [redis.url], ttlMs: 30_000 });
      closers.push(async () => store.close?.());
      await eventually(async () => expect(await new LockManager(store).isLocked('job:report')).toBe(false));
      // Whoever reported last ends; that the other takes over shows that it ticked, and skipped, all along.
      const last = reports().at(-1)!.pod;
      await pods.find(({ name }) => name === last)!.stop();
      const other = pods.find(({ name }) => name !== last)!;
      const before = other.lines.length;
      await eventually(() => expect(other.lines.length).toBeGreaterThan(before), { timeoutMs: 60_000 });
      await other.stop();

      // Tokens have the shape of a clock, in µs, so they tell the two-second tick that a report belongs to.
      const ticks = reports().map(({ token }) => Math.floor(token / 2_000_000));
      expect(ticks).toEqual([...new Set(ticks)]);
      // On a machine that is held up the scheduler leaves a tick out in both pods, and says so.
      const leftOut = pods.some((pod) => pod.complaints.includes('Missed execution'));
      if (!leftOut) expect(ticks).toEqual(ticks.map((_, index) => ticks[0]! + index));
      expect(pods.map((pod) => pod.complaints.replace(/.*Missed execution.*\n/g, ''))).toEqual(['', '']);
    }, 150_000);

    it('is shown with output of this form: a tick a line, by either pod, tokens rising', () => {
      const [shown, another] = codeBlocks(readme, 'text');
      expect(another).toBeUndefined();
      const lines = shown!.code.trim().split('\n');
      const reports = lines.map((line) => REPORT.exec(line)?.slice(1) ?? [line]);

      expect(new Set(reports.map(([pod]) => pod))).toEqual(new Set(['a', 'b']));
      const ticks = reports.map(([, token]) => Math.floor(Number(token) / 2_000_000));
      expect(ticks).toEqual(ticks.map((_, index) => ticks[0]! + index));
    });
  });

  describe('the AccountService', () => {
    interface AccountService {
      transfer(from: string, to: string, move: (token: number) => Promise<void>): Promise<void>;
      close(id: string): Promise<void>;
      audit(): Promise<string>;
    }
    const service = snippets.claim('class AccountService');

    async function start() {
      const { AccountService } = await service.load<{ AccountService: Type<AccountService> }>();
      const runtime = new ManualRuntime();
      const store = new MemoryStore(runtime);
      const module = await Test.createTestingModule({
        providers: [AccountService, { provide: LockManager, useValue: new LockManager(store, {}, runtime) }],
      }).compile();
      return { accounts: module.get(AccountService), elsewhere: new LockManager(store, {}, runtime), runtime, store };
    }

    it('transfers under both keys, with one token', async () => {
      const { accounts, store } = await start();
      let seen: unknown;

      await accounts.transfer('b', 'a', async (token) => {
        const states = await Promise.all(['account:a', 'account:b'].map((key) => store.inspect(key)));
        seen = states.map(({ locked, fencingToken }) => [locked, fencingToken === token]);
      });

      const both = [true, true];
      expect(seen).toEqual([both, both]);
      expect(await Promise.all(['account:a', 'account:b'].map((key) => store.inspect(key)))).toEqual([
        { locked: false },
        { locked: false },
      ]);
    });

    it('closes an account and gives the lock back; a busy one makes it give up after five seconds', async () => {
      const { accounts, elsewhere, runtime, store } = await start();
      await accounts.close('a');
      expect(await store.inspect('account:a')).toEqual({ locked: false });

      await using _ = await elsewhere.acquire('account:a');
      let outcome: unknown = 'waiting';
      const closing = accounts.close('a').catch((error: unknown) => (outcome = error));
      await runtime.advance(4_900);
      expect(outcome).toBe('waiting');
      await runtime.advance(200);
      await closing;
      expect(outcome).toBeInstanceOf(LockBusyError);
    });

    it('audits, or hears that someone else does', async () => {
      const { accounts, elsewhere, store } = await start();
      expect(await accounts.audit()).toBe('done');
      expect(await store.inspect('job:audit')).toEqual({ locked: false });

      await using _ = await elsewhere.acquire('job:audit');
      expect(await accounts.audit()).toBe('someone else is at it');
    });
  });

  describe('the TicketsController', () => {
    const controller = snippets.claim('class TicketsController');

    async function start() {
      const { TicketsController } = await controller.load<{ TicketsController: Type }>();
      const store = new ObservedStore();
      const module = await Test.createTestingModule({
        imports: [LockingTestingModule.forRoot({ store })],
        controllers: [TicketsController],
      }).compile();
      const app = module.createNestApplication({ logger: false });
      closers.push(() => app.close());
      await app.listen(0, '127.0.0.1');
      const url = await app.getUrl();
      const post = (path: string, body = {}): Promise<Response> =>
        fetch(`${url}/tickets/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        });
      return { post, store, elsewhere: new LockManager(store) };
    }

    it('sells a ticket, and answers 409 with Retry-After while another purchase has it', async () => {
      const { post, elsewhere } = await start();
      const sold = await post('7/purchase');
      expect([sold.status, await sold.json()]).toEqual([201, { id: '7', token: true }]);

      await using _ = await elsewhere.acquire('ticket:7');
      const refused = await post('7/purchase');
      expect(refused.status).toBe(409);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.text()).not.toContain('ticket:7');
    });

    it('takes an order once the same customer is done with another', async () => {
      const { post, store, elsewhere } = await start();
      const key = 'ticket:7:customer:ada';
      const lock = await elsewhere.acquire(key);
      const ordering = post('7/orders', { customer: { id: 'ada' } });
      await eventually(() => expect(store.asked.filter((asked) => asked === key).length).toBeGreaterThan(1));
      await lock.release();

      const ordered = await ordering;
      expect([ordered.status, await ordered.json()]).toEqual([201, { id: '7', customer: 'ada' }]);
    });

    it('swaps two tickets under both keys', async () => {
      const { post, store } = await start();
      const swapped = await post('7/swap/8');
      expect([swapped.status, await swapped.json()]).toEqual([201, ['8', '7']]);
      expect(store.asked).toEqual(['ticket:7', 'ticket:8']);
    });
  });

  describe('addToInvoice', () => {
    interface Database {
      query(sql: string, parameters: unknown[]): Promise<{ rows: any[] }>;
    }
    const guarded = snippets.claim('function addToInvoice');

    it('adds for the latest holder, and changes nothing with an older token', async () => {
      const { addToInvoice } = await guarded.load<{
        addToInvoice(db: Database, id: string, amount: number, token: number): Promise<boolean>;
      }>();
      const server = await PostgresServer.start();
      closers.push(() => server.stop());
      const database = new pg.Client(server.url);
      await database.connect();
      closers.push(() => database.end());
      await database.query('CREATE TABLE invoices (id text PRIMARY KEY, total int NOT NULL, fence bigint NOT NULL)');
      await database.query("INSERT INTO invoices VALUES ('a', 100, 0)");
      const older = 1_795_974_096_827_585;
      const newer = older + 1;
      const invoice = async (): Promise<unknown> =>
        (await database.query<object>('SELECT total, fence FROM invoices')).rows[0];

      expect(await addToInvoice(database, 'a', 5, older)).toBe(true);
      expect(await addToInvoice(database, 'a', 5, newer)).toBe(true);
      expect(await invoice()).toEqual({ total: 110, fence: String(newer) });

      expect(await addToInvoice(database, 'a', 5, older)).toBe(false);
      expect(await invoice()).toEqual({ total: 110, fence: String(newer) });

      // Frozen between its read and its write, while a later holder comes and goes.
      let queries = 0;
      const freezing: Database = {
        query: async (sql, parameters) => {
          if (++queries === 2) expect(await addToInvoice(database, 'a', 7, newer + 1)).toBe(true);
          return database.query(sql, parameters);
        },
      };
      expect(await addToInvoice(freezing, 'a', 5, newer)).toBe(false);
      expect(await invoice()).toEqual({ total: 117, fence: String(newer + 1) });
    });
  });

  describe('billWhileAnotherPodDoes', () => {
    const testing = snippets.claim('function billWhileAnotherPodDoes');

    it('shows in a test what a pod does while another has the key', async () => {
      const { billWhileAnotherPodDoes } = await testing.load<{ billWhileAnotherPodDoes(): Promise<string> }>();
      expect(await billWhileAnotherPodDoes()).toBe('job:billing: LockBusyError');
    });
  });

  it('are each run by exactly one of these tests', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
