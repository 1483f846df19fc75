import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContextOptions } from 'playwright-core';
import { contrastFaults } from './contrast.js';
import type { DashboardPage } from './dashboard-page.js';
import type { PodProcess } from './pod-process.js';
import { Stage } from './stage.js';

const LONG = `report:${'x'.repeat(400)}`;

let stage: Stage;
let pods: readonly PodProcess[];
let dashboard: DashboardPage;

beforeAll(async () => {
  stage = await Stage.start('shop-a', 'shop-with-a-rather-long-name-7c9f8d5b6-x2x9k');
  pods = stage.pods;
  const [a, b] = pods as [PodProcess, PodProcess];
  await b.hold(LONG, { ttl: '10m' });
  await b.hold('job:billing', { ttl: '10m' });
  await b.hold('ticket:kept', { ttl: '10m', minHold: '10m' });
  await b.free('ticket:kept');
  a.ask('job:billing', { wait: '10m', label: 'job:billing' });
}, 120_000);

afterEach(async () => {
  expect(dashboard.faults.list).toEqual([]);
  await dashboard.close();
});

afterAll(() => stage?.stop());

async function open(options: BrowserContextOptions = {}): Promise<DashboardPage> {
  dashboard = await stage.open(options);
  await dashboard.row('job:billing').waitFor();
  return dashboard;
}

/** A lock that nobody renews, from amber to red to lost. */
async function loseOne(shown: DashboardPage): Promise<void> {
  await pods[1]!.hold('job:lost', { ttl: '8s', autoRenew: false });
  await shown.page.locator('.row.late').waitFor();
}

const phone = { viewport: { width: 375, height: 720 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

describe('On a phone', () => {
  it('nothing has to be scrolled sideways, with long keys and names either', async () => {
    const { page } = await open(phone);
    const width = (): Promise<number> => page.evaluate<number>('document.documentElement.scrollWidth');
    expect(await width()).toBe(375);
    await dashboard.open(LONG);
    expect(await width()).toBe(375);
    await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
    await dashboard.dialog.waitFor();
    expect(await width()).toBe(375);
    const box = (await dashboard.dialog.boundingBox())!;
    expect([box.x >= 0, box.x + box.width <= 375]).toEqual([true, true]);
    await dashboard.dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  it('a line shows key, holder, time and lease, within the screen', async () => {
    await open(phone);
    const row = dashboard.row('job:billing');
    for (const part of ['.key', '.holder', '.held', '.left']) {
      const box = (await row.locator(part).boundingBox())!;
      expect([part, box.width > 0, box.x >= 0, box.x + box.width <= 375]).toEqual([part, true, true, true]);
    }
    const heights = await dashboard.page
      .getByRole('button')
      .evaluateAll((buttons: any[]) => buttons.map(({ offsetHeight }) => Number(offsetHeight)).filter((px) => px > 0));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(24);
  });
});

describe('On a narrow desk', () => {
  it('a long name of a pod keeps its end, which tells pods apart', async () => {
    await open({ viewport: { width: 1120, height: 800 } });
    const cell = dashboard.row('job:billing').locator('.holder');
    const [seen, name] = [(await cell.boundingBox())!, (await cell.locator('bdi').boundingBox())!];
    expect(name.width).toBeGreaterThan(seen.width);
    expect(Math.abs(seen.x + seen.width - (name.x + name.width))).toBeLessThan(2);
  });
});

describe.each(['light', 'dark'] as const)('In %s', (colorScheme) => {
  it('every text stands out from its ground', async () => {
    const shown = await open({ colorScheme });
    await loseOne(shown);
    await shown.open('job:lost');
    expect(await contrastFaults(shown.page)).toEqual([]);
    await shown.page.locator('.row.critical').waitFor();
    expect(await contrastFaults(shown.page)).toEqual([]);
    await shown.page.locator('.loss').first().waitFor();
    await shown.gone('job:lost');
    expect(await contrastFaults(shown.page)).toEqual([]);
  });
});

describe('The page', () => {
  it('is dark where that is wanted, and light elsewhere', async () => {
    const ground = 'getComputedStyle(document.body).backgroundColor';
    const grounds: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await open({ colorScheme });
      grounds.push(await dashboard.page.evaluate<string>(ground));
      await dashboard.close();
    }
    expect(grounds).toEqual(['rgb(245, 246, 248)', 'rgb(14, 17, 23)']);
  });

  it('moves nothing where that is not wanted', async () => {
    const seconds = 'getComputedStyle(document.querySelector(".fill")).transitionDuration';
    await open({ reducedMotion: 'reduce' });
    expect(await dashboard.page.evaluate(seconds)).toBe('0s');
    await dashboard.close();
    await open({ reducedMotion: 'no-preference' });
    expect(await dashboard.page.evaluate(seconds)).toBe('1s');
  });
});
