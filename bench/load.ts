import type { Locker } from './locker.js';

const AT_ONCE = 500;

/** Takes so many keys, each once, or over and over if there are fewer. */
export async function use(operation: (index: number) => Promise<void>, times: number): Promise<void> {
  for (let first = 0; first < times; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, times - first);
    await Promise.all(Array.from({ length: size }, (_, index) => operation(first + index)));
  }
}

/** Takes so many keys and keeps them until told. */
export async function hold(locker: Locker, count: number): Promise<() => Promise<void>> {
  let giveBack = (): void => undefined;
  const told = new Promise<void>((resolve) => (giveBack = resolve));
  const all: Promise<void>[] = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - first);
    const taken = Array.from({ length: size }, (_, index) => {
      return new Promise<void>((held, refused) => {
        const work = (): Promise<void> => (held(), told);
        all.push(locker.lock(`bench:held:${first + index}`, work));
        all.at(-1)!.catch(refused);
      });
    });
    await Promise.all(taken);
  }
  return async () => {
    giveBack();
    await Promise.all(all);
  };
}
