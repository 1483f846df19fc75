import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.js';
import { expectNoTimers, referencedTimers, TimerWatch } from './leaks.js';

describe('TimerWatch', () => {
  let watch: TimerWatch;
  beforeEach(() => {
    watch = new TimerWatch();
  });
  afterEach(() => watch.stop());

  it('finds a timer that keeps no process alive, and where it was set', async () => {
    const before = referencedTimers();
    const timer = setTimeout(() => undefined, 60_000).unref();
    expect(referencedTimers()).toBe(before);
    await expect(expectNoTimers(watch)).rejects.toThrow(/1 timers are still active[\s\S]*leaks\.spec/);
    clearTimeout(timer);
    await expectNoTimers(watch);
  });

  it('does not count a timer that has fired, and counts an interval until it is cleared', async () => {
    let ticks = 0;
    const interval = setInterval(() => ticks++, 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await eventually(() => expect(ticks).toBeGreaterThan(1));
    expect(await watch.active('leaks.spec')).toHaveLength(1);
    clearInterval(interval);
    await expectNoTimers(watch);
  });
});

describe('A timer that was set before the watch began', () => {
  it('is not counted, nor is what it sets, over and over', async () => {
    let rounds = 0;
    let cancel: () => void = () => undefined;
    const again = (): void => {
      rounds++;
      const timer = setTimeout(again, 1);
      cancel = () => clearTimeout(timer);
    };
    again();
    const watch = new TimerWatch();
    await eventually(() => expect(rounds).toBeGreaterThan(3));
    expect(await watch.active('leaks.spec')).toEqual([]);
    const own = setTimeout(() => undefined, 60_000);
    expect(await watch.active('leaks.spec')).toHaveLength(1);
    clearTimeout(own);
    cancel();
    watch.stop();
  });
});

describe('eventually', () => {
  it('returns what the assertion returned once it holds', async () => {
    let calls = 0;
    const result = await eventually(() => {
      expect(++calls).toBe(3);
      return 'held';
    });
    expect(result).toBe('held');
  });

  it('fails with the last error of an assertion that never holds', async () => {
    await expect(eventually(() => expect('never').toBe('held'), { timeoutMs: 30 })).rejects.toThrow('never');
  });
});
