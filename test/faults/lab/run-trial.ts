import type { Adapter } from './adapters.js';
import type { Fault } from './fault.js';
import { findingsOf, type Evidence } from './findings.js';
import { GUARDS, type Guard } from './messages.js';
import { violationsOf, type Result } from './results.js';
import type { Stage } from './stage.js';
import { Trial } from './trial.js';

export interface Trialled extends Result {
  readonly violations: readonly string[];
  readonly evidence: Evidence;
}

export async function runTrial(stage: Stage, fault: Fault, adapter: Adapter): Promise<Trialled> {
  const trial = new Trial(stage, adapter);
  try {
    await fault.run(trial);
    const evidence = await evidenceOf(trial);
    const result = { fault: fault.id, adapter: adapter.id, findings: findingsOf(evidence) };
    return { ...result, evidence, violations: violationsOf(result) };
  } finally {
    await trial.close();
  }
}

async function evidenceOf(trial: Trial): Promise<Evidence> {
  const { workers, stage, key, quietAt, brokenAt, healedAt, left } = trial;
  const values = await Promise.all(trial.counters.map((counter) => stage.ledger.value(counter)));
  const trouble = (kind: 'rejection' | 'exception'): string[] =>
    workers.flatMap((worker) => worker.trouble.filter((one) => one.kind === kind).map(({ message }) => message));
  return {
    ...{ key, quietAt, brokenAt, healedAt, left, victim: trial.victim.name },
    ...{ wokeAt: trial.wokeAt ?? null, recoveredAt: trial.recoveredAt ?? null },
    holds: workers.flatMap(({ holds }) => holds),
    entries: workers.flatMap(({ name, entries }) => entries.map((entry) => ({ worker: name, ...entry }))),
    killed: workers.flatMap(({ name, killedAt }) => (killedAt === undefined ? [] : [{ worker: name, at: killedAt }])),
    log: await stage.ledger.log(trial.counters),
    values: Object.fromEntries(GUARDS.map((guard, index) => [guard, values[index]!])) as Record<Guard, number>,
    failures: workers.reduce((sum, { failures }) => sum + failures.length, 0),
    rejections: trouble('rejection'),
    crashes: [...trouble('exception'), ...workers.flatMap(({ wrong }) => wrong)],
    timers: workers.flatMap(({ leftovers }) => leftovers.timers),
  };
}
