/** Compiled only: what a user may write, and what the compiler must refuse. */
import { Module } from '@nestjs/common';
import {
  CurrentLock,
  DistributedLockModule,
  FencingToken,
  InjectLockManager,
  LockManager,
  LockSignal,
  WithLock,
  type Lock,
  type LockStore,
} from 'nestjs-fenced-lock';
import { of, type Observable } from 'rxjs';

export class Jobs {
  constructor(
    readonly locks: LockManager,
    @InjectLockManager('billing') readonly others: LockManager,
  ) {}

  @WithLock('job:billing', { ttl: 30, autoRenew: true, onBusy: 'skip', manager: 'billing' })
  async bill(@FencingToken() _token: number, @LockSignal() _signal: AbortSignal): Promise<void> {}

  @WithLock('ticket:{0}')
  async purchase(id: string, @CurrentLock() _lock?: Lock): Promise<string> {
    return id;
  }

  @WithLock((id: string) => `ticket:${id}`)
  async sell(id: string, _amount: number): Promise<string> {
    return id;
  }

  @WithLock((id: string) => [`ticket:${id}`, 'till'])
  watch(id: string): Observable<string> {
    return of(id);
  }

  // @ts-expect-error a method that returns before its work is done cannot be locked
  @WithLock('job:sync')
  sync(): number {
    return 1;
  }

  // @ts-expect-error the key function takes another type than the method
  @WithLock((id: number) => `ticket:${id + 1}`)
  async mismatch(id: string): Promise<string> {
    return id;
  }

  async transfer(from: string, to: string): Promise<number> {
    await using lock = await this.locks.acquire([from, to], { wait: '5s', minHold: '1s', maxHold: 60 });
    const maybe: Lock | null = await this.locks.tryAcquire('job:report');
    await maybe?.release();
    const result: number = await this.locks.withLock('a', { ttl: '10s' }, async ({ fencingToken }) => fencingToken);
    // @ts-expect-error an unknown option
    await this.locks.withLock('a', { timeToLive: 10 }, async () => 1);
    return lock.fencingToken + result;
  }
}

declare const store: LockStore;

@Module({
  imports: [
    DistributedLockModule.forRoot(),
    DistributedLockModule.forRoot({ nodes: ['redis://a:6379', { host: 'b', port: 6379 }, 'redis://c:6379'] }),
    DistributedLockModule.forRoot({ store, name: 'billing', isGlobal: false }),
    DistributedLockModule.forRootAsync({ useFactory: async () => ({ store }) }),
  ],
})
export class AppModule {}
