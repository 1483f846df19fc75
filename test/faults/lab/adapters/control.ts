import type { OpenLocks } from '../adapter.js';

/** No lock at all: what the lab must see. */
export const noLock: OpenLocks = async () => ({
  run: (_key, work) => work({ held: () => true, onLost: () => undefined }),
  close: async () => undefined,
});
