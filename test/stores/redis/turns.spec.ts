import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Moment } from '../../../lib/deadline.js';
import type { Channels, Heard } from '../../../lib/stores/redis/channels.js';
import { TURN_MS } from '../../../lib/stores/redis/node-lua.js';
import { Turns } from '../../../lib/stores/redis/turns.js';

const TTL_MS = 30_000;
const CHANNEL = 'app:lock:turn:p';
const sentAt: Moment = { monotonic: 1000, wall: 1_000_000 };
const later = (ms: number): Moment => ({ monotonic: sentAt.monotonic + ms, wall: sentAt.wall + ms });

describe('Turns', () => {
  let opened: Map<string, Heard>;
  let live: Set<string>;
  let turns: Turns;
  let woken: string[];
  const wakes = (name: string) => ({ wake: () => void woken.push(name) });
  const say = (message?: string): void => opened.get(CHANNEL)!(message);

  beforeEach(() => {
    opened = new Map();
    live = new Set();
    woken = [];
    turns = new Turns({
      prefix: 'app:',
      open: (channel: string, heard: Heard) => void opened.set(channel, heard),
      isOpen: (channel: string) => opened.has(channel),
      isLive: (channel: string) => live.has(channel),
    } as unknown as Channels);
    turns.listen('p/first', () => undefined);
    live.add(CHANNEL);
  });

  it('are heard on one channel for each process, which is opened once, under the prefix of its keys', () => {
    expect([...opened.keys()]).toEqual([CHANNEL]);
    const heard = opened.get(CHANNEL);
    turns.listen('p/second', () => undefined);
    expect(opened.get(CHANNEL)).toBe(heard);
    turns.listen('q/first', () => undefined);
    expect([...opened.keys()]).toEqual([CHANNEL, 'app:lock:turn:q']);
  });

  it('are expected only while they can be heard', () => {
    live.clear();
    expect(turns.expect('p/a', sentAt, TTL_MS, wakes('a'))).toBe(false);
    live.add(CHANNEL);
    expect(turns.expect('p/a', sentAt, TTL_MS, wakes('a'))).toBe(true);
    expect(turns.expect('q/a', sentAt, TTL_MS, wakes('a'))).toBe(false);
  });

  it('wake whose they are, and nobody else, and are taken once', () => {
    for (const name of ['a', 'b']) turns.expect(`p/${name}`, sentAt, TTL_MS, wakes(name));
    say('p/b 1800000000000001 key');
    expect(woken).toEqual(['b']);
    expect(turns.take('p/a', later(1))).toBeUndefined();
    const turn = { fencingToken: 1_800_000_000_000_001, sentAt, leaseMs: TURN_MS };
    expect(turns.take('p/b', later(1))).toEqual(turn);
    expect(turns.take('p/b', later(1))).toBeUndefined();
  });

  it('are not relied on once a third of their time may be over, counted from before the attempt was sent', () => {
    // Whoever was paused, or stood in line for long, cannot know how much is left.
    for (const [ms, isTaken] of [
      [TURN_MS / 3 - 100, true],
      [TURN_MS / 3, false],
      [TURN_MS * 10, false],
    ] as const) {
      turns.expect('p/a', sentAt, TTL_MS, wakes('a'));
      say('p/a 5 key');
      expect(turns.take('p/a', later(ms)) !== undefined).toBe(isTaken);
    }
    turns.expect('p/a', sentAt, TTL_MS, wakes('a'));
    say('p/a 5 key');
    // A machine that was suspended: only the wall clock went on.
    expect(turns.take('p/a', { ...sentAt, wall: sentAt.wall + TURN_MS })).toBeUndefined();
  });

  it('last no longer than their lock', () => {
    const ttlMs = TURN_MS / 10;
    for (const [ms, isTaken] of [
      [ttlMs / 3 - 20, true],
      [ttlMs / 3, false],
    ] as const) {
      turns.expect('p/a', sentAt, ttlMs, wakes('a'));
      say('p/a 5 key');
      expect(turns.take('p/a', later(ms))).toEqual(isTaken ? { fencingToken: 5, sentAt, leaseMs: ttlMs } : undefined);
    }
  });

  it('without a token are only to be asked for', () => {
    turns.expect('p/a', sentAt, TTL_MS, wakes('a'));
    say('p/a  key');
    expect(woken).toEqual(['a']);
    expect(turns.take('p/a', later(1))).toBeUndefined();
  });

  it('of an attempt that was given up, or is followed by another, are nobody’s', () => {
    for (const name of ['a', 'b']) turns.expect(`p/${name}`, sentAt, TTL_MS, wakes(name));
    turns.forget('p/a');
    turns.take('p/b', later(1));
    for (const name of ['a', 'b', 'never']) say(`p/${name} 5 key`);
    expect(woken).toEqual([]);
    for (const name of ['a', 'b', 'never']) expect(turns.take(`p/${name}`, later(1))).toBeUndefined();
  });

  it('that nobody expects are given up, under the name of their key, and those that are expected are not', () => {
    const unwanted: string[] = [];
    turns.unwanted = (key, owner) => void unwanted.push(`${owner} of ${key}`);
    turns.expect('p/a', sentAt, TTL_MS, wakes('a'));
    turns.expect('p/b', sentAt, TTL_MS, wakes('b'));
    turns.forget('p/b');
    say('p/a 5 one key');
    say('p/b 6 with %7B %25 %7D');
    say('p/c  another');
    // What others may say there.
    for (const noise of ['', ' ', 'p/d', 'p/d 7']) say(noise);
    expect(unwanted).toEqual(['p/b of with { % }', 'p/c of another']);
    expect(woken).toEqual(['a']);
  });

  it('may have been missed when the channel begins to be heard: whoever expects one, or waits to stand in line, is woken', () => {
    const stop = turns.listen('p/b', wakes('b').wake);
    turns.expect('p/a', sentAt, TTL_MS, wakes('a'));
    say();
    expect(woken.sort()).toEqual(['a', 'b']);
    stop();
    turns.forget('p/a');
    say();
    expect(woken).toHaveLength(2);
  });
});
