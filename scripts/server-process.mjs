import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { reapWithParent } from './reaper.mjs';

const START_LIMIT_MS = 20_000;
/** As much of what a server said as helps to see why it did not start. */
const TAIL = 2_000;

/**
 * Runs a server until `stop`, and never longer than this process lives, however that ends: not even the folder stays. Resolves once it has said that it is ready.
 * @param {{ command: string, args: string[], readyWhen: string, folder: string, options?: import('node:child_process').CommonSpawnOptions }} server
 * @returns {Promise<{ stop(signal: NodeJS.Signals): Promise<void> }>}
 */
export async function startServer({ command, args, readyWhen, folder, options }) {
  const reaper = reapWithParent(folder);
  // In a process group of its own: on Ctrl-C this process decides what ends when.
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).finally(reaper.done);
  if (child.pid !== undefined) reaper.watch(child.pid);

  let said = '';
  const ready = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        said = (said + text).slice(-TAIL);
        if (said.includes(readyWhen)) resolve(true);
      });
    }
  });
  const stop = async (/** @type {NodeJS.Signals} */ signal) => {
    child.kill(signal);
    await ended;
  };
  const late = new AbortController();
  const tooLate = delay(START_LIMIT_MS, false, { signal: late.signal }).catch(() => false);
  const isReady = await Promise.race([ready, ended.then(() => false), tooLate]);
  late.abort();
  if (!isReady) {
    await stop('SIGKILL');
    throw new Error(`${command} did not start: ${said || 'it said nothing'}`);
  }
  return { stop };
}

/** @param {string} folder */
export async function removeFolder(folder) {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
