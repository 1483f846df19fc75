import assert from 'node:assert/strict';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import { eventually } from '../../support/eventually.js';
import type { FailoverLab } from './failover-lab.js';
import { nowMs, type CaseTerms, type PodTerms } from './messages.js';
import type { MutantName } from './mutants.js';
import { PodProcess } from './pod-process.js';

/** Looks, renewals and questions come so often that a case takes seconds. */
export const TERMS: CaseTerms = {
  ttlMs: 2000,
  leaseMs: 1000,
  failoverAfterMs: 300,
  returnAfterMs: 500,
  silenceMs: 300,
  policy: 'strict',
};
const PODS = ['a', 'b', 'c'];
const ENOUGH = 4;

let trials = 0;

/** One case on its way: three pods at work, a fault, and its end. */
export class Trial {
  pods: readonly PodProcess[] = [];
  readonly shortKeys: readonly string[];
  readonly longKeys: readonly string[];
  /** When the fault had begun and ended, on the machine's monotonic clock. */
  brokenAt = 0;
  healedAt = 0;
  endedAt = 0;
  readonly terms: CaseTerms;
  readonly #third: CaseTerms;

  constructor(
    readonly lab: FailoverLab,
    { terms = {}, third = {} }: { readonly terms?: Partial<CaseTerms>; readonly third?: Partial<CaseTerms> },
    private readonly mutant?: MutantName,
  ) {
    const id = ++trials;
    this.terms = { ...TERMS, ...terms };
    this.#third = { ...this.terms, ...third };
    this.shortKeys = ['x', 'y', 'z'].map((name) => `${name}:${id}`);
    this.longKeys = [`long:${id}`];
  }

  get keys(): readonly string[] {
    return [...this.shortKeys, ...this.longKeys];
  }

  /** Three pods, each of which has had its share while Redis decides. */
  async begin(): Promise<void> {
    const ways = await Promise.all(PODS.map(() => this.lab.lines()));
    const terms = (index: number): Omit<PodTerms, 'nodes' | 'postgres'> => ({
      ...(index === 2 ? this.#third : this.terms),
      ...{ ledger: this.lab.database.url, shortKeys: this.shortKeys, longKeys: this.longKeys, mutant: this.mutant },
    });
    this.pods = await Promise.all(PODS.map((name, index) => PodProcess.start(name, ways[index]!, terms(index))));
    for (const pod of this.pods) pod.send({ do: 'work' });
    await this.served(this.pods, nowMs(), 'REDIS');
  }

  broken(): void {
    this.brokenAt = nowMs();
  }

  healed(): void {
    this.healedAt = nowMs();
  }

  /** Each of these pods sees this state, and has since held a few locks that this state granted. */
  async served(pods: readonly PodProcess[], since: number, state: AuthorityState): Promise<void> {
    await this.each(pods, `served by ${state}`, (pod) => {
      const holds = pod.holdsSince(since).filter((hold) => hold.state === state);
      return pod.state === state && holds.length >= ENOUGH;
    });
  }

  /** Each of these pods has been told a few times since then that locks cannot be decided. */
  async refused(pods: readonly PodProcess[], since: number): Promise<void> {
    await this.each(pods, 'refused', (pod) => {
      const failures = pod.failuresSince(since);
      for (const { code } of failures) assert.equal(code, 'LOCK_UNAVAILABLE');
      return failures.length >= ENOUGH;
    });
  }

  async each(pods: readonly PodProcess[], what: string, isSo: (pod: PodProcess) => boolean): Promise<void> {
    await Promise.all(pods.map((pod) => pod.until(what, isSo)));
  }

  /** Redis decides again, and every pod has its share. */
  async recovered(): Promise<void> {
    await this.served(this.pods, this.healedAt, 'REDIS');
    this.endedAt = nowMs();
  }

  /** Every pod finishes its work and ends by itself. Says what is wrong with that, and with what is left. */
  async end(): Promise<string[]> {
    await Promise.all(this.pods.map((pod) => pod.obey({ do: 'rest' })));
    const wrong = (await Promise.all(this.pods.map((pod) => pod.leave()))).flat();
    await eventually(async () => assert.equal(await this.lab.advisoryLocks(), 0, 'advisory locks are left'));
    return wrong;
  }

  async close(): Promise<void> {
    await Promise.all(this.pods.map((pod) => pod.kill()));
    const lines = this.pods.flatMap((pod) => [...pod.lines.redis, pod.lines.postgres]);
    await Promise.all(lines.map((line) => line.close()));
    await this.lab.tidy();
  }
}
