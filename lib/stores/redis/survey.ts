import { LockUnavailableError } from '../../errors.js';
import type { LockState } from '../lock-store.js';
import type { NodeLockState } from './lock-node.js';
import type { NodeGroup } from './node-group.js';
import { Round, type Vote } from './round.js';

/** What the nodes say of a key, once each has answered or failed. */
export interface Sight {
  /** Who holds it on a majority, or else has it on the most nodes. */
  readonly state: LockState;
  /** Whether nobody but this owner can hold it, whatever the silent nodes have. */
  readonly certain: boolean;
  /** All who have it anywhere, as the nodes know them. */
  readonly owners: readonly string[];
  /** The nodes on which somebody has it. */
  readonly taken: readonly Vote[];
}

/** What a node puts before the owner of a key that is kept past its release. */
const RELEASED = 'released/';

/** Looks at what each node has. */
export class Survey extends Round<Sight> {
  constructor(group: NodeGroup, key: string) {
    super(group, { verb: 'inspect', key, owner: '', ms: 0, token: 0 });
  }

  protected override count(): Sight | undefined {
    if (this.open > 0) return undefined;
    const { yes, no, failures, group } = this;
    const { quorum } = group;
    const found = byOwner(yes);
    const most = [...found].sort(([, one], [, other]) => other.length - one.length)[0];
    const holding = most?.[1].length ?? 0;
    const fencingToken = Math.max(0, ...[...yes, ...no].map(({ reply }) => reply.value));
    return {
      state: { ...this.#state(most), ...(fencingToken > 0 ? { fencingToken } : {}) },
      certain: holding >= quorum || holding + failures.length < quorum,
      owners: [...found.keys()],
      taken: yes,
    };
  }

  #state(most: [string, readonly NodeLockState[]] | undefined): LockState {
    if (!most) return { locked: false };
    const [owner, states] = most;
    const { quorum, nodes } = this.group;
    const locked = states.length >= quorum;
    // It is held until less than a majority of the nodes has it.
    const remaining = states.map(({ remainingMs }) => remainingMs).sort((a, b) => b - a);
    const released = owner.startsWith(RELEASED);
    const answering = this.yes.length + this.no.length;
    return {
      locked,
      owner: released ? owner.slice(RELEASED.length) : owner,
      remainingMs: remaining[locked ? quorum - 1 : 0]!,
      ...(released ? { released } : {}),
      // Several nodes keep no line.
      ...(nodes.length === 1
        ? { waiters: states[0]?.waiters ?? 0 }
        : { nodes: { holding: states.length, answering, all: nodes.length } }),
    };
  }
}

/** Who holds the key on a majority, or that nobody does. @throws LockUnavailableError when nobody can tell. */
export async function look(group: NodeGroup, key: string): Promise<LockState> {
  const survey = new Survey(group, key);
  const { state, certain } = await survey.ask(group.nodes);
  if (!certain) throw new LockUnavailableError(key, survey.failures);
  return state;
}

function byOwner(votes: readonly Vote[]): Map<string, NodeLockState[]> {
  const found = new Map<string, NodeLockState[]>();
  for (const { reply } of votes) {
    if (reply.status !== 'yes' || !reply.state) continue;
    const { owner } = reply.state;
    found.set(owner, [...(found.get(owner) ?? []), reply.state]);
  }
  return found;
}
