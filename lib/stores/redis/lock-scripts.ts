import { createHash } from 'node:crypto';
import type { NodeRequest, NodeVerb } from './lock-node.js';

/**
 * What a node does for each verb, in Lua. `lock` is a key, `other` the key of its fence or, for a release, the name of its channel.
 * `ms` is for the lock, `keep` for the fence.
 * A yes is returned as its value alone, since a nested reply costs the client as much as all the rest; everything else as a status (0 no, 2 in quarantine)
 * and a value.
 */
const BODIES: Record<NodeVerb, string> = {
  acquire: `
  if not redis.call('SET', lock, owner, 'NX', 'PX', ms) then
    return { 0, { redis.call('GET', lock), redis.call('PTTL', lock) } }
  end
  local granted, passed = tonumber(token), tonumber(redis.call('GET', other) or 0)
  if passed >= granted then
    granted = passed + 1
    token = string.format('%.0f', granted) -- not tostring(): it loses digits above 1e14
  end
  redis.call('SET', other, token, 'PX', keep)
  return granted`,

  heal: `
  if not redis.call('SET', lock, owner, 'NX', 'PX', ms) then return { 0, 0 } end
  local passed = redis.call('GET', other)
  if passed and tonumber(passed) > tonumber(token) then token = passed end
  redis.call('SET', other, token, 'PX', keep)
  return 0`,

  renew: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  redis.call('PEXPIRE', lock, ms)
  redis.call('PEXPIRE', other, keep)
  return tonumber(redis.call('GET', other) or 0)`,

  commit: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  local passed = tonumber(redis.call('GET', other) or 0)
  if passed > tonumber(token) then return { 0, passed } end
  redis.call('SET', other, token, 'PX', keep + math.max(redis.call('PTTL', lock), 0))
  return 0`,

  release: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  if ms ~= '0' then
    redis.call('SET', lock, 'released/' .. owner, 'PX', ms)
  else
    redis.call('DEL', lock)
    redis.pcall('PUBLISH', other, owner) -- a user without access to channels loses wake-ups, not the release
  end
  return 0`,

  undo: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  redis.call('DEL', lock)
  return 0`,

  inspect: `
  local holder, passed = redis.call('GET', lock), tonumber(redis.call('GET', other) or 0)
  if not holder then return { 0, passed } end
  return { 1, { holder, redis.call('PTTL', lock), passed } }`,

  mark: `
  return quarantined()`,
};

/** What goes before an acquire on a node with a quarantine. */
const ABSTAIN = `
  local left = quarantined()
  if left > 0 then
    local holder = redis.call('GET', lock)
    if holder then return { 0, { holder, redis.call('PTTL', lock) } } end
    return { 2, left }
  end`;

// A node without a marker has lost its memory: it gives out nothing until the locks it may have forgotten are over.
const QUARANTINE = `
local function quarantined()
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local marker = KEYS[#KEYS]
  local since = tonumber(redis.call('GET', marker) or '')
  if not since then
    since = now
    redis.call('SET', marker, string.format('%.0f', now))
  end
  return math.min(since + quarantine - now, quarantine)
end`;

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
  ) {
    this.#marker = quarantineMs > 0 ? [MARKER_KEY] : [];
    const guarded = quarantineMs > 0;
    const bodies: Record<NodeVerb, string> = {
      ...BODIES,
      acquire: guarded ? ABSTAIN + BODIES.acquire : BODIES.acquire,
      mark: guarded ? BODIES.mark : '\n  return 0',
    };
    const constants = `local quarantine = ${quarantineMs}`;
    const helpers = (body: string): string => (guarded && body.includes('quarantined()') ? QUARANTINE : '');
    const lone = (body: string): Script =>
      script(`${guarded ? constants : ''}${helpers(body)}
  local lock, other, owner, ms, token, keep = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]${body}`);
    this.#lone = mapValues(bodies, lone);
    const functions = Object.entries(bodies).map(
      ([verb, body]) => `\nfunction serve.${verb}(lock, other, owner, ms, token, keep)${body}\nend`,
    );
    this.#many = script(`${constants}${helpers(bodies.acquire)}
local serve = {}${functions.join('')}
local replies, key, arg = {}, 1, 1
while arg < #ARGV do
  local verb, ms, keep, last = serve[ARGV[arg]], ARGV[arg + 1], ARGV[arg + 2], #replies + ARGV[arg + 3]
  arg = arg + 4
  for request = #replies + 1, last do
    -- One request that fails, say on a key of the wrong type, must not take the others down with it.
    local ok, reply = pcall(verb, KEYS[key], KEYS[key + 1], ARGV[arg], ms, ARGV[arg + 1], keep)
    if not ok then
      local why = type(reply) == 'table' and reply.err or tostring(reply)
      -- As an error of the whole call: that is what makes a client connect anew, to where the primary is by now.
      if string.find(why, 'READONLY', 1, true) == 1 then return { err = why } end
      reply = { -1, why }
    end
    replies[request] = reply
    key, arg = key + 2, arg + 2
  end
end
return replies`);
  }

  get texts(): readonly string[] {
    return [...Object.values(this.#lone), this.#many].map(({ text }) => text);
  }

  /** For one request. Reply: as its body says, or an error. */
  one({ verb, key, owner, ms, token }: NodeRequest): ScriptCall {
    const { sha, text } = this.#lone[verb];
    const [lock, other] = keyNames(key, verb);
    const args = [lock, other, ...this.#marker, owner, String(ms), String(token), this.#keep(verb, ms)];
    return { sha, text, keyCount: 2 + this.#marker.length, args };
  }

  /** For many. Reply: a list of what the bodies say; -1 is the status of an error. */
  all(requests: readonly NodeRequest[]): ScriptCall {
    const args: string[] = [];
    for (const { key, verb } of requests) args.push(...keyNames(key, verb));
    args.push(...this.#marker);
    const keyCount = args.length;
    for (let first = 0, next = 0; first < requests.length; first = next) {
      // What is alike is said once: most of what is asked for together is.
      const { verb, ms } = requests[first]!;
      while (next < requests.length && requests[next]!.verb === verb && requests[next]!.ms === ms) next++;
      args.push(verb, String(ms), this.#keep(verb, ms), String(next - first));
      for (let index = first; index < next; index++) args.push(requests[index]!.owner, String(requests[index]!.token));
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

/** Set on each node once; its absence shows that the node came back empty. No user key can collide with it: theirs are in braces. */
export const MARKER_KEY = 'lock:marker';

const ANY_SPECIAL = /[%{}]/;
const SPECIAL = /[%{}]/g;

/** The user's key as part of a Redis key name. In braces, so that all names of one key share a Cluster slot; therefore no braces within. */
function tagged(key: string): string {
  return `lock:{${ANY_SPECIAL.test(key) ? key.replace(SPECIAL, encodeURIComponent) : key}}`;
}

/** Where it is said that the key has come free, and whose it was. */
export function freeChannel(key: string): string {
  return `${tagged(key)}:free`;
}

/** The two names a request needs. */
export function keyNames(key: string, verb: string): [lock: string, other: string] {
  const lock = tagged(key);
  return [lock, verb === 'release' ? freeChannel(key) : `${lock}:fence`];
}
