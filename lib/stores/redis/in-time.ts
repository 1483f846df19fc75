import type { Timers } from '../../runtime.js';

/** The answer, or a rejection when it takes longer than this. */
export function inTime<T>(answer: Promise<T>, limitMs: number, timers: Timers): Promise<T> {
  let cancel: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = timers.start(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs, true);
  });
  return Promise.race([answer, late]).finally(cancel);
}
