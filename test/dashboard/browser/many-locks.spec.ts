import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DashboardPage } from './dashboard-page.js';
import type { PodProcess } from './pod-process.js';
import { Stage } from './stage.js';

const MANY = 10_000;

let stage: Stage;
let pods: readonly PodProcess[];
let dashboard: DashboardPage;

beforeAll(async () => {
  stage = await Stage.start('shop-a', 'shop-b');
  pods = stage.pods;
  await pods[1]!.holdMany('ticket:', MANY, '10m');
  dashboard = await stage.open();
  await dashboard.counts('10,000 locks');
}, 180_000);

afterAll(async () => {
  expect(dashboard?.faults.list).toEqual([]);
  await stage?.stop();
});

const scrollTo = (px: number): Promise<void> =>
  dashboard.page.locator('#viewport').evaluate((viewport: any, top) => {
    viewport.scrollTop = Math.min(top, viewport.scrollHeight);
  }, px);
const firstShown = async (): Promise<string> => (await dashboard.rows.first().locator('.text').textContent())!;

describe('With ten thousand locks', () => {
  it('the page has the lines in sight, and the table all of them', async () => {
    expect(await dashboard.rows.count()).toBeLessThan(60);
    expect(await dashboard.page.getByRole('grid').getAttribute('aria-rowcount')).toBe(String(MANY + 1));
    expect(await dashboard.tile('held')).toBe(MANY);
  });

  it('scrolls to the last, by hand and by key', async () => {
    await scrollTo(Infinity);
    await dashboard.row('ticket:09999').waitFor();
    expect(await dashboard.rows.count()).toBeLessThan(60);
    expect(await dashboard.row('ticket:09999').getAttribute('aria-rowindex')).toBe(String(MANY + 1));
    await scrollTo(0);
    await dashboard.row('ticket:00000').waitFor();
    await dashboard.page.keyboard.press('/');
    await dashboard.page.keyboard.press('ArrowDown');
    await dashboard.page.keyboard.press('End');
    await dashboard.focusIsOn('ticket:09999');
    expect(await dashboard.row('ticket:09999').isVisible()).toBe(true);
    await dashboard.page.keyboard.press('Home');
    await dashboard.focusIsOn('ticket:00000');
  });

  it('keeps the line that the keyboard is on while others are scrolled through', async () => {
    await scrollTo(100_000);
    await dashboard.row('ticket:02500').waitFor();
    expect(await dashboard.focused()).toBe('ticket:00000');
    await dashboard.page.keyboard.press('ArrowDown');
    await dashboard.focusIsOn('ticket:00001');
    await dashboard.row('ticket:00001').waitFor();
  });

  it('finds one, and shows all again', async () => {
    await dashboard.search.fill('ticket:07654');
    await dashboard.counts('1 of 10,000 locks');
    expect(await dashboard.rows.locator('.text').allTextContents()).toEqual(['ticket:07654']);
    await dashboard.search.fill('');
    await dashboard.counts('10,000 locks');
    await dashboard.page.locator('#sort-key').click();
    await dashboard.row('ticket:09999').waitFor();
    expect(await firstShown()).toBe('ticket:09999');
    await dashboard.page.locator('#sort-key').click();
  });

  it('follows what is taken and given back', async () => {
    await pods[0]!.hold('a new one', { ttl: '10m' });
    await dashboard.search.fill('a new');
    await dashboard.row('a new one').waitFor();
    await pods[0]!.free('a new one');
    await dashboard.gone('a new one');
    await dashboard.search.fill('');
  });

  it('says that there are more than it shows', async () => {
    await pods[0]!.holdMany('more:', 5, '10m');
    await dashboard.page.getByText('There are more locks than are shown here').waitFor();
  });
});
