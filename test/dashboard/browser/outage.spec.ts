import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TestBrowser } from '../../support/browser.js';
import { freePort } from '../../support/free-port.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';
import { DashboardPage } from './dashboard-page.js';
import { PodProcess } from './pod-process.js';

let nodes: RedisServer[];
let browser: TestBrowser;
let pod: PodProcess;
let port: number;
let dashboard: DashboardPage;

const startPod = (): Promise<PodProcess> =>
  PodProcess.start(
    'shop-a',
    nodes.map(({ url }) => url),
    port,
  );

beforeAll(async () => {
  [nodes, browser, port] = await Promise.all([startRedisNodes(3), TestBrowser.start(), freePort()]);
}, 120_000);

afterAll(async () => {
  await browser?.stop();
  await stopAll(nodes);
});

beforeEach(async () => {
  pod = await startPod();
  dashboard = await DashboardPage.open(browser, pod.url);
});

afterEach(async () => {
  await dashboard.close();
  await pod.process.kill();
});

const node = (index: number) => dashboard.page.locator('.node', { hasText: String(nodes[index]!.port) });

describe('In an outage', () => {
  it('the page shows which node is away, and that it is back', async () => {
    await pod.hold('job:billing', { ttl: '10m' });
    await dashboard.rowSays('job:billing', pod.holder);
    expect(await dashboard.page.locator('.node.up').count()).toBe(3);
    await dashboard.page.getByText('store up').waitFor();
    // Several nodes keep no line, so nobody knows.
    expect(await dashboard.page.locator('#tile-waiting').textContent()).toBe('–');
    await node(1).filter({ hasText: /\d ms/ }).waitFor();

    await nodes[1]!.kill();
    await dashboard.page.getByText('store degraded').waitFor();
    await node(1).filter({ hasText: 'down' }).waitFor();
    await dashboard.rowSays('job:billing', '2 of 3 nodes');

    await nodes[1]!.restart();
    await dashboard.page.getByText('store up').waitFor({ timeout: 60_000 });
  });

  it('the page says that the locks cannot be read, and keeps what it knew', async () => {
    await pod.hold('job:reports', { ttl: '10m' });
    await dashboard.rowSays('job:reports', pod.holder);
    nodes.slice(0, 2).forEach((server) => server.freeze());
    try {
      await dashboard.page.getByRole('alert').filter({ hasText: 'cannot be read' }).waitFor({ timeout: 60_000 });
      await dashboard.page.getByText('store down').waitFor();
      expect(await dashboard.row('job:reports').count()).toBe(1);
      await dashboard.open('job:reports');
      await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
      await dashboard.dialog.getByRole('button', { name: 'Release' }).click();
      await dashboard.dialog.getByText('Not released: the store cannot tell').waitFor({ timeout: 60_000 });
    } finally {
      nodes.slice(0, 2).forEach((server) => server.thaw());
    }
    await dashboard.page.getByRole('alert').waitFor({ state: 'hidden', timeout: 60_000 });
  });

  it('the page says when its pod is gone, and goes on with the next one there', async () => {
    await pod.process.stop();
    await dashboard.page.getByText('not connected').first().waitFor({ timeout: 60_000 });
    pod = await startPod();
    await pod.hold('job:mail', { ttl: '10m' });
    await dashboard.page.getByText('live', { exact: true }).waitFor({ timeout: 60_000 });
    await dashboard.rowSays('job:mail', pod.holder);
  });
});
