import type { AcquireResult, LockStore } from 'nestjs-fenced-lock';

/** Lets everyone in, all with one token: what the shop would be without a lock. Only the sample's own test asks for it. */
export class BrokenStore implements LockStore {
  async acquire(): Promise<AcquireResult> {
    return { acquired: true, fencingToken: 1 };
  }

  async renew(): Promise<boolean> {
    return true;
  }

  async release(): Promise<boolean> {
    return true;
  }

  async raise(): Promise<boolean> {
    return true;
  }
}
