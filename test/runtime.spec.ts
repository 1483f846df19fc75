import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemRuntime } from '../lib/runtime.js';
import { referencedTimers } from './support/leaks.js';

const DAY_MS = 86_400_000;

describe('the timers of the system', () => {
  describe('over a long time', () => {
    beforeEach(() => void jest.useFakeTimers());
    afterEach(() => void jest.useRealTimers());

    it('fire after 30 days, not at once', () => {
      const fired = jest.fn();
      systemRuntime.timers.start(fired, 30 * DAY_MS);
      jest.advanceTimersByTime(30 * DAY_MS - 1);
      expect(fired).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1);
      expect(fired).toHaveBeenCalledTimes(1);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('never ask Node for a delay that it cannot count', () => {
      const asked = jest.spyOn(globalThis, 'setTimeout');
      systemRuntime.timers.start(() => undefined, 366 * DAY_MS);
      jest.advanceTimersByTime(366 * DAY_MS);
      expect(Math.max(...asked.mock.calls.map(([, delayMs]) => delayMs ?? 0))).toBeLessThan(2 ** 31);
      asked.mockRestore();
    });

    it('can be cancelled at any stage', () => {
      const fired = jest.fn();
      const cancel = systemRuntime.timers.start(fired, 60 * DAY_MS);
      jest.advanceTimersByTime(50 * DAY_MS);
      cancel();
      expect(jest.getTimerCount()).toBe(0);
      jest.advanceTimersByTime(60 * DAY_MS);
      expect(fired).not.toHaveBeenCalled();
    });
  });

  it('keep the process alive only when asked to', () => {
    const before = referencedTimers();
    const cancel = systemRuntime.timers.start(() => undefined, 60_000);
    expect(referencedTimers()).toBe(before);
    const cancelAwaited = systemRuntime.timers.start(() => undefined, 60_000, true);
    expect(referencedTimers()).toBe(before + 1);
    cancel();
    cancelAwaited();
    expect(referencedTimers()).toBe(before);
  });
});
