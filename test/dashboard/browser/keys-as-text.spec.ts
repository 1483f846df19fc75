import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DashboardPage } from './dashboard-page.js';
import type { PodProcess } from './pod-process.js';
import { Stage } from './stage.js';

let stage: Stage;
let pod: PodProcess;
let dashboard: DashboardPage;

beforeAll(async () => {
  stage = await Stage.start('shop-a');
  pod = stage.pods[0]!;
  dashboard = await stage.open();
}, 120_000);

afterAll(() => stage?.stop());

describe('A key in a browser', () => {
  it.each([
    '<img src=x onerror="alert(1)">',
    '<script>alert(1)</script>',
    '"><svg onload=alert(1)>',
    '</style></script><b>',
    'javascript:alert(1)',
    '${alert(1)} {{alert(1)}}',
    '‮txt.exe',
  ])('stays text wherever it is shown: %s', async (key) => {
    await pod.hold(key, { ttl: '9s', label: key });
    await dashboard.rowSays(key, pod.holder);
    await dashboard.open(key);
    await dashboard.detail.getByRole('button', { name: 'Release by force' }).click();
    expect(await dashboard.page.locator('#confirm-key').textContent()).toBe(key);
    await dashboard.dialog.getByRole('button', { name: 'Release' }).click();
    expect(await pod.lost(key)).toBe('taken');
    await dashboard.page.locator('.loss button', { hasText: key }).first().waitFor();
    await dashboard.page.locator('#labels th', { hasText: key }).waitFor();
    expect(await dashboard.page.locator('img, script:not([nonce]), b:not([id]), svg[onload]').count()).toBe(0);
    expect(dashboard.faults.list).toEqual([]);
  });

  it('could not become markup: the browser refuses to make any', async () => {
    const attempt = dashboard.page.evaluate('document.body.innerHTML = "<img src=x>"');
    await expect(attempt).rejects.toThrow(/TrustedHTML/);
    expect(dashboard.faults.list).toEqual([expect.stringContaining('TrustedHTML')]);
  });
});
