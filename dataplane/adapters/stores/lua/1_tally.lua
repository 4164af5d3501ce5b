-- Where a tenant's state lies, how much of it there is, and what this call made of it.
--
-- Everything of a tenant lies below KEYS[1], which ends in "tally" and carries the tenant as its
-- hash tag. Ids grow and are never used twice: a reader asks for what is newer than it has seen.
-- Numbers that a reader compares (version, generation) begin at the clock, so that those of a
-- store that was emptied are not met again.

local TALLY = KEYS[1]
local PREFIX = string.sub(TALLY, 1, -6)
local call = redis.call
local args = ARGV[2] and cmsgpack.unpack(ARGV[2]) or {}
local limits = args.limits or {}
local policy = args.policy or {}
local happened = {}
local changed = false
local fresh = 0

-- Bytes that are no text travel beside the arguments, which name them by number.
local function bytes_of(number)
  return ARGV[2 + number]
end

local function key(kind, name)
  return PREFIX .. kind .. ':' .. (name or '')
end

-- Lua would write a number with 14 digits, which cuts a time short.
local function exact(number)
  return string.format('%.17g', number)
end

local function count(name, by)
  happened[name] = (happened[name] or 0) + (by or 1)
end

local function bump(field, by)
  changed = true
  return call('HINCRBY', TALLY, field, by or 1)
end

local function tally(field)
  return tonumber(call('HGET', TALLY, field) or 0)
end

local function next_id()
  return bump('seq')
end

-- The fields of dataplane.adapters.stores.retention.Fill, in its order.
local function fill()
  local found = call('HMGET', TALLY, 'payloads', 'bytes', 'pinned', 'overflow', 'kept')
  for index = 1, 5 do
    found[index] = tonumber(found[index] or 0)
  end
  return {
    payloads = found[1], bytes = found[2], pinned = found[3], overflow = found[4], kept = found[5],
  }
end

local function begin()
  if call('EXISTS', TALLY) == 0 then
    local now = call('TIME')
    local base = now[1] * 1000 + math.floor(now[2] / 1000)
    call('HSET', TALLY, 'version', base, 'generation', base, 'seq', 0)
    fresh = 1
  end
end

local function is_live(expires, at)
  return at < expires + policy.grace_s
end

local function renewal_is_due(touched, at)
  return at - touched >= math.max(policy.floor_s, limits.original_ttl_s * policy.share)
end

local function has_protected_room(held)
  return held.payloads + held.pinned < limits.max_entries - limits.kept_capacity
end

local function admits_payload(held, size)
  return held.payloads < limits.reserve_capacity
    and has_protected_room(held)
    and held.bytes + size <= limits.max_bytes
end

local function admits_pin(held)
  return held.pinned < math.floor(limits.max_entries / 2) and has_protected_room(held)
end
