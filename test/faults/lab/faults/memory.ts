import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../support/eventually.js';
import { RedisServer } from '../../../support/redis-server.js';
import { TcpProxy } from '../../../support/tcp-proxy.js';
import { on } from '../../lab.js';
import { JumpingRedis } from '../faketime.js';
import { course, onNodes, onSeveral, type Fault } from '../fault.js';
import type { Trial } from '../trial.js';

/** So long after the fault a holder that was not told writes. */
const WRITES_AFTER_MS = 1200;
/** By default a primary waits for more replicas before it sends its data. */
const PROMPT = ['--repl-diskless-sync-delay', '0'];

/** What makes Redis nodes forget. */
export const MEMORY_FAULTS: readonly Fault[] = [
  {
    id: 'flushall',
    title: 'FLUSHALL on all nodes, under a held lock',
    about: 'everything is gone, and everybody stays connected',
    fits: onNodes,
    limits: ({ backend }) => (backend === 'both' ? [] : backend === 'lone redis' ? ['told by renewal'] : ['renewal']),
    run: (trial) =>
      course(trial, {
        begin: async () =>
          void (await Promise.all(trial.servers.map((server) => on(server, (redis) => redis.flushall())))),
        lastsMs: WRITES_AFTER_MS,
      }),
  },
  {
    id: 'empty-voters',
    title: 'one voter restarts empty, then another',
    about: 'under a held lock, and before a renewal could heal the first: a majority knows nothing of it',
    fits: onSeveral,
    limits: ({ backend, nodes }) => (nodes > 3 || backend === 'both' ? ['overlap'] : ['renewal']),
    run: (trial) =>
      course(trial, {
        begin: async () => {
          for (const server of trial.servers.slice(0, 2)) await server.restart();
        },
        lastsMs: WRITES_AFTER_MS,
      }),
  },
  {
    id: 'failover',
    title: 'the only node fails over to a replica that lacks the last writes',
    about: 'as Sentinel and managed Redis do: replication is asynchronous',
    fits: ({ backend }) => backend === 'lone redis',
    limits: () => ['told in time'],
    run: failOver,
  },
  {
    id: 'server-clock',
    title: "one node's clock jumps an hour ahead",
    about: 'Redis counts expiry by its wall clock, so the lock is gone there at once',
    fits: onNodes,
    // Whoever has a bare majority, this node among it, loses that before a renewal has healed the others.
    limits: () => [],
    run: async (trial) => {
      const jumping = await JumpingRedis.start();
      trial.servers[0] = jumping.server;
      try {
        await course(trial, {
          begin: () => jumping.jump(3600),
          // It takes effect within a second, and a renewal then finds out.
          lastsMs: 3000,
        });
      } finally {
        await jumping.stop();
      }
    },
  },
];

/** The replica has heard nothing of the primary since before the first lock; then the primary dies, and the replica's data take its place. */
async function failOver(trial: Trial): Promise<void> {
  const [primary] = trial.servers;
  await on(primary!, (redis) => redis.config('SET', PROMPT[0]!.slice(2), PROMPT[1]!));
  const line = await TcpProxy.start(primary!.port);
  const replica = await RedisServer.start({ args: [...PROMPT, '--replicaof', '127.0.0.1', String(line.port)] });
  try {
    await trial.begin();
    await eventually(async () => assert.match(await replicationOf(replica), /master_link_status:up/));
    line.blackhole();
    await trial.quiet();
    await trial.hold();
    trial.broken();
    await primary!.kill();
    await on(replica, (redis) => redis.replicaof('NO', 'ONE'));
    // Under the address of the old one, as a name or a virtual IP that moves.
    await primary!.restart();
    await on(primary!, (redis) => redis.replicaof('127.0.0.1', replica.port));
    await eventually(async () => assert.match(await replicationOf(primary!), /master_link_status:up/));
    await on(primary!, (redis) => redis.replicaof('NO', 'ONE'));
    trial.healed();
    await sleep(WRITES_AFTER_MS);
    trial.victim.send({ do: 'go' });
    await trial.end();
  } finally {
    await line.close();
    await replica.stop();
  }
}

function replicationOf(server: RedisServer): Promise<string> {
  return on(server, (redis) => redis.info('replication'));
}
