import type { Act, Scene } from './acts/act.js';
import { billing } from './acts/billing.act.js';
import { purchases } from './acts/purchases.act.js';
import { slowWorker } from './acts/slow-worker.act.js';
import { transfers } from './acts/transfers.act.js';
import { openDatabase } from './database/open-database.js';
import { aborted } from './interruption.js';
import { PartnerServer } from './partner-server.js';
import { startPods } from './pods/start-pods.js';
import { startRedisServers } from './redis-servers.js';
import type { Settings } from './settings.js';
import { Stage, type Finding } from './stage.js';

/** Sets everything up, plays the acts, and takes everything down again. */
export class Demonstration {
  private readonly stage = new Stage();
  private readonly closers: (() => Promise<void>)[] = [];

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
    const { databaseUrl, startRedis, breakLock } = this.settings;
    const database = await openDatabase(databaseUrl);
    this.closers.push(() => database.close());
    const redisNodes = startRedis ? await this.startRedis() : this.settings.redisNodes;
    const partners = await PartnerServer.start();

    this.announce(redisNodes);
    const podClosers: (() => Promise<void>)[] = [];
    this.closers.push(async () => {
      // First, so that no pod waits for an answer that will never come.
      await partners.close();
      await Promise.all(podClosers.map((close) => close()));
    });
    const pods = await startPods(
      {
        database,
        databaseUrl,
        redisNodes,
        breakLock,
        partnersUrl: partners.url,
        signal: this.interrupted,
        journalOf: (name) => this.stage.journalOf(name),
      },
      (pod) => podClosers.push(() => pod.close()),
    );
    return { pods, database, partners, stage: this.stage };
  }

  private async startRedis(): Promise<readonly string[]> {
    const servers = await startRedisServers(3);
    this.closers.push(() => servers.stop());
    return servers.urls;
  }

  private announce(redisNodes: readonly string[]): void {
    const { databaseUrl, breakLock } = this.settings;
    this.stage.headline(
      'A ticket shop in three pods',
      [
        redisNodes.length > 0
          ? `three processes, Redlock over ${redisNodes.map(address).join(' ')}`
          : 'one process, memory store',
        databaseUrl ? 'PostgreSQL' : 'PGlite',
        ...(breakLock ? ['THE LOCK IS BROKEN ON PURPOSE'] : []),
      ].join(' · '),
    );
  }

  private async play(scene: Scene): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const act of [purchases, transfers, slowWorker] satisfies Act[]) {
      findings.push(...(await this.unlessInterrupted(act(scene))));
    }
    const last = this.settings.once
      ? this.unlessInterrupted(billing(scene))
      : billing(scene, aborted(this.interrupted));
    return [...findings, ...(await last)];
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
