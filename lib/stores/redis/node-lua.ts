import type { NodeVerb } from './lock-node.js';

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
export const BODIES: Record<NodeVerb, string> = {
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

export const NOTHING = `
  return 0`;

/** What goes before an acquire on a node with a quarantine. */
export const ABSTAIN = `
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
export const LINE = `
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

export const NO_LINE = `
local function handOn(lock, channel, owner)
  redis.call('DEL', lock)
  redis.pcall('PUBLISH', channel, owner)
end`;

// A node without a marker has lost its memory: it gives out nothing until the locks it may have forgotten are over.
export const QUARANTINE = `
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
