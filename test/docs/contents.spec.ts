import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from './compiler.js';
import { codeBlocks, relativeLinks } from './markdown.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const contents = 'docs/README.md';

describe('the table of contents', () => {
  const linked = relativeLinks(read(contents)).map((link) =>
    relative(root, resolve(root, 'docs', link.split('#')[0]!)),
  );

  it('names every page, in one line of its own', () => {
    const listed = [...read(contents).matchAll(/^- \[.*?\]\((\S+?)\)(: .+)?\.$/gm)].map(([, link]) => link!);
    const other = ['../README.md', '../CONTRIBUTING.md', '../CHANGELOG.md'];
    expect(listed.sort()).toEqual([...pages.filter((name) => name !== 'README.md'), ...other].sort());
  });

  it('is where the README leads to', () => {
    expect(relativeLinks(read('README.md'))).toContain(contents);
    expect(linked).toContain('README.md');
  });
});

describe('the TypeScript of every page', () => {
  const checked = readdirSync(join(root, 'test/docs'))
    .filter((name) => name.endsWith('.spec.ts') && name !== 'contents.spec.ts')
    .map((name) => read(join('test/docs', name)))
    .filter((text) => text.includes('new Snippets(') && text.includes('typeErrors('))
    .map((text) => /(?:const text = |new Snippets\()readFileSync\(join\(root, '(.*?)'\)/.exec(text)?.[1]);

  it.each(['README.md', ...pages.map((name) => `docs/${name}`), 'sample/README.md', 'CONTRIBUTING.md'])(
    '%s is compiled and run, where there is any',
    (page) => {
      expect(codeBlocks(read(page), 'typescript')).toEqual([]);
      if (codeBlocks(read(page), 'ts').length > 0) expect(checked).toContain(page);
    },
  );
});
