import { Deadline, now, validity } from '../../../../lib/deadline.js';
import type { Clock } from '../../../../lib/runtime.js';
import { RedlockStore } from '../../../../lib/stores/redis/redlock.store.js';
import type { GrantLog, Lease } from '../../../simulation/grant-log.js';
import type { Trace } from '../../../simulation/campaign.js';
import type { Network, Sender } from './network.js';
import type { Prng } from '../../../simulation/prng.js';

export interface PodTerms {
  readonly name: string;
  /** How fast its clock runs. */
  readonly pace: number;
  readonly ttlMs: number;
  readonly quarantineMs: number;
  /** Its wall clock does not move, and its random numbers are all the same: it proposes one token for ever. */
  readonly standstill: boolean;
}

/** What one attempt won. */
class Claim implements Lease {
  busy = false;
  over = false;

  constructor(
    readonly owner: string,
    readonly keys: readonly string[],
    public deadline: Deadline,
  ) {}

  /** A process that has died, or was told that its lock is lost, may still be writing: only the clock ends that, or its own release. */
  get valid(): boolean {
    return !this.over && this.deadline.remaining > 0;
  }
}

/** One process with a real store, doing what the locking core above a store does: take one key or several, renew, release, or die. */
export class Pod implements Sender {
  alive = true;
  /** How far its wall clock is off, in ms. */
  skewMs = 0;
  readonly name: string;
  readonly #store: RedlockStore;
  readonly #clock: Clock;
  readonly #claims: Claim[] = [];
  #attempts = 0;
  #open = 0;

  constructor(
    private readonly terms: PodTerms,
    network: Network,
    random: Prng,
    private readonly worldMs: () => number,
    private readonly log: GrantLog,
    private readonly trace: Trace | undefined,
  ) {
    this.name = terms.name;
    const monotonic = (): number => worldMs() * terms.pace;
    this.#clock = { monotonic, wall: () => EPOCH_MS + (terms.standstill ? 0 : worldMs() + this.skewMs) };
    this.#store = new RedlockStore(
      network.connect(this, terms.pace),
      { nodeTimeoutMs: terms.ttlMs, quarantineMs: terms.quarantineMs, log: () => undefined },
      {
        clock: this.#clock,
        timers: { start: () => unexpected('a timer') },
        random: { fraction: () => (terms.standstill ? 0 : random.fraction()), id: () => unexpected('an id') },
      },
    );
  }

  get idle(): boolean {
    return this.#open === 0;
  }

  get claims(): readonly Claim[] {
    return this.#claims.filter(({ valid, busy }) => valid && !busy);
  }

  start(keys: readonly string[]): void {
    const owner = `${this.name}/${++this.#attempts}`;
    this.trace?.(`${owner} asks for ${keys.join(' and ')}`);
    this.#open++;
    void this.#attempt(keys, owner).finally(() => this.#open--);
  }

  async renew(claim: Claim): Promise<void> {
    this.trace?.(`${claim.owner} renews`);
    const deadline = this.#deadline();
    claim.busy = true;
    const answers = await settled(claim.keys.map((key) => this.#store.renew(key, claim.owner, this.terms.ttlMs)));
    claim.busy = false;
    if (claim.over || !this.alive) return;
    if (answers.every((answer) => answer === true)) {
      claim.deadline = deadline;
      this.log.leased(claim);
    } else if (answers.includes(false)) {
      this.#claims.splice(this.#claims.indexOf(claim), 1);
    }
  }

  /** Also while a renewal is under way. */
  release(keepForMs: number): void {
    const claim = this.#claims.find(({ over }) => !over);
    if (!claim) return;
    this.trace?.(`${claim.owner} releases${keepForMs > 0 ? `, keeping it for ${keepForMs} ms` : ''}`);
    claim.over = true;
    this.#giveBack(claim.keys, claim.owner, keepForMs);
    this.#claims.splice(this.#claims.indexOf(claim), 1);
  }

  die(): void {
    this.trace?.(`${this.name} dies`);
    this.alive = false;
  }

  async #attempt(keys: readonly string[], owner: string): Promise<void> {
    const startedAt = this.worldMs();
    const deadline = this.#deadline();
    const answers = await settled(keys.map((key) => this.#store.acquire(key, owner, this.terms.ttlMs)));
    const tokens = answers.map((answer) => (answer && answer.acquired ? answer.fencingToken : undefined));
    const won = keys.filter((_, index) => tokens[index] !== undefined);
    const token = Math.max(...tokens.map((each) => each ?? 0));
    const lower = keys.filter((_, index) => tokens[index] !== token);
    const whole = won.length === keys.length;
    const raised = whole ? await settled(lower.map((key) => this.#store.raise(key, owner, token))) : [];
    if (!whole || raised.some((answer) => answer !== true)) return this.#giveBack(won, owner, 0);
    if (!this.alive) return;
    const grantedAt = this.worldMs();
    this.trace?.(`${owner} is granted ${keys.join(' and ')} with ${token}`);
    for (const key of keys) this.log.granted({ key, token, startedAt, grantedAt });
    const claim = new Claim(owner, keys, deadline);
    this.#claims.push(claim);
    this.log.leased(claim);
  }

  #giveBack(keys: readonly string[], owner: string, keepForMs: number): void {
    for (const key of keys) void this.#store.release(key, owner, keepForMs).catch(() => undefined);
  }

  #deadline(): Deadline {
    return new Deadline(this.#clock, now(this.#clock), validity(this.terms.ttlMs));
  }
}

const EPOCH_MS = 1_800_000_000_000;

async function settled<T>(answers: readonly Promise<T>[]): Promise<(T | undefined)[]> {
  const results = await Promise.allSettled(answers);
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
}

function unexpected(what: string): never {
  throw new Error(`The store asked for ${what}: the simulation has to learn how to give it one`);
}
