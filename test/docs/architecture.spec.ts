import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from './compiler.js';
import { codeBlocks, tables } from './markdown.js';

interface Rule {
  readonly name: string;
  readonly from: { readonly path?: string };
}

const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as { forbidden: Rule[] };
const PREFIX = 'imports-point-down-from-';
const rules = forbidden.filter(({ name }) => name.startsWith(PREFIX));
const rows = tables(page).find(({ head }) => head[0] === 'layer')!.rows;
const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);

describe('the page on the architecture', () => {
  it('draws the layers in the order that the rules on imports keep', () => {
    const [diagram] = codeBlocks(page, 'mermaid');
    const drawn = /^ {2}(\w+(?: --> \w+)*)$/m.exec(diagram!.code)![1]!.split(' --> ');
    const [, ...below] = drawn;
    expect(below).toEqual(rules.map(({ name }) => name.slice(PREFIX.length)));
    expect(rows.map(([layer]) => codeIn(layer!)[0])).toEqual(drawn);
  });

  it('names for each layer files that are in it', () => {
    for (const [layer, , where] of rows) {
      const rule = rules.find(({ name }) => name === PREFIX + codeIn(layer!)[0]);
      for (const file of codeIn(where!)) {
        const inLayer = rule ? new RegExp(rule.from.path!).test(file) : file.startsWith('lib/cli/');
        expect({ file, exists: existsSync(join(root, file)), inLayer }).toEqual({ file, exists: true, inLayer: true });
      }
    }
  });

  it('names only files that there are', () => {
    const prose = page.replace(/```.*?```/gs, '');
    const named = codeIn(prose).filter((code) => /^[\w./-]+\.(ts|cjs)$/.test(code));
    const exists = (file: string): boolean =>
      existsSync(join(root, file)) || existsSync(join(root, 'lib/stores/redis', file));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((file) => !exists(file))).toEqual([]);
  });
});
