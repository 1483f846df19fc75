import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from './compiler.js';
import { anchors, codeBlocks, relativeLinks, tables } from './markdown.js';

const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'sample/README.md',
  ...docs.map((name) => `docs/${name}`),
];
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function isDead(document: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? join(root, document) : resolve(root, dirname(document), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && !anchors(readFileSync(target, 'utf8')).includes(anchor);
}

describe.each(documents)('%s', (document) => {
  const text = read(document);

  it('has links that lead somewhere', () => {
    expect(relativeLinks(text).filter((link) => isDead(document, link))).toEqual([]);
  });

  it('has tables with as many cells in each row as in the head', () => {
    for (const { head, rows } of tables(text)) {
      for (const row of rows) expect({ row, cells: row.length }).toEqual({ row, cells: head.length });
    }
  });

  it('names only npm scripts that there are', () => {
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    const named = [...text.matchAll(/\bnpm (?:run (\S+?)(?=[\s`.,;)]|$)|(start|test)\b)/gm)].map(
      ([, run, short]) => run ?? short,
    );
    expect(named.filter((script) => !scripts.includes(script!))).toEqual([]);
  });
});

describe('the README', () => {
  const text = read('README.md');

  it('has links, tables and commands to check', () => {
    expect(relativeLinks(text)).toContain('docs/safety.md');
    expect(tables(text).length).toBeGreaterThanOrEqual(4);
    expect(text).toContain('npm test');
  });

  it('installs this package and its only peer that has to be chosen', () => {
    const { name, peerDependenciesMeta } = JSON.parse(read('package.json')) as {
      name: string;
      peerDependenciesMeta: object;
    };
    const commands = codeBlocks(text, 'sh').map(({ code }) => code.trim());
    expect(commands).toEqual([`npm install ${name} ${Object.keys(peerDependenciesMeta)[0]}`]);
  });
});
