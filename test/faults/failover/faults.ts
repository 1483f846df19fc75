import type { TcpProxy } from '../../support/tcp-proxy.js';
import type { PodProcess } from './pod-process.js';
import type { Trial } from './trial.js';

/** What goes wrong, and its end. */
export interface Fault {
  begin(trial: Trial, pods: readonly PodProcess[]): Promise<void>;
  end(trial: Trial, pods: readonly PodProcess[]): Promise<void>;
}

type LinesOf = (pod: PodProcess) => readonly TcpProxy[];

const redisLines: LinesOf = ({ lines }) => lines.redis;
const postgresLine: LinesOf = ({ lines }) => [lines.postgres];

export const REDIS = {
  killed: {
    begin: async ({ lab }) => void (await Promise.all(lab.redis.map((server) => server.kill()))),
    end: async ({ lab }) => void (await Promise.all(lab.redis.map((server) => server.restart()))),
  },
  frozen: {
    begin: async ({ lab }) => lab.redis.forEach((server) => server.freeze()),
    end: async ({ lab }) => lab.redis.forEach((server) => server.thaw()),
  },
  ...network(redisLines),
} satisfies Record<string, Fault>;

export const POSTGRES = network(postgresLine);

/** Cut: connections break, and new ones are refused. Silent: nothing gets through, and arrives late, at the end. */
function network(linesOf: LinesOf): Record<'cut' | 'silent', Fault> {
  const end: Fault['end'] = async (_, pods) =>
    void (await Promise.all(pods.flatMap(linesOf).map((line) => line.pass())));
  return {
    cut: { begin: async (_, pods) => pods.flatMap(linesOf).forEach((line) => line.cut()), end },
    silent: { begin: async (_, pods) => pods.flatMap(linesOf).forEach((line) => line.blackhole()), end },
  };
}
