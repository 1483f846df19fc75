import { LockOptionsError } from '../../errors.js';
import type { Timers } from '../../runtime.js';
import { keyOf, lockPattern } from './key-names.js';
import type { NodeScan } from './lock-node.js';
import type { RedisClient } from './redis-client.js';

/** One server to be scanned: a lone Redis, or a primary of a Cluster. */
interface Server {
  readonly options?: object;
  scan(cursor: string, ...args: string[]): Promise<[string, string[]]>;
}

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
    const servers = this.#servers();
    const server = servers[Number(place)];
    if (!server) return { keys: [], cursor: '' };
    const args = ['MATCH', lockPattern(this.clientPrefix, prefix), 'COUNT', String(count)];
    const [next, names] = await this.#inTime(server.scan(from, ...args));
    const keys = names.map((name) => keyOf(this.clientPrefix, name));
    if (next !== '0') return { keys, cursor: `${place}:${next}` };
    const after = Number(place) + 1;
    return { keys, cursor: after < servers.length ? `${after}:0` : '' };
  }

  /** Always in the same order, as long as the Cluster does not change. */
  #servers(): Server[] {
    const { client } = this;
    if (!client.isCluster) return [client as unknown as Server];
    const primaries = (client.nodes?.('master') ?? []) as Server[];
    return [...primaries].sort((one, other) => (addressOf(one) < addressOf(other) ? -1 : 1));
  }

  async #inTime<T>(asked: Promise<T>): Promise<T> {
    let cancel: () => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error(`no answer within ${TIMEOUT_MS} ms`));
      cancel = this.timers.start(giveUp, TIMEOUT_MS, true);
    });
    return Promise.race([asked, late]).finally(cancel);
  }
}

function addressOf({ options }: Server): string {
  const { host = '', port = '' } = (options ?? {}) as { host?: string; port?: number };
  return `${host}:${port}`;
}
