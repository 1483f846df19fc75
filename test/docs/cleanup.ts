import { afterEach } from '@jest/globals';

/** Takes what is to be closed after each test of the `describe` it is called in; the latest first. */
export function cleanup(): (close: () => Promise<unknown>) => void {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  return (close) => void closers.push(close);
}
