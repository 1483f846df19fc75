import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { MemoryStore, LockManager } from 'nestjs-fenced-lock';
import type { Type } from '@nestjs/common';
import { toDashboardSettings } from '../../lib/dashboard/lock-dashboard.options.js';
import { propertyReader, root, typeErrors } from './compiler.js';
import { tables } from './markdown.js';
import { Snippets } from './snippets.js';

const text = readFileSync(join(root, 'docs/dashboard.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const code = (cell = ''): string => cell.replace(/`/g, '').replace(/^'(.*)'$/, '$1');

describe('the page on the dashboard', () => {
  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('has snippets that type-check', () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
  });

  it('names every option there is, with its default', () => {
    const { rows } = tables(text).find(({ head }) => head[0] === 'option')!;
    const named = new Map(rows.map(([option, value]) => [code(option), code(value)]));
    expect([...named.keys()].sort()).toEqual(
      [...propertyReader(join(root, 'lib/dashboard/index.ts'))('LockDashboardOptions')].sort(),
    );
    const defaults = toDashboardSettings({ allowUnguarded: true });
    expect(named.get('path')).toBe(`/${defaults.path}`);
    expect(named.get('release')).toBe(String(defaults.release));
  });

  it('shows a guard that asks for a password, and lets in who has it', async () => {
    process.env['DASHBOARD_PASSWORD'] = 'correct horse';
    const { AppModule } = await snippets.claim('class AdminGuard').load<{ AppModule: Type }>();
    const testing = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(LockManager)
      .useValue(new LockManager(new MemoryStore()))
      .compile();
    const app = testing.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    const ask = async (authorization: string, path = ''): Promise<[number, string | null]> => {
      const answer = await fetch(`${await app.getUrl()}/locks${path}`, { headers: { authorization } });
      await answer.body?.cancel();
      return [answer.status, answer.headers.get('www-authenticate')];
    };
    const basic = (words: string): string => `Basic ${Buffer.from(words).toString('base64')}`;
    try {
      expect(await ask('')).toEqual([401, 'Basic']);
      expect(await ask(basic('admin:wrong'))).toEqual([401, 'Basic']);
      expect(await ask(basic('admin:wrong'), '/events')).toEqual([401, 'Basic']);
      expect(await ask(basic('admin:correct horse'))).toEqual([200, null]);
      expect(await ask(basic('admin:correct horse'), '/events')).toEqual([200, null]);
      delete process.env['DASHBOARD_PASSWORD'];
      expect(await ask(basic('admin:undefined'))).toEqual([401, 'Basic']);
    } finally {
      await app.close();
    }
  });

  it('has pictures that are quick to load', () => {
    for (const name of ['light', 'dark', 'phone']) {
      expect(statSync(join(root, `docs/dashboard/${name}.png`)).size).toBeLessThan(200_000);
      expect(text).toContain(`dashboard/${name}.png`);
    }
  });

  it('tells of every block what it is for', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
