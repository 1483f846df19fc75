import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DashboardPage } from './dashboard-page.js';
import type { PodProcess } from './pod-process.js';
import { Stage } from './stage.js';

let stage: Stage;
let pods: readonly PodProcess[];
let dashboard: DashboardPage;

beforeAll(async () => {
  stage = await Stage.start('shop-a', 'shop-b');
  pods = stage.pods;
  for (const number of [1, 2, 3, 4, 5]) await pods[1]!.hold(`job:${number}`, { ttl: '10m' });
}, 120_000);

afterAll(() => stage?.stop());

beforeEach(async () => {
  dashboard = await stage.open();
  await dashboard.counts('5 locks');
});
afterEach(async () => {
  expect(dashboard.faults.list).toEqual([]);
  await dashboard.close();
});

const press = async (...keys: string[]): Promise<void> => {
  for (const key of keys) await dashboard.page.keyboard.press(key);
};

describe('With the keyboard alone', () => {
  it('a lock is found, opened, released, and the table found back to', async () => {
    await pods[1]!.hold('task:1', { ttl: '9s' });
    await dashboard.row('task:1').waitFor();
    await press('/');
    await dashboard.focusIsOn('search');
    await dashboard.page.keyboard.type('task');
    await dashboard.counts('1 of 6 locks');
    await press('Enter');
    await dashboard.focusIsOn('task:1');
    await press('Enter');
    await dashboard.focusIsOn('detail');
    await press('Tab');
    await dashboard.focusIsOn('detail-close');
    await press('Tab');
    await dashboard.focusIsOn('detail-release');
    await press('Enter');
    await dashboard.focusIsOn('confirm-cancel');
    await press('Escape');
    await dashboard.focusIsOn('detail-release');
    await press('Enter', 'Tab');
    await dashboard.focusIsOn('confirm-go');
    await press('Enter');
    expect(await pods[1]!.lost('task:1')).toBe('taken');
    await dashboard.focusIsOn('detail');
    await dashboard.gone('task:1');
    await press('/');
    await press('Control+A', 'Backspace', 'ArrowDown');
    await dashboard.focusIsOn('job:1');
  });

  it('lines are walked through, and stay within the table', async () => {
    await press('/', 'ArrowDown');
    await dashboard.focusIsOn('job:1');
    await press('ArrowUp');
    await dashboard.focusIsOn('job:1');
    await press('ArrowDown', 'ArrowDown');
    await dashboard.focusIsOn('job:3');
    await press('End');
    await dashboard.focusIsOn('job:5');
    await press('ArrowDown');
    await dashboard.focusIsOn('job:5');
    await press('Home');
    await dashboard.focusIsOn('job:1');
    await press('Space');
    await dashboard.focusIsOn('detail');
    await press('Escape');
    await dashboard.focusIsOn('job:1');
  });

  it('the table is one stop of Tab, however many lines it has', async () => {
    await dashboard.page.locator('#sort-waiters').focus();
    await press('Tab');
    await dashboard.focusIsOn('job:1');
    await press('ArrowDown', 'Tab');
    expect(await dashboard.focused()).not.toMatch(/^job/);
    await press('Shift+Tab');
    await dashboard.focusIsOn('job:2');
  });

  it('columns are sorted', async () => {
    await dashboard.page.locator('#sort-key').focus();
    await press('Enter');
    const keys = (): Promise<string[]> => dashboard.rows.locator('.key .text').allTextContents();
    expect(await keys()).toEqual(['job:5', 'job:4', 'job:3', 'job:2', 'job:1']);
    const header = dashboard.page.getByRole('columnheader', { name: 'Key' });
    expect(await header.getAttribute('aria-sort')).toBe('descending');
    await press('Enter');
    expect(await keys()).toEqual(['job:1', 'job:2', 'job:3', 'job:4', 'job:5']);
    await press('Tab', 'Enter');
    expect(await header.getAttribute('aria-sort')).toBe('none');
  });

  it('the focus stays on its lock while others come and go, and goes to the next when that is gone', async () => {
    await press('/', 'ArrowDown', 'ArrowDown');
    await dashboard.focusIsOn('job:2');
    await pods[1]!.hold('a', { ttl: '10m' });
    await pods[1]!.free('job:1');
    await dashboard.row('a').waitFor();
    await dashboard.gone('job:1');
    expect(await dashboard.focused()).toBe('job:2');
    await pods[1]!.free('job:2');
    await dashboard.gone('job:2');
    await dashboard.focusIsOn('job:3');
    for (const key of ['job:1', 'job:2']) await pods[1]!.hold(key, { ttl: '10m' });
    await pods[1]!.free('a');
  });
});

describe('For a screen reader', () => {
  it('the table says how many lines and columns it has, and which one each line is', async () => {
    const grid = dashboard.page.getByRole('grid', { name: 'Held locks' });
    expect([await grid.getAttribute('aria-rowcount'), await grid.getAttribute('aria-colcount')]).toEqual(['6', '6']);
    expect(await grid.getByRole('columnheader').allTextContents()).toEqual([
      ...['Key', 'Held by', 'Held for', 'Ttl left', 'Token', 'Waiting'],
    ]);
    const indices = await dashboard.rows.evaluateAll((rows: any[]) =>
      rows.map((row) => row.getAttribute('aria-rowindex')),
    );
    expect(indices).toEqual(['2', '3', '4', '5', '6']);
    expect(await dashboard.row('job:1').getByRole('gridcell').count()).toBe(6);
  });

  it('every control has a name', async () => {
    await dashboard.open('job:1');
    for (const role of ['button', 'searchbox', 'combobox', 'region', 'grid'] as const) {
      for (const element of await dashboard.page.getByRole(role).all()) {
        const named = await dashboard.page.getByRole(role, { name: /\S/ }).count();
        expect([role, named]).toEqual([role, await dashboard.page.getByRole(role).count()]);
        expect(await element.isVisible()).toBe(true);
      }
    }
  });

  it('news are told without moving the focus', async () => {
    const live = dashboard.page.locator('#live');
    expect(await live.getAttribute('aria-live')).toBe('polite');
    await dashboard.search.fill('job:4');
    await dashboard.page.locator('#live', { hasText: '1 of 5 locks' }).waitFor({ state: 'attached' });
    await dashboard.focusIsOn('search');
  });
});
