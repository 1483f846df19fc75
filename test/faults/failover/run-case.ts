import { Audit } from '../../soak/audit.js';
import type { FailoverLab } from './failover-lab.js';
import type { FaultCase } from './cases.js';
import type { PodHold } from './messages.js';
import type { MutantName } from './mutants.js';
import { Trial } from './trial.js';
import type { PodProcess } from './pod-process.js';

/** What came of one case. Times in ms, from the beginning of the fault to the recovery. */
export interface CaseResult {
  readonly name: string;
  readonly holds: number;
  /** The longest time without a grant to anybody, and to one of the pods. */
  readonly gapMs: number;
  readonly podGapMs: number;
  /** From the end of the fault until Redis decided again and every pod had its share. */
  readonly recoveryMs: number;
  /** All changes of authority, in order. */
  readonly states: readonly string[];
  readonly lost: number;
  readonly overlaps: number;
  readonly lostUpdates: number;
  readonly tokens: number;
  /** Each broken promise, in words. */
  readonly violations: readonly string[];
}

export async function runCase(lab: FailoverLab, faultCase: FaultCase, mutant?: MutantName): Promise<CaseResult> {
  const trial = new Trial(lab, faultCase, mutant);
  try {
    await trial.begin();
    await faultCase.run(trial);
    if (trial.endedAt === 0) await trial.recovered();
    const wrong = await trial.end();
    return await judge(faultCase.name, trial, wrong);
  } finally {
    await trial.close();
  }
}

async function judge(name: string, trial: Trial, wrong: readonly string[]): Promise<CaseResult> {
  const { pods, lab, brokenAt, healedAt, endedAt } = trial;
  const holds = pods.flatMap((pod) => pod.holds);
  const audit = new Audit();
  for (const hold of holds) audit.add(hold);
  const counters = new Map<string, number>();
  for (const key of trial.keys) counters.set(key, await lab.ledger.read(key));
  const audited = [...audit.violations(counters), ...fallingTokens(holds), ...refusedThoughHeld(holds)];
  const count = (pattern: RegExp): number => audited.filter((text) => pattern.test(text)).length;
  const gap = (of: readonly PodHold[]): number => longestGap(of, brokenAt, endedAt);
  return {
    ...{ name, holds: holds.length, gapMs: gap(holds), podGapMs: Math.max(...pods.map((pod) => gap(pod.holds))) },
    ...{ recoveryMs: endedAt - healedAt, lost: holds.filter(({ lost }) => lost).length },
    states: allChanges(pods).map(({ to }) => to),
    ...{ overlaps: count(/two holders|still held/), lostUpdates: count(/raises left/), tokens: count(/token/) },
    violations: [...audited, ...untold(pods), ...wrong],
  };
}

/** In the order of grants each token is above all before it. */
function fallingTokens(holds: readonly PodHold[]): string[] {
  const highest = new Map<string, PodHold>();
  const found: string[] = [];
  for (const hold of [...holds].sort((a, b) => a.grantedAt - b.grantedAt)) {
    const before = highest.get(hold.key);
    if (before && before.token >= hold.token) found.push(`token of ${hold.key} fell: ${before.token}, ${hold.token}`);
    else highest.set(hold.key, hold);
  }
  return found;
}

/** A guard that refuses a holder who still holds has seen a second one. */
function refusedThoughHeld(holds: readonly PodHold[]): string[] {
  return holds
    .filter(({ outcome, lost }) => outcome === 'stale' && !lost)
    .map(({ key, token }) => `write of ${token} to ${key} was refused while its lock was still held`);
}

/** Each change was seen by a pod, with the same reason by all that saw it, and by each of these as an event and a line in the log. */
function untold(pods: readonly PodProcess[]): string[] {
  const found: string[] = [];
  const changes = allChanges(pods);
  changes.forEach(({ epoch }, index) => {
    if (epoch !== changes[0]!.epoch + index) found.push(`no pod saw the change before epoch ${epoch}`);
  });
  const last = changes.at(-1)?.epoch;
  for (const pod of pods) {
    if (pod.changes.at(-1)?.epoch !== last) found.push(`${pod.name} did not see the last change`);
    for (const { from, to, epoch, reason } of pod.changes) {
      const change = changes.find((one) => one.epoch === epoch)!;
      if (reason === '' || reason !== change.reason) found.push(`${pod.name} was told another reason: ${reason}`);
      const line = `Locks are now decided by ${to} (epoch ${epoch}): ${reason}`;
      const silent = from === undefined && to === 'REDIS'; // as nearly always at the start
      if (!silent && !pod.log.includes(line)) found.push(`${pod.name} did not log: ${line}`);
    }
  }
  return found;
}

function allChanges(pods: readonly PodProcess[]): PodProcess['changes'] {
  const byEpoch = new Map(pods.flatMap(({ changes }) => changes.map((change) => [change.epoch, change] as const)));
  return [...byEpoch.values()].sort((a, b) => a.epoch - b.epoch);
}

function longestGap(holds: readonly PodHold[], from: number, to: number): number {
  const grants = holds.map(({ grantedAt }) => grantedAt).filter((at) => at > from && at < to);
  const times = [from, ...grants.sort((a, b) => a - b), to];
  return Math.max(...times.slice(1).map((at, index) => at - times[index]!));
}
