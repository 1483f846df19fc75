import { createHash } from 'node:crypto';
import { toMs, type Duration } from '../duration.js';
import { LockOptionsError, StaleTokenError } from '../errors.js';
import { checkToken } from './fence.js';

/** What is used of an ioredis or iovalkey client: single, Sentinel or Cluster. */
export interface ScriptingClient {
  evalsha(sha: string, keyCount: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...args: string[]): Promise<unknown>;
}

/** A value, and whose it is. */
export interface FencedValue {
  readonly value: string;
  /** `lock.fencingToken`. */
  readonly token: number;
  /** How long the value lives; without it, for ever. Its fence lives a day longer: a writer that was frozen for longer than both can write again. */
  readonly ttl?: Duration;
}

/** How long a fence outlives its value: as long as a lock's own fence outlives the lock. */
const FENCE_OUTLIVES_MS = 86_400_000;

const REFUSED = 0;

const CHECK = `
local token = ARGV[1]
if tonumber(redis.call('GET', KEYS[2]) or 0) > tonumber(token) then return ${REFUSED} end`;

const SET = script(`${CHECK}
local ttl = ARGV[3]
if ttl == '' then
  redis.call('SET', KEYS[1], ARGV[2])
  redis.call('SET', KEYS[2], token)
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ttl)
  redis.call('SET', KEYS[2], token, 'PX', ttl + ${FENCE_OUTLIVES_MS})
end
return 1`);

const GET = script(`${CHECK}
local left = redis.call('PTTL', KEYS[2])
if left == -1 then -- without an end
  redis.call('SET', KEYS[2], token)
else
  redis.call('SET', KEYS[2], token, 'PX', math.max(left, ${FENCE_OUTLIVES_MS}))
end
return { redis.call('GET', KEYS[1]) }`);

/**
 * Sets a key for the holder of `token`, which anyone may then read with a plain `GET`, unless a later holder was there. The token is kept beside it.
 * A value that depends on what was read before needs `fencedGet` for that read.
 * @throws StaleTokenError when a later holder has set or got the key by these functions; nothing was changed
 * @throws LockOptionsError for bad input
 */
export async function fencedSet(
  redis: ScriptingClient,
  key: string,
  { value, token, ttl }: FencedValue,
): Promise<void> {
  if (typeof value !== 'string')
    throw new LockOptionsError('value', value, 'give text, such as from JSON.stringify().');
  await run(redis, SET, key, token, value, ttl === undefined ? '' : String(toMs('ttl', ttl, 1)));
}

/**
 * Reads a key and claims it in one step: from now on `fencedSet` refuses lower tokens. So what this returned is still there when the same token sets the
 * key, or else that is refused. Null: there is no value.
 * @throws StaleTokenError when a later holder has set or got the key by these functions
 * @throws LockOptionsError for bad input
 */
export async function fencedGet(
  redis: ScriptingClient,
  key: string,
  { token }: { readonly token: number },
): Promise<string | null> {
  const [value = null] = (await run(redis, GET, key, token)) as [string | null];
  return value;
}

interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

async function run(redis: ScriptingClient, { sha, text }: Script, key: string, token: number, ...args: string[]) {
  const client = redis as ScriptingClient | undefined;
  if (typeof client?.evalsha !== 'function' || typeof client.eval !== 'function') {
    throw new LockOptionsError('redis', redis, 'give a client of ioredis or iovalkey.');
  }
  checkToken(token);
  const call = [2, key, fenceName(key), String(token), ...args] as const;
  const answer = await client.evalsha(sha, ...call).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.eval(text, ...call);
  });
  if (answer === REFUSED) throw new StaleTokenError(key, token);
  return answer;
}

/** What a Cluster hashes instead of the whole key: what stands between the first brace and the next one that closes, if anything does. */
const HASH_TAG = /^[^{]*\{([^}]+)\}/;

/** In the same Cluster slot as the key. The two forms differ, so that no two keys share a fence. */
function fenceName(key: string): string {
  if (typeof key !== 'string' || key === '') throw new LockOptionsError('key', key, 'give a non-empty string.');
  if (HASH_TAG.test(key)) return `${key}:fence`;
  if (!key.includes('}')) return `fence:{${key}}`;
  throw new LockOptionsError(
    'key',
    key,
    'it has a brace outside of a hash tag, so no second key can be sure of its Cluster slot. Encode the braces.',
  );
}
