import { createHash } from 'node:crypto';
import { fenceName, lockName, MARKER_KEY } from './key-names.js';
import { isDenial, reason } from './script-answer.js';
import type { Server } from './servers.js';

/** What a user may not do on a server, of what locks need. */
export interface MissingRights {
  /** Without these no lock works: names of commands, or which keys. */
  readonly needed: readonly string[];
  /** Whether it may not tell those who wait. */
  readonly mute: boolean;
}

/** No user key has these names: it is never empty. */
const NAMES = [lockName(''), fenceName('')];
const CHANNEL = 'lock:turn:';

/**
 * Does in vain whatever the scripts do: nothing is changed, since there are no such keys, and nothing is said to anybody. What the user may not do is refused all the same, before anything else is
 * looked at. The keys come as arguments where the server is one of a Cluster, which would refuse to look at several slots.
 */
const PROBE = `
local keys, refusals = #KEYS > 0 and KEYS or { ARGV[2], ARGV[3] }, {}
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err then refusals[#refusals + 1] = name .. ' ' .. reply.err end
end
try('SET', keys[1], '', 'XX', 'PX', 1, 'GET')
try('GET', keys[1])
try('DEL', keys[1], keys[2])
try('PTTL', keys[1])
try('PEXPIRE', keys[1], 1)
if keys[3] then
  try('GET', keys[3])
  try('TIME')
end
try('PUBLISH', ARGV[1], '')
return refusals`;
const SHA = createHash('sha1').update(PROBE).digest('hex');

const OF_KEYS = /\bkeys?\b/;
const KEYS_LACK = 'keys such as lock:*';

/** @throws what the server says to a script, other than that the user may not. */
export async function missingRights(
  server: Server,
  { isCluster, guarded, prefix }: { isCluster: boolean; guarded: boolean; prefix: string },
): Promise<MissingRights> {
  const keys = isCluster ? [] : [...NAMES, ...(guarded ? [MARKER_KEY] : [])];
  const args = [...keys, prefix + CHANNEL, ...(isCluster ? NAMES.map((name) => prefix + name) : [])];
  const [told, again] = await Promise.allSettled([
    server.eval(PROBE, keys.length, ...args),
    // Each attempt at a lock is asked for in this way.
    server.evalsha(SHA, keys.length, ...args),
  ]);
  const needed = new Set<string>();
  for (const [name, outcome] of [['EVAL', told] as const, ['EVALSHA', again] as const]) {
    if (outcome.status === 'fulfilled') continue;
    const why = reason(outcome.reason);
    if (isDenial(why)) needed.add(OF_KEYS.test(why) ? KEYS_LACK : name);
    else if (!why.startsWith('NOSCRIPT')) throw outcome.reason;
  }
  const answer = told.status === 'fulfilled' ? told.value : again.status === 'fulfilled' ? again.value : [];
  let mute = false;
  for (const refusal of answer as string[]) {
    const [name = '', why = ''] = /^(\S+) (.*)$/s.exec(refusal)?.slice(1) ?? [];
    if (!isDenial(reason(why))) continue;
    if (name === 'PUBLISH') mute = true;
    else needed.add(OF_KEYS.test(why) ? KEYS_LACK : name);
  }
  return { needed: [...needed], mute };
}
