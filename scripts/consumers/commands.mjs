import { spawn } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../redis-process.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const templates = join(root, 'test/consumers');
const INSTALL = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'];

/**
 * @param {string} command @param {string[]} args @param {string} cwd @param {Record<string, string>} [env]
 * @returns {Promise<string>} what it printed
 */
export function run(command, args, cwd, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ${args.join(' ')} exited with ${code}\n${output}`)),
    );
  });
}

/** @param {string} folder @param {string[]} args */
export const node = (folder, ...args) => run(process.execPath, args, folder);

/** The compiler of the application, not ours. */
export const tsc = (folder, ...args) => node(folder, 'node_modules/typescript/bin/tsc', ...args);

/** Runs with a Redis of its own, which it finds in `REDIS_URL`. @template T @param {(env: Record<string, string>) => Promise<T>} work */
export async function withRedis(work) {
  const redis = await startRedis();
  try {
    return await work({ REDIS_URL: redis.url, E2E_REDIS_URL: redis.url });
  } finally {
    await redis.stop();
  }
}

/** @returns {Promise<string>} the path of the tarball */
export async function pack(folder) {
  await run('npm', ['pack', '--pack-destination', folder], root);
  const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  return join(folder, tarball);
}

/** Lays the template into the folder, over what all share, and installs what it asks for beside the tarball. */
export async function install(template, folder, tarball) {
  await cp(join(templates, 'shared'), folder, { recursive: true });
  await cp(join(templates, template), folder, { recursive: true });
  await npmInstall(folder, tarball);
}

/** @param {string} folder @param {string[]} packages */
export const npmInstall = (folder, ...packages) => run('npm', ['install', ...INSTALL, ...packages], folder);
