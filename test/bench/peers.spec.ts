import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PEERS } from '../../bench/peers.js';
import { root } from '../docs/compiler.js';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { dependencies } = JSON.parse(read('bench/package.json')) as Manifest;
const product = JSON.parse(read('package.json')) as Manifest & { readonly devDependencies: object };

describe('the packages that the bench compares with', () => {
  it('are called by the versions that bench/package.json pins', () => {
    const versions = PEERS.map(({ id, peerName = '' }) => [id, peerName.slice(peerName.lastIndexOf(' ') + 1)]);
    const pinned = PEERS.map(({ id }) => [id, dependencies[id]?.replace(/^npm:.*@/, '')]);
    expect(versions).toEqual(pinned);
  });

  it('are all of it, but for the client that one of them asks for', () => {
    expect(Object.keys(dependencies).sort()).toEqual([...PEERS.map(({ id }) => id), 'redis'].sort());
  });

  it('are no business of who installs or builds the product', () => {
    const installed = Object.keys({ ...product.dependencies, ...product.devDependencies });
    expect(PEERS.map(({ id }) => id).filter((id) => installed.includes(id))).toEqual([]);
  });

  it('are locked without the address of a registry', () => {
    expect(read('bench/package-lock.json')).not.toContain('"resolved"');
  });
});
