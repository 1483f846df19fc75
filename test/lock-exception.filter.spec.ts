import { describe, expect, it, jest } from '@jest/globals';
import { HttpException, Logger, type ArgumentsHost } from '@nestjs/common';
import { lastValueFrom, type Observable } from 'rxjs';
import {
  LockBusyError,
  LockExceptionFilter,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockShutdownError,
  LockUnavailableError,
  StaleTokenError,
  type LockError,
} from 'nestjs-fenced-lock';

Logger.overrideLogger(false);

const KEY = 'secret-key';
const busy = (ms?: number): LockError => new LockBusyError(KEY, ms, 0);
const unavailable = new LockUnavailableError(KEY, [{ node: 'secret-node', reason: 'timeout' }]);
const stale = new StaleTokenError('secret-resource', 4711);
const others = [
  new LockLostError(KEY, 4711, 'expired', 'secret-result'),
  new LockReentryError(KEY),
  new LockOptionsError('ttl', 'secret-value', 'do so.'),
];

function contextOf(type: string, ...args: unknown[]): ArgumentsHost {
  return {
    getType: () => type,
    getArgs: () => args,
    getArgByIndex: (index: number) => args[index],
    switchToWs: () => ({ getClient: () => args[0] }),
  } as unknown as ArgumentsHost;
}

function answer(
  error: LockError,
  headersSent = false,
): { status?: number; headers: object; body?: unknown; ended?: boolean } {
  const sent: { status?: number; headers: Record<string, string>; body?: unknown; ended?: boolean } = { headers: {} };
  const adapter = {
    isHeadersSent: () => headersSent,
    setHeader: (_: unknown, name: string, value: string) => void (sent.headers[name] = value),
    reply: (_: unknown, body: unknown, status: number) => void Object.assign(sent, { body, status }),
    end: () => void (sent.ended = true),
  };
  new LockExceptionFilter(adapter as never).catch(error, contextOf('http', {}, {}));
  return sent;
}

describe('LockExceptionFilter over HTTP', () => {
  it('answers a busy key with 409 and whole seconds to wait, at least one', () => {
    for (const [ms, seconds] of [
      [undefined, '1'],
      [0, '1'],
      [1, '1'],
      [1000, '1'],
      [1001, '2'],
      [29_500, '30'],
    ] as const) {
      expect(answer(busy(ms))).toEqual({
        status: 409,
        headers: { 'Retry-After': seconds },
        body: { statusCode: 409, error: 'Conflict', message: expect.any(String) },
      });
    }
  });

  it('answers a store out of reach and a shutdown with 503', () => {
    for (const error of [unavailable, new LockShutdownError(KEY)]) {
      expect(answer(error)).toMatchObject({ status: 503, headers: { 'Retry-After': '1' }, body: { statusCode: 503 } });
    }
  });

  it('answers a write that came too late with 409, and does not ask to repeat it', () => {
    expect(answer(stale)).toMatchObject({ status: 409, headers: {} });
  });

  it.each(others)('answers $name with a plain 500', (error) => {
    expect(answer(error)).toEqual({
      status: 500,
      headers: {},
      body: { statusCode: 500, message: 'Internal server error' },
    });
  });

  it('does not answer twice', () => {
    expect(answer(busy(5000), true)).toEqual({ headers: {}, ended: true });
  });
});

describe('LockExceptionFilter elsewhere', () => {
  const filter = new LockExceptionFilter();

  it('fails a message with the shape that microservices expect', async () => {
    const result = filter.catch(busy(), contextOf('rpc', {}, {})) as Observable<unknown>;
    await expect(lastValueFrom(result)).rejects.toEqual({ status: 'error', message: expect.any(String) });
  });

  it('sends an exception event to a ws client, and to a socket.io client', () => {
    const send = jest.fn<(text: string) => void>();
    const emit = jest.fn();
    filter.catch(busy(), contextOf('ws', { readyState: 1, send, emit }));
    filter.catch(busy(), contextOf('ws', { emit }));
    const data = { status: 'error', message: expect.any(String) };
    expect(JSON.parse(send.mock.calls[0]?.[0] ?? '')).toEqual({ event: 'exception', data });
    expect(emit.mock.calls).toEqual([['exception', data]]);
  });

  it('throws on in any other context, such as GraphQL', () => {
    expect(() => filter.catch(busy(), contextOf('graphql', {}))).toThrow(HttpException);
  });
});

describe('LockExceptionFilter', () => {
  it.each([busy(), unavailable, stale, ...others])('shows nothing internal of $name in any context', async (error) => {
    const seen: unknown[] = [answer(error)];
    const client = { emit: (_: string, data: unknown) => void seen.push(data) };
    const filter = new LockExceptionFilter();
    filter.catch(error, contextOf('ws', client));
    await lastValueFrom(filter.catch(error, contextOf('rpc')) as Observable<unknown>).catch((e: unknown) =>
      seen.push(e),
    );
    try {
      filter.catch(error, contextOf('graphql'));
    } catch (thrown) {
      seen.push((thrown as HttpException).getResponse(), (thrown as Error).message, (thrown as Error).cause);
    }
    expect(seen).toHaveLength(6);
    expect(JSON.stringify(seen)).not.toMatch(/secret|4711/);
  });
});
