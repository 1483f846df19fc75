import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChildProcess } from '../support/child-process.js';
import { startRedisNodes, stopAll } from '../support/redis-server.js';
import { Prng } from '../simulation/prng.js';
import { Audit, type Hold } from './audit.js';
import type { ContenderTerms } from './contender.js';
import { NodeFaults } from './node-faults.js';

export interface SoakResult {
  readonly holds: number;
  /** Of each contender. */
  readonly holdsEach: readonly number[];
  readonly faults: { readonly restart: number; readonly freeze: number };
  readonly violations: readonly string[];
}

const NODES = 3;
const CONTENDERS = 3;
const KEYS = ['a', 'b', 'c'];
const TTL_MS = 1000;
/** A contender may be silent for as long as a majority of nodes is unwell. */
const SILENCE_MS = 60_000;

type Message = { hold: Hold } | { done: true } | { ready: true };

/** Three processes contend for three keys on three real nodes, of which one at a time crashes or hangs. */
export async function soak(forMs: number, seed: number): Promise<SoakResult> {
  const servers = await startRedisNodes(NODES + 1);
  const [ledger, ...nodes] = servers;
  const contenders: ChildProcess[] = [];
  const counters = new Redis(ledger!.port, '127.0.0.1');
  const faults = new NodeFaults(nodes, new Prng(seed), TTL_MS);
  const audit = new Audit();
  try {
    for (let index = 0; index < CONTENDERS; index++) {
      const terms: ContenderTerms = {
        ...{ nodes: nodes.map(({ url }) => url), ledger: ledger!.url },
        ...{ keys: KEYS, ttlMs: TTL_MS, seed: seed + index + 1 },
      };
      contenders.push(
        await ChildProcess.start(new URL('./contender.ts', import.meta.url), { env: { TERMS: JSON.stringify(terms) } }),
      );
    }
    const heard = contenders.map((contender) => hear(contender, audit));
    const told = Promise.all(heard);
    const befalling = faults.run();
    await Promise.race([sleep(forMs), told]);
    faults.end();
    await befalling;
    for (const contender of contenders) contender.send('stop');
    const holdsEach = await told;
    const counted = await counters.mget(...KEYS);
    return {
      holds: holdsEach.reduce((sum, holds) => sum + holds, 0),
      holdsEach,
      faults: faults.count,
      violations: audit.violations(new Map(KEYS.map((key, index) => [key, Number(counted[index] ?? 0)]))),
    };
  } finally {
    faults.end();
    await Promise.all(contenders.map((contender) => contender.kill()));
    counters.disconnect();
    await stopAll(servers);
  }
}

/** Takes down what one contender tells until it is done; rejects, with its output, if it ends before. */
async function hear(contender: ChildProcess, audit: Audit): Promise<number> {
  for (let holds = 0; ;) {
    const message = await contender.next<Message>(undefined, SILENCE_MS);
    if ('done' in message) return holds;
    if (!('hold' in message)) continue;
    audit.add(message.hold);
    holds++;
  }
}
