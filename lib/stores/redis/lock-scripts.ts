import { createHash } from 'node:crypto';
import type { NodeRequest, NodeVerb } from './lock-node.js';

/** The value of a lock that nobody has, but somebody is to get: then comes the place. */
export const KEPT_FOR = 'kept for/';
/** The end of a grant: the fence. */
const GRANT = `
  local granted, passed = tonumber(token), tonumber(redis.call('GET', other) or 0)
  if passed >= granted then
    granted = passed + 1
    token = string.format('%.0f', granted) -- not tostring(): it loses digits above 1e14
  end
  redis.call('SET', other, token, 'PX', keep)
  return granted`;

/** How long a key is kept for whoever is first in line: what a place whose process has died costs those behind it. */
const CLAIM_MS = 500;
/** How long a line outlasts the last who joined it. */
const LINE_MS = 60_000;

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
  end${GRANT}`,

  queue: `
  local id = string.sub(place, 2)
  local holder = redis.call('GET', lock)
  if not holder then
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    if first and first ~= id then
      redis.call('ZREM', line, first)
      holder = keepFor(lock, line, first)
    end
  end
  if holder and holder ~= KEPT .. id then
    if redis.call('ZSCORE', line, id) then redis.call('PEXPIRE', line, LINE_MS) else join(line, id) end
    return { 0, { holder, redis.call('PTTL', lock) } }
  end
  redis.call('SET', lock, owner, 'PX', ms)
  if string.sub(place, 1, 1) == '+' then join(line, id) else redis.call('ZREM', line, id) end${GRANT}`,

  leave: `
  redis.call('ZREM', other, owner)
  if redis.call('GET', lock) == KEPT .. owner then handOn(lock, other, owner) end
  return 0`,

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
    handOn(lock, other, owner)
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

const NOTHING = `
  return 0`;

/** What goes before an acquire on a node with a quarantine. */
const ABSTAIN = `
  local left = quarantined()
  if left > 0 then
    local holder = redis.call('GET', lock)
    if holder then return { 0, { holder, redis.call('PTTL', lock) } } end
    return { 2, left }
  end`;

/**
 * The line for a key is a sorted set, under the name of the channel: places by when they joined. A lone node keeps one; several would keep different ones.
 * A user without access to channels, or to sorted sets, loses wake-ups and the line, not the release.
 */
const LINE = `
local KEPT, LINE_MS = '${KEPT_FOR}', ${LINE_MS}
local function join(line, id)
  local time = redis.call('TIME')
  redis.call('ZADD', line, time[1] * 1000000 + time[2], id)
  redis.call('PEXPIRE', line, LINE_MS)
end
local function keepFor(lock, line, id)
  redis.call('SET', lock, KEPT .. id, 'PX', ${CLAIM_MS})
  redis.pcall('PUBLISH', line, KEPT .. id)
  return KEPT .. id
end
local function handOn(lock, line, owner)
  local first = redis.pcall('ZPOPMIN', line)[1]
  if first then return keepFor(lock, line, first) end
  redis.call('DEL', lock)
  redis.pcall('PUBLISH', line, owner)
end`;

const NO_LINE = `
local function handOn(lock, channel, owner)
  redis.call('DEL', lock)
  redis.pcall('PUBLISH', channel, owner)
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

/** The names a request needs; the third is of a line. */
export function keyNames(key: string, verb: string): [lock: string, other: string, line?: string] {
  const lock = tagged(key);
  if (verb === 'release' || verb === 'leave') return [lock, freeChannel(key)];
  return verb === 'queue' ? [lock, `${lock}:fence`, freeChannel(key)] : [lock, `${lock}:fence`];
}
