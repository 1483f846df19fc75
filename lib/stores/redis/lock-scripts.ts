import { createHash } from 'node:crypto';
import { MARKER_KEY, pushKeyNames, WITH_LINE } from './key-names.js';
import type { NodeRenewals, NodeRequest, NodeVerb } from './lock-node.js';
import { BODIES, GUARDED_BODIES, QUARANTINE, RENEW_ALL } from './node-lua.js';

/** What a request has for itself where many are served: its owner, a token, a place in line. */
const OWN_ARGUMENTS: Record<NodeVerb, number> = {
  acquire: 2,
  queue: 3,
  heal: 2,
  commit: 2,
  renew: 1,
  release: 1,
  undo: 1,
  leave: 1,
  inspect: 1,
  mark: 1,
};

/** One script call, as EVALSHA takes it. */
export interface ScriptCall {
  readonly sha: string;
  readonly text: string;
  readonly keyCount: number;
  /** The keys, then the arguments. */
  readonly args: readonly string[];
}

interface Script {
  readonly text: string;
  readonly sha: string;
}

/** The scripts of a node: one for each verb, which is fast, and one that serves many requests in one call. */
export class LockScripts {
  readonly #lone: Record<NodeVerb, Script>;
  readonly #many: Script;
  readonly #renewAll = script(RENEW_ALL);
  readonly #guarded: boolean;

  constructor(
    quarantineMs: number,
    /** How long a fence outlives its last lock. */
    private readonly retentionMs: number,
    isCluster = false,
  ) {
    const guarded = quarantineMs > 0;
    const bodies = guarded ? GUARDED_BODIES : BODIES;
    // A node of a Cluster does not know who listens at the others.
    const handing = `\nlocal retention, unheard = ${retentionMs}, ${isCluster ? -1 : 0}`;
    const prelude = guarded ? `local quarantine = ${quarantineMs}${QUARANTINE}` : '';
    this.#guarded = guarded;
    this.#lone = mapValues(bodies, (body) =>
      script(`${body.includes('quarantined()') ? prelude : ''}${body.includes('retention') ? handing : ''}
  local lock, fence, line = KEYS[1], KEYS[2], KEYS[3]
  local owner, ms, token, keep, place = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]${body}`),
    );
    const functions = Object.entries(bodies).map(
      ([verb, body]) => `\nfunction serve.${verb}(lock, fence, line, owner, ms, token, keep, place)${body}\nend`,
    );
    const widths = Object.entries(OWN_ARGUMENTS).map(([verb, width]) => `${verb} = ${width}`);
    this.#many = script(`${prelude}${handing}
local serve, widths, lined = {}, { ${widths.join(', ')} }, { ${[...WITH_LINE].map((verb) => `${verb} = true`).join(', ')} }${functions.join('')}
local replies, key, arg, KEYS, ARGV = {}, 1, 1, KEYS, ARGV
while arg < #ARGV do
  local verb, ms, keep, last = ARGV[arg], ARGV[arg + 1], ARGV[arg + 2], #replies + ARGV[arg + 3]
  local answer, width, keyWidth = serve[verb], widths[verb], lined[verb] and 3 or 2
  arg = arg + 4
  for request = #replies + 1, last do
    -- One request that fails, say on a key of the wrong type, must not take the others down with it.
    local ok, reply = pcall(answer, KEYS[key], KEYS[key + 1], KEYS[key + 2], ARGV[arg], ms, ARGV[arg + 1], keep, ARGV[arg + 2])
    if not ok then
      local why = type(reply) == 'table' and reply.err or tostring(reply)
      -- As an error of the whole call: that is what makes a client connect anew, to where the primary is by now.
      if string.find(why, 'READONLY', 1, true) == 1 then return { err = why } end
      reply = { -1, why }
    end
    replies[request] = reply
    key, arg = key + keyWidth, arg + width
  end
end
return replies`);
  }

  get texts(): readonly string[] {
    return [...Object.values(this.#lone), this.#many, this.#renewAll].map(({ text }) => text);
  }

  /** For one request. Reply: as its body says, or an error. */
  one(request: NodeRequest): ScriptCall {
    const { verb, ms } = request;
    const { sha, text } = this.#lone[verb];
    const args: string[] = [];
    pushKeyNames(args, request.key, verb);
    if (this.#guarded) args.push(MARKER_KEY);
    const keyCount = args.length;
    args.push(request.owner);
    // A release, the most frequent of those that know no token, is spared what it does not need.
    if (verb === 'release') args.push(String(ms));
    else args.push(String(ms), String(request.token), this.#keep(verb, ms));
    if (request.place !== undefined) args.push(request.place);
    return { sha, text, keyCount, args };
  }

  /** For many. Reply: a list of what the bodies say; -1 is the status of an error. */
  all(requests: readonly NodeRequest[]): ScriptCall {
    const args: string[] = [];
    for (const { key, verb } of requests) pushKeyNames(args, key, verb);
    if (this.#guarded) args.push(MARKER_KEY);
    const keyCount = args.length;
    for (let first = 0, next = 0; first < requests.length; first = next) {
      // What is alike is said once: most of what is asked for together is.
      const { verb, ms } = requests[first]!;
      while (next < requests.length && requests[next]!.verb === verb && requests[next]!.ms === ms) next++;
      args.push(verb, String(ms), this.#keep(verb, ms), String(next - first));
      const width = OWN_ARGUMENTS[verb];
      for (let index = first; index < next; index++) {
        const { owner, token, place } = requests[index]!;
        args.push(owner);
        if (width > 1) args.push(String(token));
        if (place !== undefined) args.push(place);
      }
    }
    return { sha: this.#many.sha, text: this.#many.text, keyCount, args };
  }

  /** Reply: the places of those that were not renewed. */
  renewAll({ names, owners, ms }: NodeRenewals): ScriptCall {
    const { sha, text } = this.#renewAll;
    return { sha, text, keyCount: names.length, args: [...names, String(ms), this.#keep('renew', ms), owners] };
  }

  /** A commit does not set the lock's time, so it adds what is left of it to the retention by itself. */
  #keep(verb: NodeVerb, ms: number): string {
    return String(verb === 'commit' ? this.retentionMs : this.retentionMs + ms);
  }
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function mapValues<K extends string, A, B>(record: Record<K, A>, change: (value: A) => B): Record<K, B> {
  return Object.fromEntries(Object.entries<A>(record).map(([key, value]) => [key, change(value)])) as Record<K, B>;
}
