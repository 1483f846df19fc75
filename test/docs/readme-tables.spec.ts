import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { HttpException, Logger, type ArgumentsHost } from '@nestjs/common';
import * as api from 'nestjs-fenced-lock';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';
import { toSettings } from '../../lib/distributed-lock.options.js';
import { toMs } from '../../lib/duration.js';
import { toTerms } from '../../lib/lock.options.js';
import { propertyReader, root } from './compiler.js';
import { tables } from './markdown.js';

const all = tables(readFileSync(join(root, 'README.md'), 'utf8'));
const startingWith = (first: string) => all.filter(({ head }) => head[0] === first);
/** What a cell says in code, without the quotes of a text. */
const code = (cell: string): string => cell.replace(/`/g, '').replace(/^'(.*)'$/, '$1');

type Rows = ReadonlyMap<string, string>;
const [ofLock, ofModule] = startingWith('option').map(
  ({ rows }): Rows => new Map(rows.map(([option = '', value = '']) => [code(option), value])),
) as [Rows, Rows];

describe('the option tables of the README', () => {
  const propertiesOf = propertyReader(join(root, 'lib/index.ts'));

  it('name every option there is, once, and no other', () => {
    const options = (...types: string[]): string[] => [...new Set(types.flatMap(propertiesOf))].sort();
    const named = (index: number): string[] => startingWith('option')[index]!.rows.map(([option]) => code(option!));

    expect(named(0).sort()).toEqual(options('LockOptions', 'WithLockDecoratorOptions'));
    expect(named(1).sort()).toEqual(options('DistributedLockModuleOptions', 'DistributedLockModuleExtras'));
    expect(startingWith('option')).toHaveLength(2);
  });

  it('give the defaults of a lock', () => {
    const terms = toTerms(undefined);
    const ms = (option: string): number => toMs(option, Number(code(ofLock.get(option)!)));

    expect({ ttlMs: ms('ttl'), waitMs: ms('wait'), minHoldMs: ms('minHold') }).toEqual({
      ttlMs: terms.ttlMs,
      waitMs: terms.waitMs,
      minHoldMs: terms.minHoldMs,
    });
    for (const option of ['autoRenew', 'reentrant', 'onLost'] as const) {
      expect([option, code(ofLock.get(option)!)]).toEqual([option, String(terms[option])]);
    }
    expect([ofLock.get('maxHold'), terms.maxHoldMs]).toEqual(['none', Infinity]);
  });

  describe('give the defaults of the module:', () => {
    /** A Redis client that is connected and never answers. */
    function silentNode(): api.RedisClient {
      const silence = () => new Promise(() => undefined);
      const nothing = () => undefined;
      return {
        ...{ status: 'ready', evalsha: silence, eval: silence, script: silence },
        ...{ connect: silence, quit: silence, disconnect: nothing, on: nothing, off: nothing },
      };
    }

    const cell = (option: string, nodes: number): string => {
      const [several = '', one = ''] = ofModule.get(option)!.split(/, | with one node/);
      return code(nodes === 1 ? one : several);
    };

    it.each([1, 3])('nodeTimeout and quarantine with %i nodes', async (count) => {
      const runtime = new ManualRuntime();
      const nodes = Array.from({ length: count }, silentNode);
      const said: string[] = [];
      const ttlMs = 25_000;
      const opening = api.connectRedis({ nodes, ttlMs, log: (message) => said.push(message) }, runtime);
      await runtime.advance(ttlMs);
      const store = await opening;
      let error: unknown;
      const attempt = store.acquire('a', 'owner', 2 * ttlMs).catch((reason: unknown) => (error = reason));
      const nodeTimeoutMs = toMs('nodeTimeout', cell('nodeTimeout', count));

      await runtime.advance(nodeTimeoutMs - 1);
      expect(error).toBeUndefined();
      await runtime.advance(1);
      await attempt;
      expect(error).toBeInstanceOf(api.LockUnavailableError);

      // A lock that outlasts the quarantine, where there is one, is told of.
      const quarantine = cell('quarantine', count);
      const outlasted = expect.stringContaining(`outlasts the quarantine of ${ttlMs} ms`);
      expect(said).toEqual(quarantine === '0' ? [] : [outlasted]);
      expect(quarantine).toMatch(/^(0|the ttl)$/);
    });

    it('shutdownTimeout', async () => {
      const runtime = new ManualRuntime();
      const locks = new api.LockManager(new api.MemoryStore(runtime), {}, runtime);
      const endless = locks.withLock('a', (lock) => new Promise((_, reject) => (lock.signal.onabort = reject)));
      await runtime.advance(0);
      let down = false;
      const settled = Promise.allSettled([endless, locks.shutdown().then(() => (down = true))]);
      const limitMs = toMs('shutdownTimeout', code(ofModule.get('shutdownTimeout')!));

      // The last tenth is for giving keys back.
      await runtime.advance(limitMs * 0.9 - 1);
      expect(down).toBe(false);
      await runtime.advance(limitMs * 0.1 + 1);
      expect(down).toBe(true);
      await settled;
    });

    it('nodes and isGlobal', () => {
      expect(ofModule.get('nodes')).toBe(
        `\`${JSON.stringify(toSettings({}).source)
          .match(/\[.*\]/)![0]
          .replace(/"/g, "'")}\``,
      );
      expect(code(ofModule.get('isGlobal')!)).toBe(String(api.DistributedLockModule.forRoot().global));
    });
  });
});

describe('the error table of the README', () => {
  const failure = [{ node: 'a', reason: 'b' }];
  const examples: api.LockError[] = [
    new api.LockBusyError('a', 1, 0),
    new api.LockUnavailableError('a', failure),
    new api.LockShutdownError('a'),
    new api.LockLostError('a', 1, 'expired'),
    new api.LockReentryError('a'),
    new api.StaleTokenError('a', 1),
    new api.LockOptionsError('a', 1, 'b'),
  ];

  beforeAll(() => Logger.overrideLogger(false));

  function statusOf(error: api.LockError): number {
    const host = { getType: () => 'graphql' } as unknown as ArgumentsHost;
    try {
      new api.LockExceptionFilter().catch(error, host);
    } catch (answer) {
      if (answer instanceof HttpException) return answer.getStatus();
    }
    throw new Error(`no answer to ${error.name}`);
  }

  it('has a row for each error class that is exported, with its code and its HTTP status', () => {
    const [errors] = startingWith('error');
    const rows = errors!.rows.map(([name, constant, status]) => [code(name!), code(constant!), Number(status)]);
    expect(rows).toEqual(examples.map((error) => [error.name, error.code, statusOf(error)]));

    const exported = Object.entries(api).filter(([, value]) =>
      Object.prototype.isPrototypeOf.call(api.LockError, value),
    );
    expect(rows.map(([name]) => name).sort()).toEqual(exported.map(([name]) => name).sort());
  });
});
