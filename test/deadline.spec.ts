import { describe, expect, it } from '@jest/globals';
import { Deadline, elapsed, now, validity } from '../lib/deadline.js';
import { ManualRuntime } from '../lib/testing/manual-runtime.js';

function deadlineOf(ms: number) {
  const runtime = new ManualRuntime();
  return { runtime, deadline: new Deadline(runtime.clock, now(runtime.clock), ms) };
}

describe('Deadline', () => {
  it('comes nearer as time passes, and is behind us afterwards', () => {
    const { runtime, deadline } = deadlineOf(1000);
    expect(deadline.remaining).toBe(1000);
    runtime.pause(400);
    expect(deadline.remaining).toBe(600);
    runtime.pause(700);
    expect(deadline.remaining).toBe(-100);
  });

  it('counts the time a suspended machine slept', () => {
    const { runtime, deadline } = deadlineOf(1000);
    runtime.suspend(900);
    expect(deadline.remaining).toBe(100);
    runtime.pause(50);
    expect(deadline.remaining).toBe(50);
  });

  it('is not moved away by a wall clock that is set back', () => {
    const { runtime, deadline } = deadlineOf(1000);
    runtime.skewWall(-3_600_000);
    expect(deadline.remaining).toBe(1000);
    runtime.pause(600);
    expect(deadline.remaining).toBe(400);
  });

  it('tells timers when, on the monotonic clock', () => {
    const { runtime } = deadlineOf(0);
    runtime.pause(5000);
    expect(new Deadline(runtime.clock, now(runtime.clock), 1000).on(now(runtime.clock))).toBe(6000);
  });

  it('may lie further ahead than a timer can reach', () => {
    const month = 30 * 86_400_000;
    const { runtime, deadline } = deadlineOf(month);
    runtime.pause(month - 1);
    expect(deadline.remaining).toBe(1);
  });

  it('may never come', () => {
    const { runtime, deadline } = deadlineOf(Number.POSITIVE_INFINITY);
    runtime.pause(1e12);
    expect(deadline.remaining).toBe(Number.POSITIVE_INFINITY);
    expect(deadline.on(now(runtime.clock))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('elapsed', () => {
  it('is what the faster of both clocks says', () => {
    const runtime = new ManualRuntime();
    const start = now(runtime.clock);
    expect(elapsed(runtime.clock, start)).toBe(0);
    runtime.pause(100);
    expect(elapsed(runtime.clock, start)).toBe(100);
    runtime.skewWall(-40);
    expect(elapsed(runtime.clock, start)).toBe(100);
    runtime.skewWall(70);
    expect(elapsed(runtime.clock, start)).toBe(130);
  });
});

describe('validity', () => {
  it('leaves a part of the ttl to clocks that run at different speeds', () => {
    expect(validity(30_000)).toBe(29_698);
    expect(validity(10)).toBeCloseTo(7.9);
  });
});
