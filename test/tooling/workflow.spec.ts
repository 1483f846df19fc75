import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { NODE_VERSIONS } from '../../scripts/consumers/runtimes.mjs';

const github = resolve('.github');
const workflow = readFileSync(join(github, 'workflows/ci.yml'), 'utf8');
const all = (pattern: RegExp): string[] => [...workflow.matchAll(pattern)].map(([, found]) => found!);

describe('the workflow of public CI', () => {
  it('runs every supported line of Node, for the tests and for the packed package', () => {
    const lines = NODE_VERSIONS.map((version) => version.split('.')[0]);
    expect([...new Set(all(/\{ node: (\d+)/g))]).toEqual(lines);
    expect(all(/^ {8}node: \[(.*)\]$/gm)).toEqual([lines.join(', ')]);
  });

  it('runs the tests on servers of all supported kinds', () => {
    expect(all(/redis: '([^']+)'/g)).toEqual(['redis:6.2', 'redis:7', 'redis:8', 'valkey/valkey:8']);
    expect(all(/postgres: (\d+)/g)).toEqual(['14', '15', '16', '17']);
  });

  it('hands servers over by the names that the tests look at', () => {
    const finder = readFileSync(resolve('scripts/find-servers.mjs'), 'utf8');
    const names = all(/^ {6}([A-Z_]+): /gm);
    expect(names).toEqual(['REDIS_SERVER_BIN', 'POSTGRES_BIN']);
    for (const name of names) expect(finder).toContain(`process.env.${name}`);
  });

  it('runs all that .ci/run does, by scripts that there are', () => {
    const { scripts } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as { scripts: object };
    const commands = (text: string): string[] =>
      [...text.matchAll(/\bnpm (?:run (\S+)|(test|start)\b)/g)].map(([, run, short]) => run ?? short!);
    const here = new Set(commands(workflow));
    expect([...here].filter((name) => !(name in scripts))).toEqual([]);
    const there = commands(readFileSync(resolve('.ci/run'), 'utf8')).filter((name) => name !== 'bench');
    expect(there.filter((name) => !here.has(name))).toEqual([]);
  });
});

describe('what is under .github', () => {
  it('names only files, scripts and pages that there are', () => {
    const files = (readdirSync(github, { recursive: true }) as string[]).filter((file) => /\.(yml|md)$/.test(file));
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) {
      const text = readFileSync(join(github, file), 'utf8');
      const named = text.match(/\b(docs\/[\w-]+\.md|[A-Z]{6,}\.md)\b/g) ?? [];
      expect({ file, missing: named.filter((name) => !existsSync(resolve(name))) }).toEqual({ file, missing: [] });
    }
  });
});
