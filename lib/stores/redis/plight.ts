import { createConnection } from 'node:net';
import type { Timers } from '../../runtime.js';
import { inTime } from './in-time.js';
import type { RedisClient } from './redis-client.js';

/** A server that is up answers at once. */
const LONGEST_MS = 100;

/** What is wrong with a node, where its client keeps that to itself. */
export class Plight {
  /** What to hear of before a client is ready. */
  readonly event: string;

  constructor(
    private readonly client: RedisClient,
    private readonly timers: Timers,
  ) {
    // A client of a Cluster tells that it is connected only when it may have given up again.
    this.event = client.isCluster ? 'refresh' : 'connect';
  }

  /** Why a node that is up does nothing: a client waits until the node has read its data, and asks a Cluster that is down again and again. */
  idle(): Promise<string | undefined> {
    return this.#state().catch(() => undefined); // then the client has an error to tell, too
  }

  /** The same, for who cannot wait long. */
  idleNow(): Promise<string | undefined> {
    return this.#inTime(this.idle());
  }

  /** Why a server hangs up. Whoever says something at once, as clients do, may not get to read it. */
  refusal(): Promise<string | undefined> {
    const { host = 'localhost', port = 6379, tls, path, sentinels } = (this.client.options ?? {}) as Address;
    if (this.client.isCluster || tls || path || sentinels) return Promise.resolve(undefined);
    const socket = createConnection({ host, port });
    const heard = new Promise<string | undefined>((resolve) => {
      socket.once('data', (bytes) => resolve(/^-(.*)/.exec(bytes.toString())?.[1]));
      socket.once('error', () => resolve(undefined)).once('close', () => resolve(undefined));
    });
    return this.#inTime(heard).finally(() => socket.destroy());
  }

  async #state(): Promise<string | undefined> {
    const { client } = this;
    if (!client.isCluster) {
      const text = String(await client.info?.('persistence'));
      return text.includes('loading:1') ? 'LOADING Redis is loading the dataset in memory' : undefined;
    }
    // Without a server the question would wait for one.
    if (!client.nodes?.('master').length) return undefined;
    const text = String(await client.cluster?.('INFO'));
    return text.includes('cluster_state:fail') ? 'CLUSTERDOWN The cluster is down' : undefined;
  }

  #inTime(asked: Promise<string | undefined>): Promise<string | undefined> {
    return inTime(asked, LONGEST_MS, this.timers).catch(() => undefined);
  }
}

interface Address {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: unknown;
  readonly path?: unknown;
  readonly sentinels?: unknown;
}
