import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PgClient, PgResult } from '../../../lib/stores/postgres/pg-client.js';
import { Session } from '../../../lib/stores/postgres/session.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';

const HEARTBEAT_MS = 100;
const TIMEOUT_MS = 10_000;

/** Answers when the test says so. */
class Client extends EventEmitter {
  readonly asked: string[] = [];
  readonly #answers: ((result: PgResult) => void)[] = [];
  ended = false;

  query({ text }: { readonly text: string }): Promise<PgResult> {
    this.asked.push(text);
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  answer(): void {
    this.#answers.shift()?.({ rows: [{ pid: '1' }] });
  }

  async end(): Promise<void> {
    this.ended = true;
  }
}

describe('A session', () => {
  let runtime: ManualRuntime;
  let client: Client;
  let session: Session;
  let lost: Error | undefined;
  beforeEach(() => {
    runtime = new ManualRuntime();
    client = new Client();
    session = new Session(client as unknown as PgClient, { heartbeatMs: HEARTBEAT_MS, timeoutMs: TIMEOUT_MS }, runtime);
    lost = undefined;
    session.onLost = (reason) => (lost = reason);
  });

  async function answered(text: string): Promise<void> {
    const asked = session.ask({ text });
    client.answer();
    await asked;
  }

  it('asks one thing at a time, in order', async () => {
    const asked = [session.ask({ text: 'a' }), session.ask({ text: 'b' })];
    expect(client.asked).toEqual(['a']);
    client.answer();
    await asked[0];
    expect(client.asked).toEqual(['a', 'b']);
    client.answer();
    await asked[1];
  });

  it('asks for a sign of life when nothing else was asked for one heartbeat', async () => {
    await answered('a');
    await runtime.advance(HEARTBEAT_MS - 1);
    expect(client.asked).toHaveLength(1);
    await runtime.advance(1);
    expect(client.asked).toHaveLength(2);
    client.answer();
    await runtime.advance(HEARTBEAT_MS / 2);
    await answered('b');
    await runtime.advance(HEARTBEAT_MS - 1);
    expect(client.asked).toHaveLength(3);
    await runtime.advance(1);
    expect(client.asked).toHaveLength(4);
  });

  it('goes on with that after an answer that came late', async () => {
    const slow = session.ask({ text: 'slow' });
    await runtime.advance(HEARTBEAT_MS * 5.5);
    client.answer();
    await slow;
    await runtime.advance(HEARTBEAT_MS);
    expect(client.asked).toHaveLength(2);
  });

  it('is lost, and says so before it rejects what was asked, when an answer does not come in time', async () => {
    const order: string[] = [];
    session.onLost = () => order.push('lost');
    const asked = [session.ask({ text: 'a' }), session.ask({ text: 'b' })].map((one) =>
      one.catch((reason: Error) => order.push(reason.message)),
    );
    await runtime.advance(TIMEOUT_MS + 1);
    await Promise.all(asked);
    expect(order).toEqual(['lost', `no answer within ${TIMEOUT_MS} ms`, `no answer within ${TIMEOUT_MS} ms`]);
    expect(client.ended).toBe(true);
    expect(runtime.pendingTimers).toBe(0);
    await expect(session.ask({ text: 'c' })).rejects.toThrow('no answer');
  });

  it('looks for an answer once more after it stood still itself', async () => {
    const asked = session.ask({ text: 'a' });
    runtime.pause(TIMEOUT_MS * 2);
    await runtime.advance(0);
    expect(lost).toBeUndefined();
    client.answer();
    await asked;
    await runtime.advance(1);
    expect(lost).toBeUndefined();
  });

  it('is lost when the client reports an error or its end, and then hears no more of it', () => {
    client.emit('error', new Error('reset'));
    expect(lost?.message).toBe('reset');
    client.emit('error', new Error('once more'));
    expect(lost?.message).toBe('reset');
    client.emit('end');
    expect(client.eventNames()).toEqual([]);
  });
});
