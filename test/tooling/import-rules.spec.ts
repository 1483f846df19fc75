import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const CRUISER = resolve('node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
const RULES = resolve('.dependency-cruiser.cjs');

/** What each file imports, and the one rule that this breaks. */
const VIOLATIONS: Record<string, { imports: string; breaks: string }> = {
  'lib/errors.ts': { imports: `export * from './lock-manager.js';`, breaks: 'imports-point-down-from-foundation' },
  'lib/stores/memory.store.ts': {
    imports: `export * from '../lock-manager.js';`,
    breaks: 'imports-point-down-from-stores',
  },
  'lib/stores/redis/scripts.ts': {
    imports: `export * from '../../watchdog.js';`,
    breaks: 'imports-point-down-from-stores',
  },
  'lib/lock.ts': { imports: `export * from './lock-manager.js';`, breaks: 'imports-point-down-from-core' },
  'lib/held-lock.ts': { imports: `export * from './lock-manager.js';`, breaks: 'imports-point-down-from-core' },
  'lib/watchdog.ts': {
    imports: `import type { LockManager } from './lock-manager.js';\nexport type M = LockManager;`,
    breaks: 'imports-point-down-from-core',
  },
  'lib/a-file-of-tomorrow.ts': {
    imports: `export * from './with-lock.decorator.js';`,
    breaks: 'imports-point-down-from-core',
  },
  'lib/lock-manager.ts': {
    imports: `export * from './lock-exception.filter.js';\nexport class LockManager {}`,
    breaks: 'imports-point-down-from-manager',
  },
  'lib/with-lock.decorator.ts': {
    imports: `export * from './distributed-lock.module.js';`,
    breaks: 'imports-point-down-from-nest',
  },
  'lib/distributed-lock.module.ts': {
    imports: `export * from './index.js';`,
    breaks: 'imports-point-down-from-module',
  },
  'lib/index.ts': { imports: `export * from './testing/clock.js';`, breaks: 'imports-point-down-from-index' },
  'lib/testing/locks.ts': { imports: `export * from '../cli/main.js';`, breaks: 'imports-point-down-from-testing' },
  'lib/testing/clock.ts': { imports: `import '@jest/globals';`, breaks: 'no-test-runner-in-lib' },
  'lib/waiters.ts': { imports: `import '@nestjs/common';`, breaks: 'only-nest-files-know-nest' },
  'lib/stores/redis/node.ts': {
    imports: `import type { Redis } from 'ioredis';\nexport type R = Redis;`,
    breaks: 'optional-peers-are-loaded-on-demand',
  },
  'lib/stores/failover.ts': { imports: `await import('pg');`, breaks: 'optional-peers-stay-in-their-store' },
  'lib/fencing/fenced-set.ts': { imports: `export * from '../../test/helper.js';`, breaks: 'lib-stands-alone' },
  'lib/ring-a.ts': { imports: `export * from './ring-b.js';`, breaks: 'no-circular' },
};

const HARMLESS: Record<string, string> = {
  'lib/cli/main.ts': `export * from '../lock-exception.filter.js';`,
  'lib/ring-b.ts': `export * from './ring-a.js';`,
  'lib/lock-exception.filter.ts': `import '@nestjs/common';\nexport const a = 1;`,
  'lib/stores/redis/client.ts': `export * from '../../errors.js';\nexport const load = () => import('ioredis');`,
  'test/helper.ts': 'export {};',
};

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string; readonly severity: string };
}

describe('the import rules', () => {
  let folder: string;
  let exitCode: number | null;
  let found: Violation[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-rules-'));
    const files = { ...HARMLESS };
    for (const [file, { imports }] of Object.entries(VIOLATIONS)) files[file] = imports;
    for (const [file, text] of Object.entries({ ...files, 'tsconfig.json': '{}' })) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    const [code, output] = await cruise('err');
    exitCode = code;
    expect(output).toContain('error');
    found = (JSON.parse((await cruise('json'))[1]) as { summary: { violations: Violation[] } }).summary.violations;
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  function cruise(outputType: string): Promise<[number | null, string]> {
    return new Promise((done) => {
      const args = [CRUISER, 'lib', 'test', '--config', RULES, '--output-type', outputType];
      const child = execFile(process.execPath, args, { cwd: folder }, (_error, stdout) =>
        done([child.exitCode, stdout]),
      );
    });
  }

  it('make the lint step fail', () => {
    expect(exitCode).toBeGreaterThan(0);
    expect(found.map(({ rule }) => rule.severity)).not.toContain('warn');
  });

  it.each(Object.entries(VIOLATIONS))('refuse what %s does', (file, { breaks }) => {
    expect(found.filter(({ from }) => from === file).map(({ rule }) => rule.name)).toContain(breaks);
  });

  it('let a store load its client on demand and import what lies below it', () => {
    const rules = found.filter(({ from }) => from === 'lib/stores/redis/client.ts').map(({ rule }) => rule.name);
    // Nothing is installed in this folder, so the client counts as undeclared here.
    expect(rules.filter((rule) => rule !== 'lib-declares-what-it-imports')).toEqual([]);
  });
});
