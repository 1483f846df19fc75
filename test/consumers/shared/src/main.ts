import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DistributedLockModule,
  FencingToken,
  LockBusyError,
  LockManager,
  LockSignal,
  WithLock,
} from 'nestjs-fenced-lock';
import { MemoryStore } from 'nestjs-fenced-lock';

@Injectable()
class Billing {
  readonly tokens: number[] = [];

  @WithLock('job:billing', { ttl: 30, autoRenew: true })
  async bill(work: Promise<void>, @FencingToken() token?: number, @LockSignal() signal?: AbortSignal): Promise<void> {
    assert.ok(token !== undefined && signal !== undefined && !signal.aborted);
    this.tokens.push(token);
    await work;
  }
}

@Module({ imports: [DistributedLockModule.forRoot({ store: new MemoryStore() })], providers: [Billing] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const billing = app.get(Billing);
  const locks = app.get(LockManager);

  let finish = (): void => undefined;
  const first = billing.bill(new Promise<void>((resolve) => (finish = resolve)));
  await assert.rejects(billing.bill(Promise.resolve()), (error) => {
    // Its name, too, where a minifier has renamed the class.
    return error instanceof LockBusyError && error.name === 'LockBusyError';
  });
  finish();
  await first;
  await billing.bill(Promise.resolve());

  const [earlier = 0, later = 0] = billing.tokens;
  assert.equal(billing.tokens.length, 2);
  assert.ok(later > earlier && earlier > 0);
  {
    await using lock = await locks.acquire(['account:1', 'account:2'], { wait: '1s' });
    assert.ok(lock.held);
    assert.equal(await locks.tryAcquire('account:1'), null);
  }
  assert.equal(await locks.isLocked('account:1'), false);

  await app.close();
  console.log('one ran, one was refused, tokens rose');
}

void main();
