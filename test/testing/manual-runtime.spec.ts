import { describe, expect, it } from '@jest/globals';
import { ManualRuntime } from '../../lib/testing/manual-runtime.js';

describe('ManualRuntime', () => {
  it('fires timers in the order they come due, each at its time, and in the order they were set where that is the same', async () => {
    const runtime = new ManualRuntime();
    const fired: [string, number][] = [];
    const set = (name: string, delayMs: number) =>
      runtime.timers.start(() => fired.push([name, runtime.clock.monotonic()]), delayMs);
    set('late', 200);
    set('early', 100);
    set('also early', 100);
    set('too late', 201);
    await runtime.advance(200);
    expect(fired).toEqual([
      ['early', 100],
      ['also early', 100],
      ['late', 200],
    ]);
    expect(runtime.pendingTimers).toBe(1);
  });

  it('lets everything settle that one timer set off before it fires the next', async () => {
    const runtime = new ManualRuntime();
    const steps: string[] = [];
    runtime.timers.start(() => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => steps.push('promise'));
      setImmediate(() => steps.push('immediate'));
    }, 1);
    runtime.timers.start(() => steps.push('next timer'), 2);
    await runtime.advance(2);
    expect(steps).toEqual(['promise', 'immediate', 'next timer']);
  });

  it('fires timers that timers set, if they come due in time', async () => {
    const runtime = new ManualRuntime();
    let ticks = 0;
    const tick = () => {
      ticks++;
      runtime.timers.start(tick, 10);
    };
    tick();
    await runtime.advance(100);
    expect(ticks).toBe(11);
  });

  it('cancels timers', async () => {
    const runtime = new ManualRuntime();
    let fired = false;
    const cancel = runtime.timers.start(() => (fired = true), 10);
    cancel();
    cancel();
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(100);
    expect(fired).toBe(false);
  });

  it('passes time without timers in a pause, and fires them late', async () => {
    const runtime = new ManualRuntime();
    const fired: number[] = [];
    runtime.timers.start(() => fired.push(runtime.clock.monotonic()), 10);
    runtime.pause(100);
    expect(runtime.clock.monotonic()).toBe(100);
    expect(fired).toEqual([]);
    await runtime.advance(0);
    expect(fired).toEqual([100]);
  });

  it('moves only the wall clock in a suspension, and when that clock is set', async () => {
    const runtime = new ManualRuntime(1000);
    runtime.suspend(50);
    expect([runtime.clock.monotonic(), runtime.clock.wall()]).toEqual([0, 1050]);
    runtime.skewWall(-200);
    expect([runtime.clock.monotonic(), runtime.clock.wall()]).toEqual([0, 850]);
    await runtime.advance(10);
    expect([runtime.clock.monotonic(), runtime.clock.wall()]).toEqual([10, 860]);
  });

  it('repeats its random numbers for a seed, never its ids', () => {
    const [first, second] = [new ManualRuntime(0, 7), new ManualRuntime(0, 7)];
    const numbers = (runtime: ManualRuntime) => Array.from({ length: 1000 }, () => runtime.random.fraction());
    const drawn = numbers(first);
    expect(drawn).toEqual(numbers(second));
    expect(drawn).not.toEqual(numbers(new ManualRuntime(0, 8)));
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
    expect(drawn.reduce((sum, number) => sum + number, 0) / drawn.length).toBeCloseTo(0.5, 1);
    expect(new Set([first, second, first].map(({ random }) => random.id())).size).toBe(3);
  });
});
