import type { Clock, Timers } from '../../runtime.js';
import { inTime } from './in-time.js';
import type { RedisClient } from './redis-client.js';
import { factsOf, isTooOld, OLDEST_VERSION, type ServerFacts } from './server-facts.js';
import { isDenial } from './script-answer.js';
import { missingRights, type MissingRights } from './server-rights.js';
import { serversOf, type Server } from './servers.js';

export interface FitnessTerms {
  readonly name: string;
  /** Whether it is to have a quarantine. */
  readonly guarded: boolean;
  readonly log: (message: string) => void;
  /** Called after each look. */
  readonly looked: (fitness: Fitness) => void;
}

const TIMEOUT_MS = 1000;
/** How often a node that is not fit is looked at again, while it is asked for locks. */
const REST_MS = 1000;

const SAFE_POLICY = 'noeviction';
const EVICTS = 'drops locks when its memory is full, and may let a second holder in';
const CROSSING = /^(MOVED|CROSSSLOT|ASK)\b/;
const MEMBER =
  'MOVED is what it answers for most keys, since it is a member of a Cluster; give the whole Cluster as one node, by a client: `new Cluster([…])`';

/**
 * Whether what a connection leads to can keep locks. It is looked at whenever the connection is ready, since that may lead elsewhere each time, and while it is not fit also when it is asked for
 * locks. Of a node that does not tell nothing is held against it: then each lock's own call says what is wrong.
 */
export class Fitness {
  readonly name: string;
  /** The processes it leads to, as far as they tell. */
  runIds: readonly string[] = [];
  /** Why it can never be of use, as it is set up. */
  misuse: string | undefined;
  #lack: string | undefined;
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Each thing is said once. */
  readonly #said = new Set<string>();

  constructor(
    private readonly client: RedisClient,
    private readonly terms: FitnessTerms,
    private readonly runtime: { readonly clock: Pick<Clock, 'monotonic'>; readonly timers: Timers },
  ) {
    this.name = terms.name;
    client.on('ready', this.#look);
    if (client.status === 'ready') this.#look();
  }

  /** Why it is to be asked for no locks, if there is a reason. */
  refusal(): string | undefined {
    const refusal = this.misuse ?? this.#lack;
    if (refusal !== undefined) this.#doubt();
    return refusal;
  }

  /** What a request was refused with: which command the user lacks is not always said. */
  heard(why: string): void {
    if (isDenial(why)) this.#doubt();
  }

  #doubt(): void {
    if (this.runtime.clock.monotonic() - this.#lookedAt >= REST_MS && this.client.status === 'ready') this.#look();
  }

  /** When it is not being looked at, or not any more. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  end(): void {
    this.client.off('ready', this.#look);
  }

  /** Its user may not listen to what is said to those who wait. */
  deaf(why: string): void {
    this.#warn(`does not wake who waits for a key, who then looks from time to time: ${why}.`);
  }

  say(message: string): void {
    if (this.#said.has(message)) return;
    this.#said.add(message);
    this.terms.log(message);
  }

  readonly #look = (): void => {
    this.#lookedAt = this.runtime.clock.monotonic();
    const looking = inTime(this.#examine(), TIMEOUT_MS, this.runtime.timers)
      .catch(() => undefined) // it hangs, or is gone again
      .finally(() => {
        if (this.#looking === looking) this.#looking = undefined;
      });
    this.#looking = looking;
  };

  async #examine(): Promise<void> {
    const servers = serversOf(this.client);
    const [facts, rights] = await Promise.all([
      Promise.all(servers.map(factsOf)),
      this.#rightsOn(servers).catch((error: unknown) => error as Error),
    ]);
    this.runIds = facts.flatMap(({ runId }) => runId ?? []);
    const crossing = rights instanceof Error && CROSSING.test(rights.message);
    this.misuse = facts.map((each) => this.#misuse(each, crossing)).find((each) => each !== undefined);
    if (!(rights instanceof Error)) this.#judge(rights);
    for (const { evictionPolicy = SAFE_POLICY } of facts) {
      if (evictionPolicy === SAFE_POLICY) continue;
      this.#warn(`${EVICTS} (maxmemory-policy ${evictionPolicy}). Set ${SAFE_POLICY}.`);
    }
    this.terms.looked(this);
  }

  #rightsOn(servers: readonly Server[]): Promise<MissingRights[]> {
    const { keyPrefix = '' } = (this.client.options ?? {}) as { keyPrefix?: string | Buffer };
    const { guarded } = this.terms;
    const probe = { isCluster: this.client.isCluster === true, guarded, prefix: keyPrefix.toString() };
    return Promise.all(servers.map((server) => missingRights(server, probe)));
  }

  #judge(rights: readonly MissingRights[]): void {
    const needed = [...new Set(rights.flatMap((each) => each.needed))];
    this.#lack = needed.length > 0 ? `NOPERM its user may not use ${needed.join(', ')}` : undefined;
    if (this.#lack) this.#warn(`grants no locks: ${this.#lack}.`);
    if (rights.some(({ mute }) => mute)) this.deaf('NOPERM its user may not PUBLISH to channels such as lock:*');
  }

  #misuse({ version, inCluster }: ServerFacts, crossing: boolean): string | undefined {
    if (version !== undefined && isTooOld(version)) {
      return `it runs Redis ${version}, and locks need ${OLDEST_VERSION} or later`;
    }
    return !this.client.isCluster && (inCluster || crossing) ? MEMBER : undefined;
  }

  #warn(what: string): void {
    this.say(`Redis node ${this.name} ${what}`);
  }
}
