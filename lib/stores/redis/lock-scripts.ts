import { createHash } from 'node:crypto';
import { keyNames, MARKER_KEY } from './key-names.js';
import type { NodeRequest, NodeVerb } from './lock-node.js';
import { ABSTAIN, BODIES, LINE, NOTHING, NO_LINE, QUARANTINE } from './node-lua.js';

/** The third key, and the last argument. */
const WITH_PLACE = `
  local line, place = KEYS[3], ARGV[5]`;

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
  readonly #marker: readonly string[];

  constructor(
    quarantineMs: number,
    /** How long a fence outlives its last lock. */
    private readonly retentionMs: number,
    /** Whether this is the only node, which then keeps the lines. */
    lines = false,
  ) {
    this.#marker = quarantineMs > 0 ? [MARKER_KEY] : [];
    const guarded = quarantineMs > 0;
    const bodies: Record<NodeVerb, string> = {
      ...BODIES,
      acquire: guarded ? ABSTAIN + BODIES.acquire : BODIES.acquire,
      queue: lines ? (guarded ? ABSTAIN : '') + BODIES.queue : NOTHING,
      leave: lines ? BODIES.leave : NOTHING,
      mark: guarded ? BODIES.mark : NOTHING,
    };
    const constants = `local quarantine = ${quarantineMs}`;
    const line = lines ? LINE : NO_LINE;
    const helpers = (body: string): string =>
      (guarded && body.includes('quarantined()') ? QUARANTINE : '') + (/handOn|keepFor|join/.test(body) ? line : '');
    const lone = (body: string): Script =>
      script(`${guarded ? constants : ''}${helpers(body)}
  local lock, other, owner, ms, token, keep = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]${body.includes('place') ? WITH_PLACE : ''}${body}`);
    this.#lone = mapValues(bodies, lone);
    const functions = Object.entries(bodies).map(
      ([verb, body]) => `\nfunction serve.${verb}(lock, other, owner, ms, token, keep, line, place)${body}\nend`,
    );
    this.#many = script(`${constants}${helpers(Object.values(bodies).join(''))}
local serve = {}${functions.join('')}
local replies, key, arg = {}, 1, 1
while arg < #ARGV do
  local verb, ms, keep, last = serve[ARGV[arg]], ARGV[arg + 1], ARGV[arg + 2], #replies + ARGV[arg + 3]
  local width = ARGV[arg] == 'queue' and 3 or 2
  arg = arg + 4
  for request = #replies + 1, last do
    -- One request that fails, say on a key of the wrong type, must not take the others down with it.
    local ok, reply = pcall(verb, KEYS[key], KEYS[key + 1], ARGV[arg], ms, ARGV[arg + 1], keep, KEYS[key + 2], ARGV[arg + 2])
    if not ok then
      local why = type(reply) == 'table' and reply.err or tostring(reply)
      -- As an error of the whole call: that is what makes a client connect anew, to where the primary is by now.
      if string.find(why, 'READONLY', 1, true) == 1 then return { err = why } end
      reply = { -1, why }
    end
    replies[request] = reply
    key, arg = key + width, arg + width
  end
end
return replies`);
  }

  get texts(): readonly string[] {
    return [...Object.values(this.#lone), this.#many].map(({ text }) => text);
  }

  /** For one request. Reply: as its body says, or an error. */
  one({ verb, key, owner, ms, token, place }: NodeRequest): ScriptCall {
    const { sha, text } = this.#lone[verb];
    const args = [...(keyNames(key, verb) as string[]), ...this.#marker];
    const keyCount = args.length;
    args.push(owner, String(ms), String(token), this.#keep(verb, ms));
    if (place !== undefined) args.push(place);
    return { sha, text, keyCount, args };
  }

  /** For many. Reply: a list of what the bodies say; -1 is the status of an error. */
  all(requests: readonly NodeRequest[]): ScriptCall {
    const args: string[] = [];
    for (const { key, verb } of requests) args.push(...(keyNames(key, verb) as string[]));
    args.push(...this.#marker);
    const keyCount = args.length;
    for (let first = 0, next = 0; first < requests.length; first = next) {
      // What is alike is said once: most of what is asked for together is.
      const { verb, ms } = requests[first]!;
      while (next < requests.length && requests[next]!.verb === verb && requests[next]!.ms === ms) next++;
      args.push(verb, String(ms), this.#keep(verb, ms), String(next - first));
      for (let index = first; index < next; index++) {
        const { owner, token, place } = requests[index]!;
        args.push(owner, String(token));
        if (place !== undefined) args.push(place);
      }
    }
    return { ...this.#many, keyCount, args };
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
