import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from './compiler.js';

const read = <T>(path: string): T => JSON.parse(readFileSync(join(root, path), 'utf8')) as T;

/** That every public symbol is documented is checked by `npm run lint`. */
describe('the API reference', () => {
  it('has every entry of the package', () => {
    const { exports, scripts } = read<{
      exports: Record<string, string | { import: { default: string } }>;
      scripts: Record<string, string>;
    }>('package.json');
    const entries = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.import.default],
    );
    const { entryPoints } = read<{ entryPoints: string[] }>('typedoc.json');
    const sources = entries.map((entry) => entry.replace('./dist/esm/', 'lib/').replace(/\.js$/, '.ts'));
    expect(entryPoints.sort()).toEqual(sources.sort());
    expect(scripts['lint']).toContain('typedoc --emit none');
  });
});
