import type { BrowserContextOptions } from 'playwright-core';
import { TestBrowser } from '../../support/browser.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';
import { DashboardPage } from './dashboard-page.js';
import { PodProcess } from './pod-process.js';

/** What the tests of one file share: a Redis, pods on it, and a browser to look at the dashboard of the first of them. */
export class Stage {
  private constructor(
    private readonly redis: RedisServer,
    private readonly browser: TestBrowser,
    readonly pods: readonly PodProcess[],
  ) {}

  static async start(...names: readonly [string, ...string[]]): Promise<Stage> {
    const redis = await RedisServer.start();
    const [browser, ...pods] = await Promise.all([
      TestBrowser.start(),
      ...names.map((name) => PodProcess.start(name, [redis.url])),
    ]);
    return new Stage(redis, browser, pods);
  }

  async stop(): Promise<void> {
    await Promise.all([this.browser.stop(), ...this.pods.map((pod) => pod.process.kill())]);
    await stopAll(this.redis);
  }

  open(options?: BrowserContextOptions): Promise<DashboardPage> {
    return DashboardPage.open(this.browser, this.pods[0]!.url, options);
  }
}
