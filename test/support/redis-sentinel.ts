import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '../../scripts/find-servers.mjs';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { ManagedProcess, removeFolder } from './managed-process.js';
import { RedisServer, stopAll } from './redis-server.js';

export interface RedisSentinelOptions {
  /** What the primary and the replica ask of whoever connects. */
  password?: string;
}

const NAME = 'locks';
const DOWN_AFTER_MS = 500;
const IN_STEP_MS = 15_000;

/** A real primary, a replica of it, and a Sentinel that puts the one in the place of the other. */
export class RedisSentinel {
  private constructor(
    readonly port: number,
    readonly servers: readonly [RedisServer, RedisServer],
    private readonly password: string | undefined,
    private readonly folder: string,
    private readonly process: ManagedProcess,
  ) {}

  static async start({ password }: RedisSentinelOptions = {}): Promise<RedisSentinel> {
    const args = ['--repl-diskless-sync-delay', '0'];
    if (password) args.push('--requirepass', password, '--masterauth', password);
    const primary = await RedisServer.start({ args });
    const replica = await RedisServer.start({ args: [...args, '--replicaof', '127.0.0.1', String(primary.port)] });
    const folder = await mkdtemp(join(tmpdir(), 'redis-sentinel-'));
    try {
      await isAttached(replica, password);
      const port = await freePort();
      const file = join(folder, 'sentinel.conf');
      await writeFile(
        file,
        [
          ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
          `sentinel monitor ${NAME} 127.0.0.1 ${primary.port} 1`,
          `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
          `sentinel failover-timeout ${NAME} 3000`,
          ...(password ? [`sentinel auth-pass ${NAME} ${password}`] : []),
          '',
        ].join('\n'),
      );
      const process = await ManagedProcess.start(findRedisServer()!, [file, '--sentinel'], {
        ownFolder: folder,
        cwd: folder,
      });
      await process.said(/\+slave slave/);
      return new RedisSentinel(port, [primary, replica], password, folder, process);
    } catch (error) {
      await stopAll(primary, replica);
      await removeFolder(folder);
      throw error;
    }
  }

  /** What a client is given to find the primary, wherever it is. */
  get options(): { sentinels: { host: string; port: number }[]; name: string } {
    return { sentinels: [{ host: '127.0.0.1', port: this.port }], name: NAME };
  }

  /** Where the primary is, as the Sentinel has it. */
  async primary(): Promise<RedisServer> {
    const sentinel = new Redis(this.port, '127.0.0.1');
    const [, port] = (await sentinel.call('SENTINEL', 'get-master-addr-by-name', NAME)) as string[];
    sentinel.disconnect();
    return this.servers.find((server) => server.port === Number(port))!;
  }

  /** Resolves when the replica has all that the primary had: it is late at times, by up to a second after its start. */
  async inStep(): Promise<void> {
    const { port } = await this.primary();
    const redis = new Redis(port, '127.0.0.1', this.password ? { password: this.password } : {});
    await redis.set('in step', '', 'PX', 1);
    const replicas = await redis.wait(1, IN_STEP_MS).finally(() => redis.disconnect());
    if (replicas < 1) throw new Error(`No replica has what ${port} has`);
  }

  /** As an operator does it: the primary becomes a replica. What it had so far the new one has, too. */
  async failOver(): Promise<void> {
    await this.inStep();
    const sentinel = new Redis(this.port, '127.0.0.1');
    const before = await this.primary();
    // It has to have heard of the replica lately.
    const asked = eventually(() => sentinel.call('SENTINEL', 'FAILOVER', NAME));
    await asked.finally(() => sentinel.disconnect());
    await this.movedFrom(before);
  }

  /** Resolves when another server is the primary. */
  async movedFrom(before: RedisServer): Promise<RedisServer> {
    return eventually(async () => {
      const primary = await this.primary();
      if (primary === before) throw new Error(`The primary is still at ${before.port}:\n${this.process.output}`);
      return primary;
    });
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await stopAll([...this.servers]);
    await removeFolder(this.folder);
  }
}

async function isAttached(replica: RedisServer, password = ''): Promise<void> {
  const admin = new Redis(replica.port, '127.0.0.1', password ? { password } : {});
  try {
    await eventually(async () => {
      const info = await admin.info('replication');
      if (!info.includes('master_link_status:up')) throw new Error(info);
    });
  } finally {
    admin.disconnect();
  }
}
