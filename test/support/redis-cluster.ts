import { Cluster, Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { startRedisNodes, stopAll, type RedisServer } from './redis-server.js';

const SLOTS = 16_384;
/** How soon a primary that is gone is replaced. */
const NODE_TIMEOUT_MS = 1500;

export interface RedisClusterOptions {
  primaries?: number;
  /** As many more servers, one for each primary: `replicaOf` says which is whose. */
  replicas?: boolean;
  /** More arguments for each redis-server. */
  args?: string[];
}

/** A real Redis Cluster, whose primaries share the slots. */
export class RedisCluster {
  private constructor(
    readonly servers: readonly RedisServer[],
    readonly primaries: number,
  ) {}

  static async start({ primaries = 3, replicas = false, args = [] }: RedisClusterOptions = {}): Promise<RedisCluster> {
    const count = replicas ? 2 * primaries : primaries;
    const settings = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(NODE_TIMEOUT_MS), ...args];
    const servers = await startRedisNodes(count, { args: settings });
    const admins = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
    try {
      for (const [index, admin] of admins.entries()) {
        const [first, next] = [index, index + 1].map((place) => Math.floor((place * SLOTS) / primaries));
        if (index < primaries) await admin.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(next! - 1));
        if (index > 0) await admin.call('CLUSTER', 'MEET', '127.0.0.1', String(servers[0]!.port));
      }
      await Promise.all(admins.map((admin) => knows(admin, count)));
      for (const [index, admin] of admins.entries()) {
        if (index < primaries) continue;
        await admin.call('CLUSTER', 'REPLICATE', String(await admins[index - primaries]!.call('CLUSTER', 'MYID')));
      }
      await Promise.all(admins.slice(primaries).map(isInStep));
      await Promise.all(admins.map((admin) => knowsReplicas(admin, count - primaries)));
    } catch (error) {
      await stopAll([...servers]);
      throw error;
    } finally {
      for (const admin of admins) admin.disconnect();
    }
    return new RedisCluster(servers, primaries);
  }

  /** Where clients begin to look for the others. */
  get addresses(): { host: string; port: number }[] {
    return this.servers.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** A client that knows all of them. */
  async connect(keyPrefix = ''): Promise<Cluster> {
    const client = new Cluster(this.addresses, { keyPrefix, lazyConnect: true });
    await client.connect();
    return client;
  }

  /** The server that has the slot of this name, among those that were primaries at first. */
  async primaryOf(name: string): Promise<RedisServer> {
    const slot = await this.slotOf(name);
    return this.servers.find((_, index) => slot < Math.floor(((index + 1) * SLOTS) / this.primaries))!;
  }

  async slotOf(name: string): Promise<number> {
    const admin = new Redis(this.servers.find(({ running }) => running)!.port, '127.0.0.1');
    return Number(await admin.call('CLUSTER', 'KEYSLOT', name).finally(() => admin.disconnect()));
  }

  replicaOf(primary: RedisServer): RedisServer {
    return this.servers[this.servers.indexOf(primary) + this.primaries]!;
  }

  async stop(): Promise<void> {
    await stopAll([...this.servers]);
  }
}

async function knows(admin: Redis, count: number): Promise<void> {
  await eventually(async () => {
    const info = String(await admin.call('CLUSTER', 'INFO'));
    if (!info.includes('cluster_state:ok') || !info.includes(`cluster_known_nodes:${count}`)) throw new Error(info);
  });
}

async function knowsReplicas(admin: Redis, count: number): Promise<void> {
  await eventually(async () => {
    const nodes = String(await admin.call('CLUSTER', 'NODES'));
    if (nodes.split('slave').length - 1 !== count) throw new Error(nodes);
  });
}

async function isInStep(replica: Redis): Promise<void> {
  await eventually(async () => {
    const info = await replica.info('replication');
    if (!info.includes('master_link_status:up')) throw new Error(info);
  });
}
