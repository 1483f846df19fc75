import { describe, expect, it } from '@jest/globals';
import { SetMetadata } from '@nestjs/common';
import { defer, EMPTY, firstValueFrom, lastValueFrom, NEVER, Observable, of, Subject, throwError, toArray } from 'rxjs';
import {
  LockBusyError,
  LockLostError,
  LockManager,
  LockOptionsError,
  MemoryStore,
  WithLock,
  type Lock,
} from 'nestjs-fenced-lock';
import { managerProperty } from '../lib/nest/lock-tokens.js';
import { deferred } from './e2e/deferred.js';

const store = new MemoryStore();
const manager = new LockManager(store);
const elsewhere = new LockManager(store);

/** What Nest does with every instance it makes. */
function made<T extends object>(Class: new () => T, name?: string): T {
  return Object.assign(new Class(), { [managerProperty(name)]: manager });
}

const tick = (): MethodDecorator => SetMetadata('SCHEDULER_TYPE', 1);

describe('@WithLock on a method with a promise', () => {
  it('holds the lock until the promise settles, and hands the result on', async () => {
    const gate = deferred<string>();
    class Service {
      @WithLock('promise')
      async run(): Promise<string> {
        return gate.promise;
      }
    }
    const result = made(Service).run();
    await expect(elsewhere.acquire('promise')).rejects.toThrow(LockBusyError);
    gate.resolve('done');
    await expect(result).resolves.toBe('done');
    await expect(manager.isLocked('promise')).resolves.toBe(false);
  });

  it('releases after an error and lets that error through', async () => {
    class Service {
      @WithLock('failing')
      async run(): Promise<void> {
        throw new RangeError('business');
      }
    }
    await expect(made(Service).run()).rejects.toThrow(new RangeError('business'));
    await expect(manager.isLocked('failing')).resolves.toBe(false);
  });

  it('rejects a second call while the first one runs', async () => {
    const gate = deferred();
    class Service {
      @WithLock('busy')
      async run(): Promise<void> {
        return gate.promise;
      }
    }
    const service = made(Service);
    const first = service.run();
    await expect(service.run()).rejects.toThrow(LockBusyError);
    gate.resolve();
    await first;
  });

  it('calls its locks by the template, or by the method where the key is a function, or as it is told', async () => {
    class Service {
      @WithLock('order:{0}')
      async byTemplate(_id: string): Promise<void> {}

      @WithLock(['from:{0}', 'to:{1}'])
      async byTemplates(_from: string, _to: string): Promise<void> {}

      @WithLock((id: string) => `order:${id}`)
      async byFunction(_id: string): Promise<void> {}

      @WithLock('order:{0}', { label: 'orders' })
      async byLabel(_id: string): Promise<void> {}

      @WithLock(Array.from({ length: 20 }, (_, index) => `a-long-template:${index}`))
      async byMany(): Promise<void> {}
    }
    const labels: (string | undefined)[] = [];
    const stop = manager.on('granted', ({ label }) => labels.push(label));
    const service = made(Service);
    await service.byTemplate('a-customer');
    await service.byTemplates('x', 'y');
    await service.byFunction('a-customer');
    await service.byLabel('a-customer');
    await service.byMany();
    stop();
    expect(labels.slice(0, 4)).toEqual(['order:{0}', 'from:{0} + to:{1}', 'Service.byFunction', 'orders']);
    expect(labels[4]).toMatch(/^a-long-template:0 \+ .*…$/);
    expect(labels[4]).toHaveLength(128);
  });

  it('makes its keys from the arguments: template, several templates, function', async () => {
    const keys: unknown[] = [];
    class Service {
      @WithLock('user:{0}')
      async one(_id: string): Promise<void> {
        keys.push(LockManager.current()?.keys);
      }
      @WithLock(['account:{0}', 'account:{1}'])
      async two(_from: string, _to: string): Promise<void> {
        keys.push(LockManager.current()?.keys);
      }
      @WithLock((order: { id: number }) => `order:${order.id}`)
      async computed(_order: { id: number }): Promise<void> {
        keys.push(LockManager.current()?.keys);
      }
    }
    const service = made(Service);
    await service.one('a:b');
    await service.two('z', 'a');
    await service.computed({ id: 5 });
    expect(keys).toEqual([['user:a%3Ab'], ['account:a', 'account:z'], ['order:5']]);
  });

  it('rejects, and does not throw, when a key cannot be made', async () => {
    class Service {
      @WithLock('user:{0.id}')
      async templated(_user?: object): Promise<void> {}
      @WithLock(() => 5 as unknown as string)
      async wrong(): Promise<void> {}
      @WithLock(() => {
        throw new RangeError('no key');
      })
      async failing(): Promise<void> {}
    }
    const service = made(Service);
    await expect(service.templated()).rejects.toThrow(LockOptionsError);
    await expect(service.wrong()).rejects.toThrow(LockOptionsError);
    await expect(service.failing()).rejects.toThrow(new RangeError('no key'));
  });

  it('waits for a thenable that is no promise', async () => {
    const gate = deferred<string>();
    class Query implements PromiseLike<string> {
      then: PromiseLike<string>['then'] = (resolved, rejected) => gate.promise.then(resolved, rejected);
    }
    class Service {
      @WithLock('thenable')
      run(): Promise<string> {
        return new Query() as unknown as Promise<string>;
      }
    }
    const result = made(Service).run();
    await expect(elsewhere.tryAcquire('thenable')).resolves.toBeNull();
    gate.resolve('row');
    await expect(result).resolves.toBe('row');
  });

  it('is the method of every instance, each with its own manager', async () => {
    class Service {
      @WithLock('apart')
      async run(work: () => Promise<unknown>): Promise<unknown> {
        return work();
      }
    }
    const other = Object.assign(new Service(), { [managerProperty()]: new LockManager(new MemoryStore()) });
    await expect(
      made(Service)
        .run(() => other.run(async () => 'both'))
        .catch((error: Error) => error),
    ).resolves.toBe('both');
  });

  it('keeps name, length, own properties and metadata of the method', () => {
    const extra = Symbol('extra');
    const own: MethodDecorator = (_target, _name, descriptor) =>
      void Object.assign(descriptor.value as object, { [extra]: 'own' });
    class Service {
      @WithLock('kept')
      @SetMetadata('below', 1)
      @own
      async run(_a: string, _b: string): Promise<void> {}
    }
    const { run } = Service.prototype;
    expect([run.name, run.length, Reflect.get(run, extra)]).toEqual(['run', 2, 'own']);
    expect(Reflect.getMetadata('below', run)).toBe(1);
  });

  it('reports a lock lost under a method that returned, unless that is to be ignored', async () => {
    class Service {
      @WithLock('lost', { ttl: '100ms', autoRenew: false })
      async strict(): Promise<string> {
        return stolen();
      }
      @WithLock('lost', { ttl: '100ms', autoRenew: false, onLost: 'ignore' })
      async lax(): Promise<string> {
        return stolen();
      }
    }
    async function stolen(): Promise<string> {
      const { signal } = LockManager.current() as Lock;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'result';
    }
    await expect(made(Service).strict()).rejects.toMatchObject({ name: 'LockLostError', result: 'result' });
    await expect(made(Service).lax()).resolves.toBe('result');
  });
});

describe('@WithLock on a busy key', () => {
  class Service {
    ran: string[] = [];
    @WithLock('taken')
    @tick()
    async tickBelow(): Promise<string> {
      this.ran.push('tickBelow');
      return 'ran';
    }
    @tick()
    @WithLock('taken')
    async tickAbove(): Promise<string> {
      this.ran.push('tickAbove');
      return 'ran';
    }
    @WithLock('taken')
    @SetMetadata('EVENT_LISTENER_METADATA', [])
    async event(): Promise<string> {
      this.ran.push('event');
      return 'ran';
    }
    @tick()
    @WithLock('taken', { onBusy: 'throw' })
    async strictTick(): Promise<string> {
      return 'ran';
    }
    @WithLock('taken', { onBusy: 'skip' })
    async skipping(): Promise<string> {
      this.ran.push('skipping');
      return 'ran';
    }
    @WithLock('taken')
    async plain(): Promise<string> {
      return 'ran';
    }
    @tick()
    @WithLock('outer')
    async busyInside(): Promise<void> {
      await elsewhere.acquire('taken');
    }
  }

  it('skips ticks and events, and what asks for it, without running the method; else it throws', async () => {
    const service = made(Service);
    await using _ = await elsewhere.acquire('taken');
    await expect(service.tickBelow()).resolves.toBeUndefined();
    await expect(service.tickAbove()).resolves.toBeUndefined();
    await expect(service.event()).resolves.toBeUndefined();
    await expect(service.skipping()).resolves.toBeUndefined();
    await expect(service.strictTick()).rejects.toThrow(LockBusyError);
    await expect(service.plain()).rejects.toThrow(LockBusyError);
    expect(service.ran).toEqual([]);
  });

  it('runs them when the key is free', async () => {
    const service = made(Service);
    await expect(service.tickAbove()).resolves.toBe('ran');
    await expect(service.event()).resolves.toBe('ran');
  });

  it('does not take an error of the method for a busy key', async () => {
    await using _ = await elsewhere.acquire('taken');
    await expect(made(Service).busyInside()).rejects.toThrow(LockBusyError);
  });

  it('skips ticks during a shutdown too, and throws elsewhere', async () => {
    const closed = new LockManager(new MemoryStore());
    await closed.shutdown();
    const service = Object.assign(new Service(), { [managerProperty()]: closed });
    await expect(service.tickAbove()).resolves.toBeUndefined();
    await expect(service.plain()).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(service.skipping()).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });

  it('never skips an outage', async () => {
    const broken = {
      acquire: () => Promise.reject(new Error('down')),
      renew: async () => false,
      release: async () => false,
    };
    const service = Object.assign(new Service(), { [managerProperty()]: new LockManager(broken) });
    await expect(service.tickAbove()).rejects.toThrow();
    await expect(service.skipping()).rejects.toThrow();
  });
});

describe('@WithLock on a method with an Observable', () => {
  class Service {
    calls = 0;
    constructor(readonly source: Observable<unknown> = of('a', 'b')) {}
    @WithLock('stream')
    stream(): Observable<unknown> {
      this.calls++;
      return this.source;
    }
    @WithLock('stream', { wait: '30s' })
    patient(): Observable<unknown> {
      return this.source;
    }
    @WithLock('stream', { onBusy: 'skip' })
    skipping(): Observable<unknown> {
      return this.source;
    }
    @WithLock('short', { ttl: '100ms', autoRenew: false })
    short(): Observable<unknown> {
      return this.source;
    }
    @WithLock('short', { ttl: '100ms', autoRenew: false, onLost: 'ignore' })
    lax(): Observable<unknown> {
      return this.source;
    }
  }
  const serving = (source: Observable<unknown>): Service =>
    Object.assign(new Service(source), { [managerProperty()]: manager });
  const freed = async (key: string): Promise<void> => {
    await using _ = await elsewhere.acquire(key, { wait: '20s' });
  };

  it('does nothing before it is subscribed to, and everything again at each subscription', async () => {
    const service = serving(of('a', 'b'));
    const stream = service.stream();
    expect(service.calls).toBe(0);
    await expect(lastValueFrom(stream.pipe(toArray()))).resolves.toEqual(['a', 'b']);
    await expect(lastValueFrom(stream.pipe(toArray()))).resolves.toEqual(['a', 'b']);
    expect(service.calls).toBe(2);
  });

  it('holds the lock until it completes, and has released it by then', async () => {
    const source = new Subject<string>();
    const seen = firstValueFrom(source);
    const done = lastValueFrom(serving(source).stream());
    while (!source.observed) await new Promise(setImmediate);
    await expect(elsewhere.tryAcquire('stream')).resolves.toBeNull();
    source.next('only');
    source.complete();
    await expect(Promise.all([seen, done])).resolves.toEqual(['only', 'only']);
    await expect(manager.isLocked('stream')).resolves.toBe(false);
  });

  it('releases when it fails, and lets the error through', async () => {
    const failing = throwError(() => new RangeError('business'));
    await expect(lastValueFrom(serving(failing).stream())).rejects.toThrow(new RangeError('business'));
    await expect(manager.isLocked('stream')).resolves.toBe(false);
  });

  it('releases when its subscriber leaves while it holds the lock', async () => {
    const source = new Subject<string>();
    const subscription = serving(source).stream().subscribe();
    while (!source.observed) await new Promise(setImmediate);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
    await freed('stream');
  });

  it('leaves nothing behind when its subscriber leaves while it waits, or while the store answers', async () => {
    const held = await elsewhere.acquire('stream');
    const service = serving(NEVER);
    const waiting = service.patient().subscribe();
    await new Promise(setImmediate);
    waiting.unsubscribe();
    await held.release();
    service.stream().subscribe().unsubscribe();
    await freed('stream');
    expect(service.calls).toBe(0);
  });

  it('ends the wait itself when its subscriber leaves', () => {
    const signals: (AbortSignal | undefined)[] = [];
    const endless = {
      withLock: (_keys: string, options: { signal?: AbortSignal }) => {
        signals.push(options.signal);
        return new Promise(() => undefined);
      },
    };
    const service = Object.assign(new Service(), { [managerProperty()]: endless });
    const waiting = service.patient().subscribe();
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    waiting.unsubscribe();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  it('fails when the key is busy, without running the method', async () => {
    await using _ = await elsewhere.acquire('stream');
    const service = serving(EMPTY);
    await expect(lastValueFrom(service.stream())).rejects.toThrow(LockBusyError);
    expect(service.calls).toBe(0);
    await expect(lastValueFrom(service.skipping())).resolves.toBeUndefined();
  });

  it('knows its lock while it is subscribed to', async () => {
    const source = defer(async () => LockManager.current()?.key);
    await expect(lastValueFrom(serving(source).stream())).resolves.toBe('stream');
  });

  it('ends with LockLostError as soon as the lock is lost, unless that is to be ignored', async () => {
    const endless = new Subject<string>();
    await expect(lastValueFrom(serving(endless).short())).rejects.toThrow(LockLostError);
    expect(endless.observed).toBe(false);

    const source = new Subject<string>();
    const result = lastValueFrom(serving(source).lax());
    while (!source.observed) await new Promise(setImmediate);
    while (await elsewhere.isLocked('short')) await new Promise(setImmediate);
    source.next('after the loss');
    source.complete();
    await expect(result).resolves.toBe('after the loss');
  });
});

describe('@WithLock refuses', () => {
  const onMethod = (define: () => unknown, message: RegExp): void => {
    expect(define).toThrow(LockOptionsError);
    expect(define).toThrow(message);
  };

  it('a static method', () => {
    onMethod(() => {
      class Service {
        @WithLock('key')
        static async run(): Promise<void> {}
      }
      return Service;
    }, /Service\.run.*static.*instance method/);
  });

  it('a method declared to return something synchronous', () => {
    onMethod(() => {
      class Service {
        // @ts-expect-error a method that is not async
        @WithLock('key')
        run(): string {
          return '';
        }
      }
      return Service;
    }, /Service\.run.*returns String.*make it async/);
  });

  it('a generator', () => {
    onMethod(() => {
      class Service {
        // @ts-expect-error a generator
        @WithLock('key')
        async *run(): AsyncGenerator<number> {
          yield 1;
        }
      }
      return Service;
    }, /generator/);
  });

  it('a second @WithLock on the same method, even through another wrapper', () => {
    const rewrap = (_target: object, _name: string, descriptor: PropertyDescriptor): void => {
      const inner = descriptor.value as () => unknown;
      descriptor.value = () => inner();
    };
    onMethod(() => {
      class Service {
        @WithLock('outer')
        @rewrap
        @WithLock('inner')
        async run(): Promise<void> {}
      }
      return Service;
    }, /already has @WithLock.*array of keys/);
  });

  it('what is not a method', () => {
    onMethod(() => {
      class Service {
        // @ts-expect-error a getter
        @WithLock('key')
        get run(): Promise<void> {
          return Promise.resolve();
        }
      }
      return Service;
    }, /not a method/);
  });

  it.each([
    ['an unreadable template', '{id}', {}],
    ['an empty list', [], {}],
    ['no key', undefined, {}],
    ['an unknown option', 'key', { tll: 5 }],
    ['a ttl of 0', 'key', { ttl: 0 }],
    ['an unknown onBusy', 'key', { onBusy: 'wait' }],
    ['a signal', 'key', { signal: new AbortController().signal }],
    ['an empty manager name', 'key', { manager: '' }],
    ['options that are no object', 'key', 5],
    ['options that are null', 'key', null],
  ])('%s, where it is written', (_, key, options) => {
    expect(() => WithLock(key as string, options as object)).toThrow(LockOptionsError);
  });

  it('by its types: sync methods, key functions of another shape, a signal', () => {
    const types = (): unknown => {
      class Service {
        // @ts-expect-error the key function takes a number, the method a string
        @WithLock((id: number) => `user:${id}`)
        async wrong(_id: string): Promise<void> {}
        // @ts-expect-error one signal for all calls
        @WithLock('key', { signal: new AbortController().signal })
        async signal(): Promise<void> {}
        @WithLock((id: string) => ['a', id])
        async fine(_id: string, _token: number): Promise<void> {}
      }
      return Service;
    };
    expect(types).toThrow(LockOptionsError);
  });

  it('a call on an instance that Nest did not make, saying what to import', async () => {
    class Service {
      @WithLock('key')
      async run(): Promise<void> {}
      @WithLock('key', { manager: 'billing' })
      async named(): Promise<void> {}
      @WithLock('key')
      stream(): Observable<number> {
        return of(1);
      }
    }
    const service = new Service();
    await expect(service.run()).rejects.toThrow(
      /Service\.run.*Nest did not make it.*DistributedLockModule\.forRoot\(\)/,
    );
    await expect(service.named()).rejects.toThrow(/forRoot\(\{ name: "billing" \}\)/);
    await expect(lastValueFrom(service.stream())).rejects.toThrow(/Nest did not make it/);
    await expect(Reflect.apply(service.run, undefined, [])).rejects.toThrow(/without its instance/);
  });

  it('a result that is not awaited by anyone, after releasing', async () => {
    class Service {
      @WithLock('sync')
      undeclared(): any {
        return 'now';
      }
      @WithLock('sync')
      unannotated(): any {
        return of(1);
      }
      @WithLock('sync')
      async promised(): Promise<Observable<number>> {
        return of(1);
      }
      @WithLock('sync')
      untrue(): Observable<number> {
        return 5 as unknown as Observable<number>;
      }
    }
    const service = made(Service);
    await expect(service.undeclared()).rejects.toThrow(/must be async/);
    await expect(service.unannotated()).rejects.toThrow(/Declare the return type Observable/);
    await expect(service.promised()).rejects.toThrow(/without a promise around it/);
    await expect(lastValueFrom(service.untrue())).rejects.toThrow(TypeError);
    await expect(manager.isLocked('sync')).resolves.toBe(false);
  });
});
