import { describe, expect, it } from '@jest/globals';
import { connectRedis, LockManager } from 'nestjs-fenced-lock';
import { eventually } from '../../support/eventually.js';
import { RedisServer } from '../../support/redis-server.js';
import { cleanup } from '../cleanup.js';
import { codeBlocks } from '../markdown.js';
import { PodProgram } from '../pod-program.js';
import type { Snippets } from '../snippets.js';

export function threeSteps(snippets: Snippets): void {
  describe('the program of the three steps', () => {
    const afterwards = cleanup();
    const program = snippets.claim('NestFactory.createApplicationContext');
    const REPORT = /^([ab]) reports with token (\d+)$/;

    it('reports every tick from exactly one of two pods, with rising tokens, and goes on in one when the other ends', async () => {
      const redis = await RedisServer.start();
      afterwards(() => redis.stop());
      const pods = await Promise.all(['a', 'b'].map((name) => PodProgram.start(program.path, name, redis.url)));
      afterwards(() => Promise.all(pods.map((pod) => pod.stop())));

      const reports = (): { pod: string; token: number }[] =>
        pods
          .flatMap((pod) => pod.lines)
          .map((line) => ({ pod: REPORT.exec(line)![1]!, token: Number(REPORT.exec(line)![2]) }))
          .sort((a, b) => a.token - b.token);
      await eventually(() => expect(reports().length).toBeGreaterThanOrEqual(3), { timeoutMs: 60_000 });
      // A pod that ends with the lock would keep the other waiting for the ttl.
      const store = await connectRedis({ nodes: [redis.url], ttlMs: 30_000 });
      afterwards(async () => store.close?.());
      await eventually(async () => expect(await new LockManager(store).isLocked('job:report')).toBe(false));
      const together = reports();
      const complaints = pods.map((pod) => pod.complaints).join('');
      // Whoever reported last ends; that the other takes over shows that it ticked, and skipped, all along.
      const ending = pods.find(({ name }) => name === together.at(-1)!.pod)!;
      const other = pods.find((pod) => pod !== ending)!;
      await ending.stop();
      const before = other.lines.length;
      await eventually(() => expect(other.lines.length).toBeGreaterThan(before), { timeoutMs: 60_000 });
      await other.stop();

      for (const { lines } of pods) expect(lines).toEqual([...lines].sort());
      // Tokens have the shape of a clock, in µs, so they tell the two-second tick that a report belongs to.
      const ticks = reports().map(({ token }) => Math.floor(token / 2_000_000));
      expect(ticks).toEqual([...new Set(ticks)]);
      // On a machine that is held up a tick may be left out in both pods: the scheduler or the scheduled call says so.
      const said = complaints.split('\n').filter((line) => line !== '');
      for (const line of said) expect(line).toMatch(/Missed execution|no answer within/);
      if (said.length === 0) {
        expect(ticks.slice(0, together.length)).toEqual(together.map((_, index) => ticks[0]! + index));
      }
    }, 150_000);

    it('is shown with output of this form: a tick a line, by either pod, tokens rising', () => {
      const [shown, another] = codeBlocks(snippets.text, 'text');
      expect(another).toBeUndefined();
      const lines = shown!.code.trim().split('\n');
      const reports = lines.map((line) => REPORT.exec(line)?.slice(1) ?? [line]);

      expect(new Set(reports.map(([pod]) => pod))).toEqual(new Set(['a', 'b']));
      const ticks = reports.map(([, token]) => Math.floor(Number(token) / 2_000_000));
      expect(ticks).toEqual(ticks.map((_, index) => ticks[0]! + index));
    });
  });
}
