import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Redis } from 'ioredis';
import { connectAll, connectPlain, disconnectAll } from '../connections.js';
import type { Entrant } from '../entrant.js';
import { POLL_MS, type Locker, type LockerOptions } from '../locker.js';

/** Of bench/package.json: untyped, so that the bench compiles where the peers are not installed. */
export const require = createRequire(new URL('../package.json', import.meta.url));

type Locks = Pick<Locker, 'lock' | 'close'>;

/** Another package that locks. */
export function peer(
  id: string,
  name: string,
  open: (options: LockerOptions) => Promise<Locks>,
  { usesContext = false } = {},
): Entrant {
  return {
    id,
    peerName: name,
    usesContext,
    open: async (options) => {
      if (!isInstalled(id)) throw new Error('not installed');
      return { name, role: 'peer', ...(await open(options)) };
    },
  };
}

/** One that is given ioredis clients: they are the same for all. */
export function ioredisPeer(
  id: string,
  name: string,
  lockOf: (clients: readonly Redis[], options: LockerOptions) => Promise<Locker['lock']> | Locker['lock'],
): Entrant {
  return peer(id, name, async (options) => {
    const clients = await (options.plain ? connectPlain : connectAll)(options.urls);
    return { lock: await lockOf(clients, options), close: () => disconnectAll(clients) };
  });
}

export function isInstalled(id: string): boolean {
  try {
    require.resolve(id);
    return true;
  } catch {
    return false;
  }
}

/** For packages that are ES modules only. */
export async function load(id: string): Promise<any> {
  return import(pathToFileURL(require.resolve(id)).href);
}

/** How often it polls, as its own options say it: nothing where it does as it does by itself. */
export function pace<T extends object>({ poll = POLL_MS }: LockerOptions, options: (ms: number) => T): Partial<T> {
  return poll === 'own' ? {} : options(poll);
}

/** As many attempts as a package may make that waits. */
export const FOR_EVER = 1_000_000;
