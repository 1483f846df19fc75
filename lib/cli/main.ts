#!/usr/bin/env node
import { toMs } from '../duration.js';
import { LockBusyError, LockOptionsError, LockUnavailableError } from '../errors.js';
import { LockManager } from '../lock-manager.js';
import { parseArguments, type Arguments } from './arguments.js';
import { printable } from './describe-lock.js';
import { EXIT } from './exit-codes.js';
import { inspect, list, release } from './look.js';
import { openStore, secretsOf, toPlaces } from './open-store.js';
import { run } from './run.js';
import { USAGE, UsageError } from './usage.js';

const TTL = 30;
const SHUTDOWN_MS = 2000;

let secrets: readonly string[] = [];
const print = (text: string): void => void process.stdout.write(text);

function tell(message: string): void {
  const text = secrets.reduce((said, secret) => said.replaceAll(secret, '…'), message);
  process.stderr.write(`nestjs-fenced-lock: ${printable(text)}\n`);
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const parsed = parseArguments(args);
    if (parsed) return await carryOut(parsed);
    print(USAGE);
    return args.length === 0 ? EXIT.usage : EXIT.ok;
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
    return exitCodeOf(error);
  }
}

async function carryOut(args: Arguments): Promise<number> {
  const places = toPlaces(args, process.env);
  secrets = secretsOf(places);
  const ttlMs = toMs('ttl', args.ttl ?? TTL);
  // What is wrong with a node shows in the outcome of a look, and only there; a command may run for days.
  const log = args.command === 'run' ? tell : (): void => undefined;
  const locks = new LockManager(await openStore(args, places, { ttlMs, log }), { log: { warn: tell } });
  try {
    switch (args.command) {
      case 'ls':
        return await list(locks, args, print);
      case 'inspect':
        return await inspect(locks, args, print);
      case 'release':
        return await release(locks, args, print);
      case 'run':
        return await run(locks, args, tell);
    }
  } finally {
    await locks.shutdown(SHUTDOWN_MS);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof LockOptionsError) return EXIT.usage;
  if (error instanceof LockBusyError) return EXIT.busy;
  if (error instanceof LockUnavailableError) return EXIT.unavailable;
  return EXIT.lost;
}

// Whoever reads has enough: `… ls | head`.
process.stdout.on('error', () => process.exit());
process.exitCode = await main(process.argv.slice(2));
