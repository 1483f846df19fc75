/** Takes the pictures of docs/dashboard: three Redis, three pods at work, one of them frozen in the middle of a job. */
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { TestBrowser } from '../../support/browser.js';
import { startRedisNodes, stopAll } from '../../support/redis-server.js';
import { DashboardPage } from './dashboard-page.js';
import { PodProcess } from './pod-process.js';

const folder = fileURLToPath(new URL('../../../docs/dashboard/', import.meta.url));
const NAMES = ['billing-7c9f8d5b6-x2x9k', 'billing-7c9f8d5b6-qq7wn', 'billing-7c9f8d5b6-m4t2p'];
const HAND_OVERS = 4;
const PHONE = { viewport: { width: 375, height: 760 }, isMobile: true, hasTouch: true, deviceScaleFactor: 1.5 };
const DESK = { viewport: { width: 1280, height: 1030 } };

const nodes = await startRedisNodes(3);
const urls = nodes.map(({ url }) => url);
const [browser, ...pods] = await Promise.all([
  TestBrowser.start(),
  ...NAMES.map((name) => PodProcess.start(name, urls)),
]);
const [a, b, c] = pods as [PodProcess, PodProcess, PodProcess];

/** A job that goes from one to the next, with others in line: that is what a timeline shows. */
async function handOver(key: string): Promise<void> {
  const line = [a, b, c];
  await a.hold(key, { ttl: '30s', label: key });
  for (let turn = 1; turn <= HAND_OVERS; turn++) {
    const [before, next] = [line[(turn - 1) % line.length]!, line[turn % line.length]!];
    next.ask(key, { ttl: '30s', wait: '60s', label: key });
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await before.free(key);
    await next.got(key);
  }
}

async function picture(dashboard: DashboardPage, name: string): Promise<void> {
  await dashboard.page.screenshot({ path: `${folder}${name}.png` });
  if (dashboard.faults.list.length > 0) throw new Error(dashboard.faults.list.join('\n'));
}

try {
  await mkdir(folder, { recursive: true });
  const pages = await Promise.all([
    DashboardPage.open(browser, a.url, { ...DESK, colorScheme: 'light' }),
    DashboardPage.open(browser, a.url, { ...DESK, colorScheme: 'dark' }),
    DashboardPage.open(browser, a.url, { ...PHONE, colorScheme: 'light' }),
  ]);
  for (const number of [17, 42, 1138]) await a.hold(`account:${number}`, { ttl: '10m', label: 'account:{0}' });
  for (const id of ['8f3a', 'b71c', 'd904', 'e55f']) await b.hold(`ticket:${id}`, { ttl: '2m', label: 'ticket:{0}' });
  await c.hold('job:reindex', { ttl: '5m' });
  await c.hold('job:export', { ttl: '24s' });
  for (let attempt = 0; attempt < 12; attempt++) {
    a.ask('ticket:b71c', { label: 'ticket:{0}' });
    await a.refused('ticket:b71c');
  }
  await handOver('job:billing');
  a.ask('ticket:8f3a', { wait: '10m', label: 'ticket:{0}' });

  // One loses its lock while it is frozen, and is at it again, frozen, when the pictures are taken.
  await c.hold('job:mail', { ttl: '6s' });
  await b.hold('job:cleanup', { ttl: '18s' });
  await pages[0].rowSays('job:mail', c.name);
  c.process.freeze();
  await pages[0].page.locator('.loss', { hasText: 'job:mail' }).waitFor();
  await pages[0].page.locator('.row.critical', { hasText: 'job:export' }).waitFor({ timeout: 60_000 });

  for (const dashboard of pages.slice(0, 2)) await dashboard.open('job:billing');
  await picture(pages[0], 'light');
  await picture(pages[1], 'dark');
  await picture(pages[2], 'phone');
} finally {
  c.process.thaw();
  await Promise.all([browser.stop(), ...pods.map((pod) => pod.process.kill())]);
  await stopAll(nodes);
}
