import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { AuthorityChange } from 'nestjs-fenced-lock';
import type { Database } from '../database/database.js';
import type { Journal } from '../shop/journal.js';
import type { FromPod, ToPod } from './messages.js';
import type { Pod } from './pod.js';
import type { PodSettings } from './pod-process.js';

/** What the parent of a pod gives to it, and hears from it. */
export interface PodParent {
  readonly database: Database;
  readonly journal: Journal;
  readonly onAuthorityChange: ((change: AuthorityChange) => void) | undefined;
}

/** A pod as a process of its own, which can be stopped for real. */
export async function startProcessPod(
  settings: PodSettings,
  { database, journal, onAuthorityChange }: PodParent,
): Promise<Pod> {
  const { name } = settings;
  const child = fork(process.argv[1] ?? '', { env: { ...process.env, SAMPLE_POD: JSON.stringify(settings) } });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${name} ended before it was ready (exit code ${code}).`)));
    child.on('message', (message: FromPod) => {
      if (message.type === 'ready') resolve(message.url);
      else if (message.type === 'event') journal.write(message.event, message.token);
      else if (message.type === 'authority') onAuthorityChange?.(message.change);
      else void answer(child, database, message);
    });
  });
  return {
    name,
    url,
    freeze: () => {
      child.kill('SIGSTOP');
      return `frozen: SIGSTOP to process ${child.pid}`;
    },
    thaw: () => void child.kill('SIGCONT'),
    close: () => close(child),
  };
}

async function answer(child: ChildProcess, database: Database, query: FromPod & { type: 'query' }): Promise<void> {
  let message: ToPod;
  try {
    const { rows } = await database.query(query.sql, query.params);
    message = { type: 'rows', id: query.id, rows };
  } catch (error) {
    message = { type: 'refused', id: query.id, reason: (error as Error).message };
  }
  if (child.connected) child.send(message);
}

async function close(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGCONT');
  if (child.connected) child.send({ type: 'close' } satisfies ToPod);
  await exited;
}
