import type { LocalRedis } from '../local-servers.js';
import type { Finding } from '../stage.js';
import type { Act } from './act.js';
import { AuthorityWatch } from './authority-watch.js';
import { Commentary } from './commentary.js';
import { Jobs } from './jobs.js';
import { until } from './until.js';

const TITLE = 'Redis goes away and comes back';
const JOBS_PER_SCENE = 10;

/** Every Redis node dies and comes back. A long job holds its lock all the while, and short ones come and go. */
export const outage =
  (redis: readonly LocalRedis[]): Act =>
  async ({ pods: shop, ready, startPods, partners, stage }) => {
    stage.act(
      TITLE,
      'Three more pods, with forRoot({ nodes, fallback: postgres(…) }): locks move to Postgres and back, and never have two holders.',
    );
    const authority = new AuthorityWatch(({ to, reason }) => {
      const [cause = ''] = reason.split('; ');
      stage.line('locks', `now decided by ${to}: ${cause}`);
    });
    const pods = await startPods({
      names: ['pod-4', 'pod-5', 'pod-6'],
      journalOf: (name) => stage.journalOf(name),
      onAuthorityChange: (change) => authority.heard(change),
    });
    stage.narrate();
    const jobs = new Jobs(pods, partners, new Commentary(stage, authority));
    const service: Finding[] = [];
    await jobs.during(async (signal) => {
      const someShortJobs = (): Promise<boolean> => {
        const enough = jobs.short.tokens.length + JOBS_PER_SCENE;
        return until(() => jobs.short.tokens.length >= enough, signal);
      };
      await someShortJobs();

      stage.line('redis', `kill -9 to all ${redis.length} servers`);
      const killedAt = performance.now();
      await Promise.all(redis.map((server) => server.kill()));
      if (!(await until(() => authority.now === 'POSTGRES', signal))) return;
      const onPostgres = await someShortJobs();

      stage.line('redis', 'all servers started again, empty');
      const restartedAt = performance.now();
      await Promise.all(redis.map((server) => server.restart()));
      if (!(await until(() => authority.now === 'REDIS', signal))) return;
      const onRedis = await someShortJobs();

      const gaps = [jobs.short.longestGap(killedAt, restartedAt), jobs.short.longestGap(restartedAt)];
      const [going = '', coming = ''] = gaps.map((ms) => (ms / 1000).toFixed(1));
      service.push({
        check: 'seconds without service',
        seen: `${going} when Redis went, ${coming} at most on the way back`,
        ok: onPostgres && onRedis,
      });
      jobs.endLongJob();
      await until(() => jobs.long.tokens.length > 1, signal);
    });
    await Promise.all(pods.map((pod) => pod.close()));
    await ready(shop);
    const moves: Finding = {
      check: 'locks were decided by',
      seen: authority.states.join(' → '),
      ok: authority.went('REDIS', 'DRAINING', 'POSTGRES', 'BOTH', 'REDIS'),
    };
    return [moves, ...jobs.findings, ...service];
  };

/** On servers that are the user's own. */
export const noOutage: Act = async ({ stage }) => {
  stage.headline(
    `Left out: ${TITLE}`,
    'It kills every Redis server, and these are yours. `npm start -- --redis` starts servers of its own for it.',
  );
  return [];
};
