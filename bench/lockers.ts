import { openBarePair } from './bare-pair.js';
import { isLocker, type Locker, type LockerOptions } from './locker.js';
import { acquireAndRelease, openManager, redisNodes, withLock } from './ours.js';
import { PEERS } from './peers.js';

export interface OpenLockers {
  readonly lockers: readonly [Locker, ...Locker[]];
  readonly close: () => Promise<void>;
}

/** Opens all contenders, the bare pair first; those that cannot run here are told. */
export async function openLockers(options: LockerOptions, skipped: (line: string) => void): Promise<OpenLockers> {
  const manager = await openManager(redisNodes(options.urls));
  const ours = [acquireAndRelease(manager, options), ...(options.waits ? [] : [withLock(manager)])];
  const peers: Locker[] = [];
  for (const peer of PEERS) {
    const opened = await peer.open(options);
    if (isLocker(opened) && (await works(opened, skipped))) peers.push(opened);
    else if (!isLocker(opened)) skipped(`${opened.name}: ${opened.reason}`);
  }
  const baseline = await openBarePair(options);
  return {
    lockers: [baseline, ...ours, ...peers],
    close: async () => {
      await Promise.all([baseline, manager, ...peers].map((each) => each.close()));
    },
  };
}

/** One lock, to see that it runs on this Node and this client at all. */
async function works(locker: Locker, skipped: (line: string) => void): Promise<boolean> {
  try {
    await locker.lock('bench:trial');
    return true;
  } catch (error) {
    skipped(`${locker.name}: ${String(error)}`);
    await locker.close();
    return false;
  }
}
