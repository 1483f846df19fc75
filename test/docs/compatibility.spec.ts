import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { NODE_VERSIONS } from '../../scripts/consumers/runtimes.mjs';
import { root } from './compiler.js';
import { tables } from './markdown.js';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node: string };
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const manifest = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json'))) as Manifest;
const page = read('docs/compatibility.md');
const rowsOf = (head: string): string[][] =>
  tables(page)
    .find(({ head: [first, second] }) => (first || second) === head)!
    .rows.map((row) => row.map((cell) => cell.replace(/`/g, '')));

const consumers = ['nest12-esm', 'nest11-cjs', 'oldest-cjs'].map((name) => manifest(`test/consumers/${name}`));
const ours = manifest('.');

/** Aliases such as `ioredis5` are other versions of the same. */
function versionsOf(name: string): string[] {
  const versions = [ours, ...consumers].flatMap(({ dependencies, devDependencies }) =>
    Object.entries({ ...dependencies, ...devDependencies }).flatMap(([key, version]) => {
      if (key === name) return [version];
      return version.startsWith(`npm:${name}@`) ? [version.slice(`npm:${name}@`.length)] : [];
    }),
  );
  return [...new Set(versions)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

describe('the page on compatibility', () => {
  it('names the versions that are tried, and no other', () => {
    const rows = rowsOf('supported').map(([name = '', , tried]) => ({ name, tried }));
    expect(rows.map(({ name }) => name)).toContain('@nestjs/core');
    for (const { name, tried } of rows) {
      const versions = name === 'Node' ? NODE_VERSIONS : versionsOf(name);
      expect({ name, tried }).toEqual({ name, tried: versions.join(', ') });
    }
  });

  it('says of Node and of each peer what the package says', () => {
    const declared: Record<string, string | undefined> = { ...ours.peerDependencies, Node: ours.engines?.node };
    const numbers = (text: string): string[] =>
      (text.match(/\d+(\.\d+)*/g) ?? []).map((number) => number.replace(/(\.0)+$/, ''));
    const rows = rowsOf('supported').filter(([name = '']) => declared[name]);
    expect(rows.length).toBeGreaterThan(3);
    for (const [name = '', supported = ''] of rows) {
      expect({ name, supported: numbers(supported) }).toEqual({ name, supported: numbers(declared[name]!) });
    }
  });

  it('gives for each neighbour the versions that its test runs with, and has such a test', () => {
    const [nest12, nest11] = consumers as [Manifest, Manifest, Manifest];
    const rows = rowsOf('package');
    expect(rows.length).toBeGreaterThan(8);
    const tests = ['test/e2e', 'test/fencing'].flatMap((folder) =>
      readdirSync(join(root, folder)).map((file) => read(join(folder, file))),
    );
    for (const [name = '', with12, with11] of rows) {
      const at = ({ dependencies }: Manifest): string => dependencies?.[name] ?? '–';
      const root12 = ours.devDependencies?.[name];
      expect({ name, with12, with11 }).toEqual({
        name,
        with12: nest12.dependencies?.[name] ?? root12,
        with11: at(nest11),
      });
      expect({ name, root: root12 }).toEqual({ name, root: with12 });
      const tested = tests.some((text) => text.includes(`from '${name}'`) && text.includes('@WithLock('));
      expect({ name, tested }).toEqual({ name, tested: true });
    }
  });

  it('is about consumers that there are', () => {
    const templates = readdirSync(join(root, 'test/consumers'));
    expect(templates.sort()).toEqual(['bare-esm', 'nest11-cjs', 'nest12-esm', 'oldest-cjs', 'shared']);
    for (const template of templates.filter((name) => name !== 'shared')) {
      expect(existsSync(join(root, 'test/consumers', template, 'package.json'))).toBe(true);
      expect(read('scripts/test-consumers.mjs')).toContain(`'${template}'`);
    }
  });
});
