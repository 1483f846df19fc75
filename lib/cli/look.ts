import { createInterface } from 'node:readline/promises';
import type { LockEntry } from '../lock-info.js';
import type { LockManager } from '../lock-manager.js';
import type { Arguments } from './arguments.js';
import { details, holder, printable, table } from './describe-lock.js';
import { EXIT } from './exit-codes.js';
import { UsageError } from './usage.js';

const PAGE = 1000;

type Print = (text: string) => void;

/** With `--json` one object a line. */
export async function list(locks: LockManager, { prefix = '', json }: Arguments, print: Print): Promise<number> {
  const found = new Map<string, LockEntry>();
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const page = await locks.list({ prefix, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const lock of page.locks) {
      if (json && !found.has(lock.key)) print(`${JSON.stringify(lock)}\n`);
      found.set(lock.key, lock);
    }
    ({ cursor } = page);
  }
  if (!json) print(table([...found.values()], new Date()));
  return EXIT.ok;
}

export async function inspect(locks: LockManager, { key, json }: Arguments, print: Print): Promise<number> {
  const info = await locks.inspect(key);
  print(json ? `${JSON.stringify({ key, ...info })}\n` : details(key, info, new Date()));
  return info.locked ? EXIT.ok : EXIT.nothing;
}

/** @throws UsageError when nobody is there to be asked. */
export async function release(locks: LockManager, { key, yes }: Arguments, print: Print): Promise<number> {
  if (!yes && !process.stdin.isTTY) throw new UsageError('give --yes: nobody is there to be asked');
  const info = await locks.inspect(key);
  if (info.locked || info.owner !== undefined) {
    print(`${printable(key)} is held by ${holder(info)}, token ${info.fencingToken ?? 'unknown'}.\n`);
    if (!yes && !(await confirmed())) return EXIT.nothing;
  }
  const released = await locks.forceRelease(key);
  print(released ? 'Released. The holder is told when it next renews.\n' : 'There was nothing to release.\n');
  return released ? EXIT.ok : EXIT.nothing;
}

async function confirmed(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question('It may still be at work. Take the lock from it? [y/N] ');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
