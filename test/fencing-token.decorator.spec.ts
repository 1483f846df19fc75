import { describe, expect, it } from '@jest/globals';
import {
  CurrentLock,
  FencingToken,
  Lock,
  LockManager,
  LockOptionsError,
  LockSignal,
  MemoryStore,
  WithLock,
} from 'nestjs-fenced-lock';
import { managerProperty } from '../lib/nest/lock-tokens.js';

const manager = new LockManager(new MemoryStore());

function made<T extends object>(Class: new () => T): T {
  return Object.assign(new Class(), { [managerProperty()]: manager });
}

describe('@FencingToken, @LockSignal and @CurrentLock', () => {
  class Service {
    @WithLock('tokens')
    async all(
      @FencingToken() token?: number,
      @LockSignal() signal?: AbortSignal,
      @CurrentLock() lock?: Lock,
    ): Promise<unknown[]> {
      return [token, signal, lock];
    }

    @WithLock('between:{0}')
    async between(id: string, @FencingToken() token: number | undefined, body: string): Promise<unknown[]> {
      return [id, token, body];
    }

    @WithLock('late')
    async late(job?: string, token?: string, @FencingToken() fence?: number): Promise<unknown[]> {
      return [job, token, fence];
    }

    @WithLock('first')
    async first(@FencingToken() token?: unknown): Promise<unknown> {
      return token;
    }
  }

  it('put the token, the signal and the lock of the call into the arguments', async () => {
    const [token, signal, lock] = await made(Service).all();
    expect(lock).toBeInstanceOf(Lock);
    expect([token, signal]).toEqual([(lock as Lock).fencingToken, (lock as Lock).signal]);
  });

  it('give every call a higher token', async () => {
    const service = made(Service);
    const first = await service.first();
    expect(await service.first()).toBeGreaterThan(first as number);
  });

  it('fill a gap, and pad short arguments', async () => {
    const service = made(Service);
    await expect(service.between('id', undefined, 'body')).resolves.toEqual(['id', expect.any(Number), 'body']);
    await expect(service.late()).resolves.toEqual([undefined, undefined, expect.any(Number)]);
    await expect(service.late('job')).resolves.toEqual(['job', undefined, expect.any(Number)]);
  });

  it.each(['payload', 0, null, false])('do not overwrite %p, and say what to do', async (payload) => {
    const call = made(Service).first(payload);
    await expect(call).rejects.toThrow(LockOptionsError);
    await expect(call).rejects.toThrow(
      /@FencingToken\(\) in "Service\.first".*argument 0.*@Payload\(\).*@MessageBody\(\)/,
    );
    await expect(manager.isLocked('first')).resolves.toBe(false);
  });

  it('belong to the class that declares the method', async () => {
    class Child extends Service {
      @WithLock('child')
      override async first(): Promise<unknown> {
        return ['child', await super.first()];
      }
    }
    await expect(made(Child).first()).resolves.toEqual(['child', expect.any(Number)]);
    await expect(made(Service).first()).resolves.toEqual(expect.any(Number));
  });

  it('refuse a constructor and a static method', () => {
    expect(() => {
      class Service {
        constructor(@FencingToken() readonly token: number) {}
      }
      return Service;
    }).toThrow(/@FencingToken\(\) in "the constructor of Service"/);
    expect(() => {
      class Service {
        static async run(@LockSignal() _signal: AbortSignal): Promise<void> {}
      }
      return Service;
    }).toThrow(/@LockSignal\(\) in "Service\.run"/);
  });

  it('are refused in the key, which is made before the lock is held', () => {
    expect(() => {
      class Service {
        @WithLock(['a', 'job:{0}'])
        async run(@FencingToken() _token: number): Promise<void> {}
      }
      return Service;
    }).toThrow(/\{0\} is @FencingToken\(\)/);
  });
});
