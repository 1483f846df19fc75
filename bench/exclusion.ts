import type { Locker } from './locker.js';

const KEY = 'bench:exclusion';

/** Throws unless two of a kind, each with its own connection, keep each other out, and let each other in afterwards. */
export async function proveExclusion(open: () => Promise<Locker>): Promise<void> {
  const holder = await open();
  const rival = await open();
  try {
    await holder.lock(KEY, async () => {
      if (await enters(rival)) throw new Error(`${holder.name} does not exclude: two held ${KEY} at once`);
    });
    await rival.lock(KEY);
  } finally {
    await Promise.all([holder.close(), rival.close()]);
  }
}

async function enters(rival: Locker): Promise<boolean> {
  return rival.lock(KEY).then(
    () => true,
    () => false,
  );
}
