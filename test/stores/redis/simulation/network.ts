import type { LockNode, NodeReply, NodeRequest } from '../../../../lib/stores/redis/lock-node.js';
import { promisedNode } from '../promised.js';
import type { ModelNode } from './model-node.js';
import type { Trace } from '../../../simulation/campaign.js';
import type { Prng } from '../../../simulation/prng.js';

export interface Faults {
  readonly lossRate: number;
  /** How often a request that was carried out stays in the network, to be carried out again. */
  readonly duplicationRate: number;
  /** How often a node is found not connected. */
  readonly downRate: number;
}

/** Where a request came from. What is sent to a process that has died is lost. */
export interface Sender {
  readonly name: string;
  readonly alive: boolean;
}

interface Call {
  readonly sender: Sender;
  readonly node: number;
  readonly request: NodeRequest;
  /** On the clock of the world; only looked at where time-outs are honest. */
  readonly dueAt: number;
  readonly late: ((reply: NodeReply) => void) | undefined;
  resolve(reply: NodeReply): void;
  reject(error: Error): void;
  state: 'open' | 'overdue' | 'closed';
}

interface Message {
  readonly call: Call;
  readonly reply?: NodeReply;
  /** How often it was carried out. */
  times: number;
}

const MOST_TIMES = 3;

/** Carries requests and replies in any order, late, twice or never. It moves only when told to. */
export class Network {
  #inFlight: Message[] = [];
  readonly #calls = new Set<Call>();
  #stalled: Sender | undefined;

  constructor(
    private readonly nodes: readonly ModelNode[],
    private readonly faults: Faults,
    private readonly random: Prng,
    private readonly now: () => number,
    private readonly trace: Trace | undefined,
  ) {}

  get busy(): boolean {
    return this.#inFlight.length > 0;
  }

  /** The nodes as one process reaches them; `pace` is how fast its clock runs. */
  connect(sender: Sender, pace: number): LockNode[] {
    return this.nodes.map((_, node) =>
      promisedNode(`n${node}`, (request, timeoutMs, late) => this.#send(sender, node, request, timeoutMs / pace, late)),
    );
  }

  /** One message arrives, or is lost. */
  deliver(): void {
    let index = this.random.below(this.#inFlight.length);
    for (let tries = 4; tries > 0 && this.#inFlight[index]!.call.sender === this.#stalled; tries--) {
      index = this.random.below(this.#inFlight.length);
    }
    const message = this.#inFlight[index]!;
    const { call, reply } = message;
    const again = !reply && ++message.times < MOST_TIMES && this.random.chance(this.faults.duplicationRate);
    if (!again) {
      this.#inFlight[index] = this.#inFlight.at(-1)!;
      this.#inFlight.pop();
    }
    if (this.random.chance(this.faults.lossRate)) return this.trace?.(`lost: ${describe(message)}`);
    if (reply) return this.#answer(call, reply);
    const answer = this.nodes[call.node]!.serve(call.request);
    this.trace?.(`${describe(message)} => ${answer.status} ${answer.value}`);
    this.#inFlight.push({ call, reply: answer, times: 0 });
  }

  /** From now on, most of what goes to and from this process is late; what went to and from another comes through again. */
  stall(sender: Sender): void {
    this.#stalled = sender;
  }

  /** Some caller stops waiting, early or late. */
  timeOutAny(): void {
    if (this.#calls.size > 0) this.#timeOut(this.random.pick([...this.#calls]));
  }

  /** Those stop waiting whose time is over. */
  timeOutDue(): void {
    for (const call of this.#calls) if (call.dueAt <= this.now()) this.#timeOut(call);
  }

  /** The connections to a node break: nothing that is under way arrives any more. */
  cut(node: number): void {
    this.#inFlight = this.#inFlight.filter(({ call }) => call.node !== node);
  }

  #send(
    sender: Sender,
    node: number,
    request: NodeRequest,
    timeoutMs: number,
    late: ((reply: NodeReply) => void) | undefined,
  ): Promise<NodeReply> {
    // A dead process sends nothing, and hears of nothing.
    if (!sender.alive) return new Promise(() => undefined);
    if (this.random.chance(this.faults.downRate)) return Promise.reject(new Error('not connected'));
    return new Promise((resolve, reject) => {
      const dueAt = this.now() + timeoutMs;
      const call: Call = { sender, node, request, dueAt, late, resolve, reject, state: 'open' };
      this.#calls.add(call);
      this.#inFlight.push({ call, times: 0 });
    });
  }

  #answer(call: Call, reply: NodeReply): void {
    if (!call.sender.alive || call.state === 'closed') return;
    this.trace?.(
      `${call.sender.name} hears${call.state === 'overdue' ? ' too late' : ''}: ${describe({ call, reply })}`,
    );
    if (call.state === 'open') call.resolve(reply);
    else call.late?.(reply);
    this.#calls.delete(call);
    call.state = 'closed';
  }

  #timeOut(call: Call): void {
    this.#calls.delete(call);
    if (!call.sender.alive) return;
    this.trace?.(`${call.sender.name} gives up: ${describe({ call })}`);
    call.state = 'overdue';
    call.reject(new Error('no answer in time'));
  }
}

function describe({ call: { node, request }, reply }: Omit<Message, 'times'>): string {
  const asked = `n${node} ${request.verb} ${request.key} ${request.owner} ${request.token || ''}`;
  return reply ? `${asked} = ${reply.status} ${reply.value}` : asked;
}
