import { createHash } from 'node:crypto';

/**
 * What a node does for its locks, as one script that serves many requests in one call.
 *
 * KEYS: the marker, if there is a quarantine; then two per request: the lock, and its fence (or, for a release, its channel).
 * ARGV: fence retention in ms, quarantine in ms; then four per request: verb, owner, ms, token.
 * Reply: two per request: a status (1 yes, 0 no, 2 in quarantine, -1 error) and a value.
 */
export const LOCK_SCRIPT = `
local retention, quarantine = tonumber(ARGV[1]), tonumber(ARGV[2])

-- A node without a marker has lost its memory: it gives out nothing until the locks it may have forgotten are over.
local function quarantined()
  if quarantine == 0 then return 0 end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local since = tonumber(redis.call('GET', KEYS[1]) or '')
  if not since then
    since = now
    redis.call('SET', KEYS[1], string.format('%.0f', now))
  end
  return math.min(since + quarantine - now, quarantine)
end

local function last(fence)
  return tonumber(redis.call('GET', fence) or 0)
end

-- Not tostring(): it loses digits above 1e14.
local function remember(fence, token, ms)
  redis.call('SET', fence, string.format('%.0f', token), 'PX', string.format('%.0f', retention + ms))
end

local function serve(lock, other, verb, owner, ms, token)
  if verb == 'acquire' then
    local left = quarantined()
    if left > 0 then
      local holder = redis.call('GET', lock)
      if holder then return 0, { holder, redis.call('PTTL', lock) } end
      return 2, left
    end
    if not redis.call('SET', lock, owner, 'NX', 'PX', ms) then
      return 0, { redis.call('GET', lock), redis.call('PTTL', lock) }
    end
    token = math.max(last(other) + 1, tonumber(token))
    remember(other, token, ms)
    return 1, token
  end

  if verb == 'heal' then
    if not redis.call('SET', lock, owner, 'NX', 'PX', ms) then return 0, 0 end
    remember(other, math.max(last(other), tonumber(token)), ms)
    return 1, 0
  end

  if verb == 'mark' then return 1, quarantined() end

  local holder = redis.call('GET', lock)
  if verb == 'inspect' then
    if not holder then return 0, last(other) end
    return 1, { holder, redis.call('PTTL', lock), last(other) }
  end
  if holder ~= owner then return 0, 0 end

  if verb == 'renew' then
    redis.call('PEXPIRE', lock, ms)
    redis.call('PEXPIRE', other, string.format('%.0f', retention + ms))
    return 1, last(other)
  end
  if verb == 'commit' then
    local passed = last(other)
    if passed > tonumber(token) then return 0, passed end
    remember(other, tonumber(token), math.max(redis.call('PTTL', lock), 0))
    return 1, 0
  end
  if verb == 'release' then
    if tonumber(ms) > 0 then
      redis.call('SET', lock, 'released/' .. owner, 'PX', ms)
    else
      redis.call('DEL', lock)
      redis.pcall('PUBLISH', other, '') -- a user without access to channels loses wake-ups, not the release
    end
    return 1, 0
  end
  error('unknown verb ' .. verb)
end

local replies = {}
local key = quarantine == 0 and 0 or 1
for arg = 3, #ARGV, 4 do
  -- One request that fails, say on a key of the wrong type, must not take the others down with it.
  local ok, status, value = pcall(serve, KEYS[key + 1], KEYS[key + 2], ARGV[arg], ARGV[arg + 1], ARGV[arg + 2], ARGV[arg + 3])
  if not ok then
    value = type(status) == 'table' and status.err or tostring(status)
    status = -1
    -- As an error of the whole call: that is what makes a client connect anew, to where the primary is by now.
    if string.find(value, 'READONLY', 1, true) == 1 then return { err = value } end
  end
  replies[#replies + 1] = status
  replies[#replies + 1] = value
  key = key + 2
end
return replies
`;

export const LOCK_SCRIPT_SHA = createHash('sha1').update(LOCK_SCRIPT).digest('hex');

/** Set on each node once; its absence shows that the node came back empty. No user key can collide with it: theirs are in braces. */
export const MARKER_KEY = 'lock:marker';

const SPECIAL = /[%{}]/g;

/** The user's key as part of a Redis key name. In braces, so that all names of one key share a Cluster slot; therefore no braces within. */
function tagged(key: string): string {
  return `lock:{${key.replace(SPECIAL, encodeURIComponent)}}`;
}

/** The two names a request needs. */
export function keyNames(key: string, verb: string): [lock: string, other: string] {
  const lock = tagged(key);
  return [lock, verb === 'release' ? `${lock}:free` : `${lock}:fence`];
}
