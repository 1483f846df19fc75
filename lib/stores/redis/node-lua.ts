import type { NodeVerb } from './lock-node.js';

/** The value of a lock that nobody has, but somebody is to get: then comes the place. */
export const KEPT_FOR = 'kept for/';
/** How long a key is kept for whoever is first in line: what a place whose process has died costs those behind it. */
const CLAIM_MS = 500;
/** How long a line outlasts the last who joined it. */
const LINE_MS = 60_000;

/** The end of a grant: the fence. It is above the last one nearly always, so it is written first, and looked at then. */
const GRANT = `
  local passed, granted = tonumber(redis.call('SET', other, token, 'PX', keep, 'GET') or 0), tonumber(token)
  if passed >= granted then
    granted = passed + 1
    -- not tostring(): it loses digits above 1e14
    redis.call('SET', other, string.format('%.0f', granted), 'PX', keep)
  end
  return granted`;

/**
 * The line for a key stands under the name of its channel, as text: the places in it, in order. Where it is empty but there, somebody listens who stands in no line.
 * A user without access to channels loses wake-ups, not the release.
 */
const KEEP_FOR_FIRST = `
    local first = string.match(waiting, '^%S+')
    redis.call('SET', line, string.sub(waiting, #first + 2), 'PX', ${LINE_MS})
    redis.call('SET', lock, '${KEPT_FOR}' .. first, 'PX', ${CLAIM_MS})
    redis.pcall('PUBLISH', line, '${KEPT_FOR}' .. first)`;

const HAND_ON = `
  if not waiting then
    redis.call('DEL', lock)
  elseif waiting == '' then
    redis.call('DEL', lock, line)
    redis.pcall('PUBLISH', line, owner)
  else${KEEP_FOR_FIRST}
  end`;

const FORGET_PLACE = `
  local at, last = string.find(waiting, id, 1, true)
  if at then waiting = string.gsub(string.sub(waiting, 1, at - 1) .. string.sub(waiting, last + 2), ' $', '') end`;

/**
 * What a node does for each verb, in Lua. `lock` is a key, `other` the key of its fence or, for a release, of its line.
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
  local id, holder, listed = string.sub(place, 2), redis.call('GET', lock), redis.call('GET', line)
  local waiting = listed or ''
  if not holder and waiting ~= '' and string.match(waiting, '^%S+') ~= id then${KEEP_FOR_FIRST}
    holder, waiting = '${KEPT_FOR}' .. first, string.sub(waiting, #first + 2)
  end
  if holder and holder ~= '${KEPT_FOR}' .. id then
    if not string.find(waiting, id, 1, true) then waiting = waiting == '' and id or waiting .. ' ' .. id end
    redis.call('SET', line, waiting, 'PX', ${LINE_MS})
    return { 0, { holder, redis.call('PTTL', lock) } }
  end
  redis.call('SET', lock, owner, 'PX', ms)
  if id ~= '' then${FORGET_PLACE}
    if string.sub(place, 1, 1) == '+' then waiting = waiting == '' and id or waiting .. ' ' .. id end
    if listed or waiting ~= '' then redis.call('SET', line, waiting, 'PX', ${LINE_MS}) end
  end${GRANT}`,

  leave: `
  local line, id, waiting = other, owner, redis.call('GET', other)
  if waiting then${FORGET_PLACE}
    redis.call('SET', line, waiting, 'PX', ${LINE_MS})
  end
  if redis.call('GET', lock) == '${KEPT_FOR}' .. id then${HAND_ON}
  end
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
    return 0
  end
  local line, waiting = other, redis.call('GET', other)${HAND_ON}
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
  return 0`,
};

/** What goes before an acquire on a node with a quarantine. */
const ABSTAIN = `
  local left = quarantined()
  if left > 0 then
    local holder = redis.call('GET', lock)
    if holder then return { 0, { holder, redis.call('PTTL', lock) } } end
    return { 2, left }
  end`;

/** On a node with a quarantine. */
export const GUARDED_BODIES: Record<NodeVerb, string> = {
  ...BODIES,
  acquire: ABSTAIN + BODIES.acquire,
  queue: ABSTAIN + BODIES.queue,
  mark: `
  return quarantined()`,
};

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
