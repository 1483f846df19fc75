import type { NodeVerb } from './lock-node.js';

/**
 * For how long whoever is first in line gets a key, unless it is for less; then they renew it. Lower loses it to an event loop that is blocked when it has just got it (two thirds of
 * this are left at least), and must not come near to how often a waiter looks; higher makes those behind wait longer for one whose process hangs.
 */
export const TURN_MS = 2000;
/** How long a line outlasts the last who joined it. */
const LINE_MS = 60_000;

/** The end of a grant: the fence. It is above the last one nearly always, so it is written first, and looked at then. */
const GRANT = `
  local passed, granted = tonumber(redis.call('SET', fence, token, 'PX', keep, 'GET') or 0), tonumber(token)
  if passed >= granted then
    granted = passed + 1
    -- not tostring(): it loses digits above 1e14
    redis.call('SET', fence, string.format('%.0f', granted), 'PX', keep)
  end
  return granted`;

/** Whoever listens and stands in no line is told. A user without access to channels loses wake-ups, not the release. */
const FREE = `
    redis.call('DEL', lock, line)
    redis.pcall('PUBLISH', line, owner)`;

/**
 * The line for a key stands under the name of its channel, as text: the attempts in it, in order, each as its owner, a slash, and for how many ms it is to get the key. Where it is empty
 * but there, somebody listens who stands in no line. The first whose process hears of it gets the key, as theirs, with the next token; without a fence to count on, they have to ask for one.
 * They are told owner, token and key, with spaces in between. If nobody hears, the key comes free: nobody is to be kept out for those who have died.
 */
const HAND_TO_FIRST = `
    local passed, prefix, key = tonumber(redis.call('GET', fence)), string.match(line, '^(.*)lock:{(.*)}:free$')
    local token, first, turnMs, next, heard = passed and string.format('%.0f', passed + 1), nil, nil, nil, nil
    repeat
      first, turnMs, next = string.match(waiting, '^(%S+)/(%d+) ?()')
      waiting = string.sub(waiting, next)
      redis.call('SET', lock, first, 'PX', turnMs)
      local told = first .. ' ' .. (token or '') .. ' ' .. key
      heard = redis.pcall('PUBLISH', prefix .. 'lock:turn:' .. string.match(first, '^[^/]*'), told)
    until heard ~= unheard or waiting == ''
    if heard == unheard then
      first = nil${FREE}
    else
      redis.call('SET', line, waiting, 'PX', ${LINE_MS})
      if token then redis.call('SET', fence, token, 'PX', retention) end
    end`;

/** What frees memory comes first: once a script has written, Redis refuses nothing of the rest for want of memory. So a full node still gives back, and hands on. */
const HAND_ON = `
  if not waiting then
    redis.call('DEL', lock)
  elseif waiting == '' then${FREE}
  else
    redis.call('DEL', lock)${HAND_TO_FIRST}
  end`;

/**
 * What a node does for each verb, in Lua. `lock` is a key, `fence` that of its last token, `line` that of its line.
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
  local before, holder, listed = string.sub(place, 2), redis.call('GET', lock), redis.call('GET', line)
  local waiting = listed or ''
  if not holder and waiting ~= '' and string.match(waiting, '^(%S+)/') ~= before then${HAND_TO_FIRST}
    holder = first
  end
  local at, last = nil, nil
  if before ~= '' then at, last = string.find(waiting, before .. '/', 1, true) end
  if holder and holder ~= before then
    local entry = owner .. '/' .. math.min(ms, ${TURN_MS})
    if at then
      waiting = string.sub(waiting, 1, at - 1) .. entry .. string.sub(waiting, string.match(waiting, '^%d+()', last + 1))
    elseif place ~= '' then
      waiting = waiting .. (waiting == '' and '' or ' ') .. entry
    end
    redis.call('SET', line, waiting, 'PX', ${LINE_MS})
    return { 0, { holder, redis.call('PTTL', lock) } }
  end
  redis.call('SET', lock, owner, 'PX', ms)
  if at then
    local next = string.match(waiting, '^%d+ ?()', last + 1)
    redis.call('SET', line, string.sub(waiting, next), 'PX', ${LINE_MS})
  end${GRANT}`,

  leave: `
  local waiting = redis.call('GET', line)
  local at, last = string.find(waiting or '', owner .. '/', 1, true)
  if at then
    local next = string.match(waiting, '^%d+ ?()', last + 1)
    waiting = string.gsub(string.sub(waiting, 1, at - 1) .. string.sub(waiting, next), ' $', '')
    redis.call('DEL', line)
    redis.call('SET', line, waiting, 'PX', ${LINE_MS})
  end
  if redis.call('GET', lock) == owner then${HAND_ON}
  end
  return 0`,

  heal: `
  if not redis.call('SET', lock, owner, 'NX', 'PX', ms) then return { 0, 0 } end
  local passed = redis.call('GET', fence)
  if passed and tonumber(passed) > tonumber(token) then token = passed end
  redis.call('SET', fence, token, 'PX', keep)
  return 0`,

  renew: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  redis.call('PEXPIRE', lock, ms)
  redis.call('PEXPIRE', fence, keep)
  return tonumber(redis.call('GET', fence) or 0)`,

  commit: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  local passed = tonumber(redis.call('GET', fence) or 0)
  if passed > tonumber(token) then return { 0, passed } end
  redis.call('SET', fence, token, 'PX', keep + math.max(redis.call('PTTL', lock), 0))
  return 0`,

  release: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  if ms ~= '0' then
    redis.call('DEL', lock)
    redis.call('SET', lock, 'released/' .. owner, 'PX', ms)
    return 0
  end
  local waiting = redis.call('GET', line)${HAND_ON}
  return 0`,

  undo: `
  if redis.call('GET', lock) ~= owner then return { 0, 0 } end
  redis.call('DEL', lock)
  return 0`,

  inspect: `
  local holder, passed = redis.call('GET', lock), tonumber(redis.call('GET', fence) or 0)
  if not holder then return { 0, passed } end
  local waiting = redis.call('GET', line)
  local _, spaces = string.gsub(waiting or '', ' ', '')
  return { 1, { holder, redis.call('PTTL', lock), passed, waiting and waiting ~= '' and spaces + 1 or 0 } }`,

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

/** One script that does nothing else, since renewing is what is done most. The answer is mostly empty, and so costs next to nothing. */
export const RENEW_ALL = `
local ms, keep, refused, place = ARGV[1], ARGV[2], {}, 0
for owner in string.gmatch(ARGV[3], '[^\\n]+') do
  local lock = KEYS[place + 1]
  if redis.pcall('GET', lock) == owner then
    redis.call('PEXPIRE', lock, ms)
  else
    refused[#refused + 1] = place
  end
  place = place + 1
end
for fence = place + 1, #KEYS do redis.call('PEXPIRE', KEYS[fence], keep) end
return refused`;
