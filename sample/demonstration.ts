import type { Act, Scene } from './acts/act.js';
import { billing } from './acts/billing.act.js';
import { noOutage, outage } from './acts/outage.act.js';
import { purchases } from './acts/purchases.act.js';
import { slowWorker } from './acts/slow-worker.act.js';
import { transfers } from './acts/transfers.act.js';
import { openDatabase } from './database/open-database.js';
import { aborted } from './interruption.js';
import { startPostgres, startRedisServers, type LocalRedis } from './local-servers.js';
import { PartnerServer } from './partner-server.js';
import { allReady, startPods, type Cast, type Pods, type PodsOptions } from './pods/start-pods.js';
import type { Settings } from './settings.js';
import { Stage, type Finding } from './stage.js';

/** Sets everything up, plays the acts, and takes everything down again. */
export class Demonstration {
  private readonly stage = new Stage();
  private readonly closers: (() => Promise<void>)[] = [];
  private ownRedis: readonly LocalRedis[] = [];

  constructor(
    private readonly settings: Settings,
    private readonly interrupted: AbortSignal,
  ) {}

  /** True when all was found as it should be. */
  async run(): Promise<boolean> {
    const findings = await this.perform();
    this.stage.verdict(findings);
    return findings.every(({ ok }) => ok);
  }

  private async perform(): Promise<readonly Finding[]> {
    try {
      return await this.play(await this.setUp());
    } finally {
      // The last opened first: the pods before what they stand on.
      for (const close of this.closers.reverse()) await close();
    }
  }

  private async setUp(): Promise<Scene> {
    const { startRedis, breakLock } = this.settings;
    const databaseUrl = this.settings.databaseUrl ?? (startRedis ? await this.startPostgres() : undefined);
    const redisNodes = startRedis ? await this.startRedis() : this.settings.redisNodes;
    const database = await openDatabase(databaseUrl);
    this.closers.push(() => database.close());
    const partners = await PartnerServer.start();

    this.announce(redisNodes, databaseUrl);
    const podClosers: (() => Promise<void>)[] = [];
    this.closers.push(async () => {
      // First, so that no pod waits for an answer that will never come.
      await partners.close();
      await Promise.all(podClosers.map((close) => close()));
    });
    const { stage, interrupted: signal } = this;
    const options: PodsOptions = {
      ...{ database, databaseUrl, redisNodes, breakLock, signal },
      partnersUrl: partners.url,
      started: (pod) => podClosers.push(() => pod.close()),
    };
    const start = (cast: Cast): Promise<Pods> => startPods(options, cast);
    const pods = await start({ names: ['pod-1', 'pod-2', 'pod-3'], journalOf: (name) => stage.journalOf(name) });
    stage.note(`Every lock, live: ${pods[0].url}/locks`);
    return { pods, database, partners, stage, startPods: start, ready: (all) => allReady(all, signal) };
  }

  private async startPostgres(): Promise<string> {
    const server = await startPostgres();
    this.closers.push(() => server.stop());
    return server.url;
  }

  private async startRedis(): Promise<readonly string[]> {
    const servers = await startRedisServers(3);
    this.closers.push(async () => void (await Promise.all(servers.map((server) => server.stop()))));
    this.ownRedis = servers;
    return servers.map(({ url }) => url);
  }

  private announce(redisNodes: readonly string[], databaseUrl: string | undefined): void {
    const { breakLock } = this.settings;
    this.stage.headline(
      'A ticket shop in three pods',
      [
        redisNodes.length > 0
          ? `three processes, Redlock over ${redisNodes.map(address).join(' ')}`
          : 'one process, memory store',
        databaseUrl ? `PostgreSQL at ${address(databaseUrl)}` : 'PGlite',
        ...(breakLock ? ['THE LOCK IS BROKEN ON PURPOSE'] : []),
      ].join(' · '),
    );
  }

  private async play(scene: Scene): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const act of this.acts) {
      findings.push(...(await this.unlessInterrupted(act(scene))));
    }
    const last = this.settings.once
      ? this.unlessInterrupted(billing(scene))
      : billing(scene, aborted(this.interrupted));
    return [...findings, ...(await last)];
  }

  private get acts(): readonly Act[] {
    const acts = [purchases, transfers, slowWorker];
    if (this.ownRedis.length > 0) return [...acts, outage(this.ownRedis)];
    return this.settings.redisNodes.length > 0 ? [...acts, noOutage] : acts;
  }

  private unlessInterrupted<T>(work: Promise<T>): Promise<T> {
    const interruption = aborted(this.interrupted).then(() => {
      throw this.interrupted.reason as Error;
    });
    return Promise.race([work, interruption]);
  }
}

/** Without the credentials that a URL may carry. */
function address(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '(not a URL)';
}
