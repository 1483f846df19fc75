import { LockOptionsError } from '../../errors.js';
import type { Timers } from '../../runtime.js';
import { inTime } from './in-time.js';
import { keyOf, lockPattern } from './key-names.js';
import type { NodeScan } from './lock-node.js';
import type { RedisClient } from './redis-client.js';
import { serversOf } from './servers.js';

/** A look by people may take its time; nothing that holds a lock waits for it. */
const TIMEOUT_MS = 2000;
const CURSOR = /^(?:(\d{1,5}):(\d{1,20}))?$/;

/** Goes over the locks of a Redis with SCAN, which never holds it up; over those of a Cluster primary by primary. */
export class KeyScan {
  constructor(
    private readonly client: RedisClient,
    /** What the client puts before each key, but not before a pattern. */
    private readonly clientPrefix: string,
    private readonly timers: Timers,
  ) {}

  /** The cursor is the place of a server among all, and its own cursor. */
  async next(prefix: string, cursor: string, count: number): Promise<NodeScan> {
    const [match, place = '0', from = '0'] = CURSOR.exec(cursor) ?? [];
    if (match === undefined) throw new LockOptionsError('cursor', cursor, 'give the cursor of the page before.');
    if (this.client.status !== 'ready') throw new Error('not connected');
    const servers = serversOf(this.client);
    const server = servers[Number(place)];
    if (!server) return { keys: [], cursor: '' };
    const args = ['MATCH', lockPattern(this.clientPrefix, prefix), 'COUNT', String(count)];
    const [next, names] = await inTime(server.scan!(from, ...args), TIMEOUT_MS, this.timers);
    const keys = names.map((name) => keyOf(this.clientPrefix, name));
    if (next !== '0') return { keys, cursor: `${place}:${next}` };
    const after = Number(place) + 1;
    return { keys, cursor: after < servers.length ? `${after}:0` : '' };
  }
}
