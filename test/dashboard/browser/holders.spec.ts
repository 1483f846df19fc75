import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DashboardPage } from './dashboard-page.js';
import type { PodProcess } from './pod-process.js';
import { Stage } from './stage.js';

let stage: Stage;
let pods: readonly PodProcess[];
let dashboard: DashboardPage;

beforeAll(async () => {
  stage = await Stage.start('shop-a', 'shop-b', 'shop-c');
  pods = stage.pods;
}, 120_000);

afterAll(() => stage?.stop());

beforeEach(async () => {
  dashboard = await stage.open();
});
afterEach(async () => {
  expect(dashboard.faults.list).toEqual([]);
  await dashboard.close();
});

describe('The dashboard in a browser', () => {
  it('shows a job that moves from pod to pod, and who had it before', async () => {
    const [, b, c] = pods as [PodProcess, PodProcess, PodProcess];
    const first = await b.hold('job:billing', { ttl: '30s' });
    await dashboard.rowSays('job:billing', b.holder);
    await dashboard.rowSays('job:billing', String(first));
    c.ask('job:billing', { ttl: '30s', wait: '60s' });
    await dashboard.row('job:billing').locator('.waiters', { hasText: /^1$/ }).waitFor();
    await dashboard.open('job:billing');
    expect(await dashboard.detail.locator('.lane').allTextContents()).toEqual([b.holder]);

    await b.free('job:billing');
    const second = await c.got('job:billing');
    await dashboard.rowSays('job:billing', c.holder);
    await dashboard.rowSays('job:billing', String(second));
    expect(second).toBeGreaterThan(first);
    await dashboard.detail.locator('.lane', { hasText: c.holder }).waitFor();
    expect(await dashboard.detail.locator('.lane').allTextContents()).toEqual([b.holder, c.holder]);
    expect(await dashboard.detail.locator('#detail-past li').allTextContents()).toEqual([
      expect.stringContaining(b.holder),
    ]);

    await c.free('job:billing');
    await dashboard.gone('job:billing');
    await dashboard.detail.getByText('free, as far as was seen').waitFor();
  });

  it('turns a frozen holder amber, then red, and says that it lost the lock', async () => {
    const c = pods[2]!;
    await c.hold('job:report', { ttl: '12s' });
    await c.hold('job:calm', { ttl: '10m' });
    await dashboard.rowSays('job:report', c.holder);
    expect(await dashboard.row('job:report').getAttribute('class')).toContain('well');
    await dashboard.open('job:report');
    c.process.freeze();
    try {
      const colour = async (): Promise<string> =>
        dashboard
          .row('job:report')
          .evaluate((row) => (globalThis as any).getComputedStyle(row).backgroundColor as string);
      const well = await colour();
      await dashboard.page.locator('.row.late', { hasText: 'job:report' }).waitFor();
      const amber = await colour();
      await dashboard.page.locator('.row.critical', { hasText: 'job:report' }).waitFor();
      await dashboard.rowSays('job:report', 'running out');
      expect(await dashboard.tile('late')).toBe(1);
      const red = await colour();
      expect(new Set([well, amber, red]).size).toBe(3);

      await dashboard.gone('job:report');
      await dashboard.page.locator('.loss', { hasText: 'job:report' }).filter({ hasText: 'ran out' }).waitFor();
      await dashboard.detail.locator('.hold.expired').waitFor({ state: 'attached' });
      await dashboard.detail.locator('#detail-past .bad', { hasText: c.holder }).waitFor();
      expect(await dashboard.row('job:calm').getAttribute('class')).toContain('well');
    } finally {
      c.process.thaw();
    }
    expect(await c.lost('job:report')).toBe('expired');
    await c.free('job:calm');
  });

  it('takes a lock from its holder once it was confirmed, for the next with a higher token', async () => {
    const [a, b, c] = pods as [PodProcess, PodProcess, PodProcess];
    const first = await b.hold('job:stuck', { ttl: '9s' });
    c.ask('job:stuck', { ttl: '30s', wait: '60s' });
    await dashboard.rowSays('job:stuck', b.holder);
    await dashboard.open('job:stuck');

    await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
    await dashboard.dialog.getByText(b.holder).waitFor();
    await dashboard.dialog.getByRole('button', { name: 'Cancel' }).click();
    await dashboard.dialog.waitFor({ state: 'hidden' });
    expect(await dashboard.row('job:stuck').textContent()).toContain(b.holder);

    await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
    await dashboard.dialog.getByRole('button', { name: 'Release' }).click();
    await dashboard.page.locator('#notice', { hasText: 'job:stuck was released.' }).waitFor();
    expect(await c.got('job:stuck')).toBeGreaterThan(first);
    expect(await b.lost('job:stuck')).toBe('taken');
    await dashboard.rowSays('job:stuck', c.holder);
    await dashboard.detail.locator('#detail-past li', { hasText: 'released by force' }).waitFor();
    await c.free('job:stuck');
    expect(a.process.running).toBe(true);
  });

  it('takes no lock from a holder who was not the one that was asked about', async () => {
    const [, b, c] = pods as [PodProcess, PodProcess, PodProcess];
    await b.hold('job:quick', { ttl: '30s' });
    await dashboard.rowSays('job:quick', b.holder);
    await dashboard.open('job:quick');
    await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
    await b.free('job:quick');
    await c.hold('job:quick', { ttl: '30s' });
    await dashboard.dialog.getByRole('button', { name: 'Release' }).click();
    await dashboard.page.locator('#notice', { hasText: 'somebody else holds it by now' }).waitFor();
    await dashboard.rowSays('job:quick', c.holder);
    await c.free('job:quick');
  });

  it('shows what calls met: how long grants took, and who found a key busy', async () => {
    const [a, b] = pods as [PodProcess, PodProcess, PodProcess];
    await b.hold('job:busy', { ttl: '30s' });
    a.ask('job:busy', { label: 'nightly' });
    expect(await a.refused('job:busy')).toBe('LOCK_BUSY');
    await a.hold('job:free', { label: 'nightly' });
    await a.free('job:free');
    const line = dashboard.page.locator('#labels tr', { hasText: 'nightly' });
    await line.getByRole('cell').nth(2).filter({ hasText: '1' }).waitFor();
    expect(await line.getByRole('cell').allTextContents()).toEqual(['1', '0', '1', '0']);
    await dashboard.page.locator('#contention').getByRole('img', { name: '1 busy' }).waitFor();
    await dashboard.page
      .locator('#waits')
      .getByRole('img', { name: /\d+ grants?\. ≤/ })
      .waitFor();
    await b.free('job:busy');
  });
});
