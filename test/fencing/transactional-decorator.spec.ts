import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  claimFence,
  DistributedLockModule,
  FencingToken,
  LockManager,
  MemoryStore,
  StaleTokenError,
  WithLock,
} from 'nestjs-fenced-lock';
import { DataSource, type EntitySubscriberInterface } from 'typeorm';
import { addTransactionalDataSource, initializeTransactionalContext, Transactional } from 'typeorm-transactional';
import { PostgresFixture } from './postgres-fixture.js';

const FAILURE = new Error('no');

@Injectable()
class Invoices {
  constructor(private readonly source: DataSource) {}

  @WithLock('invoice:{0}')
  @Transactional()
  async pay(id: string, failure?: Error, @FencingToken() token?: number): Promise<void> {
    await this.#pay(id, token!);
    if (failure) throw failure;
  }

  @Transactional()
  @WithLock('invoice:{0}')
  async payInWrongOrder(id: string, @FencingToken() token?: number): Promise<void> {
    await this.#pay(id, token!);
  }

  async #pay(id: string, token: number): Promise<void> {
    await claimFence(this.source, { resource: `invoice:${id}`, token });
    await this.source.query('INSERT INTO payments VALUES ($1)', [id]);
  }
}

/** TypeORM waits for it at the end of each transaction. */
class EndWatch implements EntitySubscriberInterface {
  readonly ends: string[] = [];

  constructor(private readonly locks: LockManager) {}

  afterTransactionCommit(): Promise<void> {
    return this.#note('committed');
  }

  afterTransactionRollback(): Promise<void> {
    return this.#note('rolled back');
  }

  async #note(how: string): Promise<void> {
    this.ends.push(`${how}, ${(await this.locks.isLocked('invoice:a')) ? 'locked' : 'free'}`);
  }
}

describe('A method of a transaction, by typeorm-transactional', () => {
  let database: PostgresFixture;
  let source: DataSource;
  let app: INestApplicationContext;
  let invoices: Invoices;
  let watch: EndWatch;

  beforeAll(async () => {
    initializeTransactionalContext();
    database = await PostgresFixture.start();
    source = addTransactionalDataSource(new DataSource({ type: 'postgres', url: database.server.url }));
    await source.initialize();
    await source.query('CREATE TABLE payments (id text)');
    app = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: new MemoryStore() })],
      providers: [Invoices, { provide: DataSource, useValue: source }],
    }).compile();
    invoices = app.get(Invoices);
    watch = new EndWatch(app.get(LockManager));
    source.subscribers.push(watch);
  }, 60_000);

  afterAll(async () => {
    await app?.close();
    await source?.destroy();
    await database?.stop();
  });

  beforeEach(async () => {
    watch.ends.length = 0;
    await source.query('TRUNCATE payments');
    await database.pool.query('TRUNCATE fencing_tokens');
  });

  const payments = async (): Promise<number> => (await database.pool.query('SELECT FROM payments')).rowCount!;

  it('commits before the lock is given back, with the lock above it', async () => {
    await invoices.pay('a');
    expect(watch.ends).toEqual(['committed, locked']);
    expect(await payments()).toBe(1);
  });

  it('takes its claim back with all else when it fails, and its error comes through', async () => {
    await expect(invoices.pay('a', FAILURE)).rejects.toBe(FAILURE);
    expect(watch.ends).toEqual(['rolled back, locked']);
    expect([await payments(), await database.claimed('invoice:a')]).toEqual([0, undefined]);
  });

  it('writes nothing where a later holder was', async () => {
    await claimFence(database.pool, { resource: 'invoice:a', token: Number.MAX_SAFE_INTEGER });
    await expect(invoices.pay('a')).rejects.toThrow(StaleTokenError);
    expect(await payments()).toBe(0);
  });

  it('commits after the lock is given back, with the lock below it', async () => {
    await invoices.payInWrongOrder('a');
    expect(watch.ends).toEqual(['committed, free']);
  });
});
