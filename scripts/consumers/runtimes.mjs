import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npmInstall } from './commands.mjs';

/** The last of each line that is supported; docs/compatibility.md names them. */
export const NODE_VERSIONS = ['20.20.2', '22.23.5', '24.22.3'];

/**
 * The other lines of Node than the one that runs this, from the packages that carry its binaries.
 * @param {string} folder
 * @returns {Promise<{ version: string, binary: string }[]>}
 */
export async function installNodes(folder) {
  const others = NODE_VERSIONS.filter((version) => lineOf(version) !== lineOf(process.versions.node));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const names = others.map((version) => `node${lineOf(version)}`);
  await npmInstall(
    folder,
    ...others.map((version, index) => `${names[index]}@npm:node-${platform}-${process.arch}@${version}`),
  );
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  return others.map((version, index) => ({
    version,
    binary: join(folder, 'node_modules', `${names[index]}`, program),
  }));
}

const lineOf = (version) => version.split('.')[0];
