import { Cluster, Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { startRedisNodes, stopAll, type RedisServer } from './redis-server.js';

const SLOTS = 16_384;

/** A real Redis Cluster of primaries without replicas, which share the slots. */
export class RedisCluster {
  private constructor(readonly servers: readonly RedisServer[]) {}

  static async start(primaries = 3): Promise<RedisCluster> {
    const servers = await startRedisNodes(primaries, { args: ['--cluster-enabled', 'yes'] });
    const admins = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
    try {
      for (const [index, admin] of admins.entries()) {
        const [first, next] = [index, index + 1].map((place) => Math.floor((place * SLOTS) / primaries));
        await admin.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(next! - 1));
        if (index > 0) await admin.call('CLUSTER', 'MEET', '127.0.0.1', String(servers[0]!.port));
      }
      for (const admin of admins) {
        await eventually(async () => {
          const info = String(await admin.call('CLUSTER', 'INFO'));
          if (!info.includes('cluster_state:ok') || !info.includes(`cluster_known_nodes:${primaries}`))
            throw new Error(info);
        });
      }
    } catch (error) {
      await stopAll([...servers]);
      throw error;
    } finally {
      for (const admin of admins) admin.disconnect();
    }
    return new RedisCluster(servers);
  }

  /** A client that knows all of them. */
  async connect(keyPrefix = ''): Promise<Cluster> {
    const nodes = this.servers.map(({ port }) => ({ host: '127.0.0.1', port }));
    const client = new Cluster(nodes, { keyPrefix, lazyConnect: true });
    await client.connect();
    return client;
  }

  async stop(): Promise<void> {
    await stopAll([...this.servers]);
  }
}
