import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from './compiler.js';

type Names = Readonly<Record<string, string>>;

describe('the page on dependencies', () => {
  it('gives a reason for every package that is asked for', () => {
    const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8');
    const named = [...page.matchAll(/`([^`\s]+)`/g)].map(([, name]) => name!);
    const { dependencies, peerDependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'peerDependencies' | 'devDependencies', Names>;
    // Of a scope that a row begins with, the others are named without it.
    const isNamed = (name: string): boolean =>
      [name, name.replace(/^@(nestjs|opentelemetry)\//, '')].some((each) =>
        named.some((entry) => entry === each || (entry.endsWith('*') && each.startsWith(entry.slice(0, -1)))),
      );
    const asked = Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies });
    expect(asked.filter((name) => !isNamed(name))).toEqual([]);
  });
});
