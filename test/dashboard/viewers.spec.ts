import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';
import { Viewers, type Compose } from '../../lib/dashboard/viewers.js';
import { FakeResponse } from './fake-response.js';

let runtime: ManualRuntime;
let viewers: Viewers;
let table: number;
let composed: number;

beforeEach(() => {
  runtime = new ManualRuntime();
  viewers = new Viewers(runtime.clock);
  table = 0;
  composed = 0;
});

const compose: Compose = (from) => {
  composed++;
  return { json: JSON.stringify([from.table ?? null, table]), to: { ...from, table } };
};

function tell(): void {
  table++;
  viewers.tell(compose);
}

function join(response = new FakeResponse()): FakeResponse {
  viewers.add(response.asResponse);
  return response;
}

describe('Those who watch', () => {
  it('get an event stream that no proxy holds back, on a connection that ends with it', () => {
    expect(join().head).toEqual([
      200,
      {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
        'X-Content-Type-Options': 'nosniff',
        Connection: 'close',
      },
    ]);
    const response = new FakeResponse();
    response.req.httpVersionMajor = 2;
    expect(join(response).head![1]).not.toHaveProperty('Connection');
  });

  it('are told from where they are, and composed for once where that is the same', () => {
    const early = join();
    tell();
    const [late, later] = [join(), join()];
    tell();
    expect(early.updates).toEqual([
      [null, 1],
      [1, 2],
    ]);
    expect([late.updates, later.updates]).toEqual([[[null, 2]], [[null, 2]]]);
    expect(composed).toBe(3);
  });

  it('are sent nothing while they do not keep up, and then what they missed as one', () => {
    const slow = join();
    slow.keepsUp = false;
    for (let round = 0; round < 100; round++) tell();
    expect(slow.updates).toEqual([[null, 1]]);
    slow.catchUp();
    tell();
    expect(slow.updates).toEqual([
      [null, 1],
      [1, 101],
    ]);
  });

  it('are given up when they have read nothing for half a minute', () => {
    const stuck = join();
    stuck.keepsUp = false;
    tell();
    runtime.pause(30_000);
    tell();
    expect(stuck.destroyed).toBe(false);
    runtime.pause(1);
    tell();
    expect(stuck.destroyed).toBe(true);
    expect(viewers.any).toBe(false);
  });

  it('are forgotten when they leave, also before they are answered', () => {
    const gone = join();
    gone.destroy();
    const never = new FakeResponse();
    never.destroyed = true;
    join(never);
    expect(viewers.any).toBe(false);
    tell();
    expect([gone.written, never.written]).toEqual([[], []]);
  });

  it('are not more than fifty', () => {
    for (let count = 0; count < 49; count++) join();
    expect(viewers.isFull).toBe(false);
    const last = join();
    expect(viewers.isFull).toBe(true);
    last.destroy();
    expect(viewers.isFull).toBe(false);
  });

  it('are all let go at the end, and those who do not read cut off', () => {
    const [reader, stuck] = [join(), join()];
    stuck.keepsUp = false;
    tell();
    viewers.end();
    expect([reader.writableEnded, reader.destroyed]).toEqual([true, false]);
    expect([stuck.writableEnded, stuck.destroyed]).toEqual([true, true]);
    expect(viewers.any).toBe(false);
  });
});
