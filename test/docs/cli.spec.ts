import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { LockManager } from 'nestjs-fenced-lock';
import { LockingTestingModule } from 'nestjs-fenced-lock/testing';
import { OPTIONS } from '../../lib/cli/arguments.js';
import { EXIT } from '../../lib/cli/exit-codes.js';
import { USAGE } from '../../lib/cli/usage.js';
import { cleanup } from './cleanup.js';
import { root, typeErrors } from './compiler.js';
import { tables } from './markdown.js';
import { Snippets } from './snippets.js';

const text = readFileSync(join(root, 'docs/cli.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const rowsOf = (first: string) => tables(text).find(({ head }) => head[0] === first)!.rows;
const code = (cell = ''): string => cell.replace(/`/g, '');

interface LockAdmin {
  heldBy(pod: string): Promise<{ key: string }[]>;
  takeBack(key: string): Promise<boolean>;
}

describe('The page on the command line', () => {
  const afterwards = cleanup();
  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('names every option, and those of run with the defaults that the usage has', () => {
    for (const name of Object.keys(OPTIONS)) expect(text).toContain(`--${name}`);
    const rows = new Map(rowsOf('option').map(([option, value]) => [code(option), code(value)]));
    const ofRun = Object.entries(OPTIONS).flatMap(([name, { for: commands }]) =>
      (commands as readonly string[]).includes('run') && name !== 'node' && name !== 'fallback' ? [`--${name}`] : [],
    );
    expect([...rows.keys()].sort()).toEqual(ofRun.sort());
    for (const [option, value] of rows) {
      const [, told] = new RegExp(`^  ${option} .*Default (.*)\\.$`, 'm').exec(USAGE) ?? [];
      expect({ option, value: value.replace(' with one node', '') }).toEqual({
        option,
        value: told?.replace(' with one node', ''),
      });
    }
  });

  it('names every exit code', () => {
    const named = rowsOf('exit code').flatMap(([cell]) => [...code(cell).matchAll(/\d+/g)].map(Number));
    expect(named.sort()).toEqual(
      Object.values(EXIT)
        .filter((exit) => exit > 0)
        .sort(),
    );
  });

  it('has a snippet that type-checks, and lists and takes back', async () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
    const { LockAdmin: Admin } = await snippets.claim('class LockAdmin').load<{ LockAdmin: new () => LockAdmin }>();
    const app = await Test.createTestingModule({
      imports: [LockingTestingModule.forRoot()],
      providers: [Admin],
    }).compile();
    afterwards(() => app.close());
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    afterwards(async () => log.mockRestore());
    const locks = app.get(LockManager);
    for (let index = 0; index < 150; index++) await locks.acquire(`job:${index}`);
    const { pod } = await locks.inspect('job:1');
    const admin = app.get(Admin);
    expect(await admin.heldBy(pod!)).toHaveLength(150);
    expect(await admin.heldBy('another')).toEqual([]);
    expect(await admin.takeBack('job:1')).toBe(true);
    expect(await admin.takeBack('job:1')).toBe(false);
    expect(log.mock.calls[0]![0]).toContain(`job:1: ${pod} since 2`);
  });
});
