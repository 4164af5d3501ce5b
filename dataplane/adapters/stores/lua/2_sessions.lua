-- Sessions and their frozen decisions. A session's version changes whenever something of it is
-- taken away, so that a reader with an older one reads it whole again.
--
--   s:<session>   kind, version, touched, renewed, expires
--   s.exp: s.own: s.alias:   every session by expiry; those of a kind by their last use
--   t:<session>   thread -> {messages, at, ttl_s, offered}
--   f:<session>   decision names by id; fv: name -> {component, key, replacement, digest, pinned,
--                 marker ids}; o: the names that are not pinned, by id
--   o.all:        sessions with such names by their last use
--   l:<session>   lost names -> {component, key}; l.all: {session, name} by id

local KINDS = { own = true, alias = true }

local function decision_name(component, decision_key)
  return #component .. ':' .. component .. decision_key
end

local function session_row(name)
  local row = call('HMGET', key('s', name), 'kind', 'touched', 'renewed', 'expires')
  if not row[1] then
    return nil
  end
  return {
    kind = row[1], touched = tonumber(row[2]), renewed = tonumber(row[3]), expires = tonumber(row[4]),
  }
end

local function set_kind(name, kind, touched)
  for known in pairs(KINDS) do
    call('ZREM', key('s.' .. known), name)
  end
  if KINDS[kind] then
    call('ZADD', key('s.' .. kind), exact(touched), name)
  end
  call('HSET', key('s', name), 'kind', kind)
  changed = true
end

local function set_expiry(name, expires)
  call('HSET', key('s', name), 'expires', exact(expires))
  call('ZADD', key('s.exp'), exact(expires), name)
end

local function delete_session(name)
  call('DEL', key('s', name), key('t', name))
  call('ZREM', key('s.exp'), name)
  for kind in pairs(KINDS) do
    call('ZREM', key('s.' .. kind), name)
  end
  changed = true
end

-- What others have read of a session no longer holds.
local function outdate(name)
  if call('EXISTS', key('s', name)) == 1 then
    call('HSET', key('s', name), 'version', bump('version'))
  end
end

local function known_decision(session, name)
  local packed = call('HGET', key('fv', session), name)
  return packed and cmsgpack.unpack(packed)
end

local function remove_decision(session, name, decision)
  call('HDEL', key('fv', session), name)
  call('ZREM', key('f', session), name)
  if decision[5] == 1 then
    bump('pinned', -1)
    return
  end
  bump('overflow', -1)
  call('ZREM', key('o', session), name)
  if call('ZCARD', key('o', session)) == 0 then
    call('ZREM', key('o.all'), session)
  end
end

local function trim_lost()
  local excess = call('ZCARD', key('l.all')) - limits.max_entries
  if excess <= 0 then
    return
  end
  local outdated = {}
  for _, member in ipairs(call('ZRANGE', key('l.all'), 0, excess - 1)) do
    local entry = cmsgpack.unpack(member)
    call('ZREM', key('l.all'), member)
    call('HDEL', key('l', entry[1]), entry[2])
    outdated[entry[1]] = true
  end
  for session in pairs(outdated) do
    outdate(session)
  end
end

-- The decisions are gone, and that there were any is remembered.
local function lose(session, names)
  for _, name in ipairs(names) do
    local decision = known_decision(session, name)
    local id = next_id()
    call('ZADD', key('l.all'), 'NX', id, cmsgpack.pack({ session, name }))
    call('HSETNX', key('l', session), name, cmsgpack.pack({ decision[1], decision[2] }))
    remove_decision(session, name, decision)
  end
  count('frozen_dropped', #names)
  trim_lost()
end

local function drop_session(name)
  lose(name, call('ZRANGE', key('f', name), 0, -1))
  delete_session(name)
end

-- A live session of this name. kind: own when it was opened itself, alias when it is known by
-- another's alias, bare when it has no turns. Returns whether there is one more of that kind now.
local function ensure_session(name, kind, at)
  local row = session_row(name)
  if row and not is_live(row.expires, at) then
    drop_session(name)
    row = nil
  end
  if not row then
    call('HSET', key('s', name), 'kind', kind, 'version', bump('version'), 'touched', exact(at),
      'renewed', exact(at))
    set_expiry(name, at + limits.ttl_s)
    set_kind(name, kind, at)
    return true
  end
  if row.kind ~= kind and (kind == 'own' or row.kind == 'bare') then
    set_kind(name, kind, row.touched)
    return true
  end
  return false
end

local function touch_session(name, row, at)
  local touched = math.max(row.touched, at)
  call('HSET', key('s', name), 'touched', exact(touched))
  call('ZADD', key('s.' .. row.kind), 'XX', exact(touched), name)
  call('ZADD', key('o.all'), 'XX', exact(touched), name)
end

-- Forget the turns of the sessions used longest ago; their decisions stay pinned.
local function cap_sessions(current)
  for kind in pairs(KINDS) do
    local index = key('s.' .. kind)
    local excess = call('ZCARD', index) - limits.max_sessions
    if excess > 0 then
      for _, name in ipairs(call('ZRANGE', index, 0, excess + 1)) do
        if excess > 0 and not current[name] then
          excess = excess - 1
          call('DEL', key('t', name))
          set_kind(name, 'bare')
          if call('EXISTS', key('f', name)) == 0 then
            delete_session(name)
          end
        end
      end
    end
  end
end

-- Remember one decision; its originals are durable already, in this call or before.
local function freeze(session, decision, at)
  ensure_session(session, 'bare', at)
  local component, decision_key, _, digest, marker_ids = unpack(decision)
  local name = decision_name(component, decision_key)
  local known = known_decision(session, name)
  if known and known[4] == digest then
    return
  end
  if known then
    remove_decision(session, name, known)
  end
  if call('HDEL', key('l', session), name) == 1 then
    call('ZREM', key('l.all'), cmsgpack.pack({ session, name }))
    count('frozen_repaired')
  end
  local pinned = admits_pin(fill()) and 1 or 0
  local id = next_id()
  call('ZADD', key('f', session), id, name)
  call('HSET', key('fv', session), name,
    cmsgpack.pack({ component, decision_key, bytes_of(decision[3]), digest, pinned, marker_ids }))
  if pinned == 1 then
    bump('pinned')
    return
  end
  bump('overflow')
  call('ZADD', key('o', session), id, name)
  call('ZADD', key('o.all'), call('HGET', key('s', session), 'touched'), session)
end

-- The session used longest ago that has a decision to evict, and its oldest such decision.
local function first_to_evict()
  local oldest = call('ZRANGE', key('o.all'), 0, 0, 'WITHSCORES')
  local found, least
  for _, session in ipairs(call('ZRANGEBYSCORE', key('o.all'), oldest[2], oldest[2])) do
    local first = call('ZRANGE', key('o', session), 0, 0, 'WITHSCORES')
    local id = tonumber(first[2])
    if not least or id < least then
      found, least = { session, first[1] }, id
    end
  end
  return found
end

-- Drop decisions that are not pinned until the whole fits max_entries.
local function evict_overflow()
  local held = fill()
  local room = limits.max_entries - held.payloads - held.pinned - held.kept
  local excess = math.max(0, held.overflow - math.max(0, room))
  local outdated = {}
  for _ = 1, excess do
    local entry = first_to_evict()
    lose(entry[1], { entry[2] })
    outdated[entry[1]] = true
  end
  for session in pairs(outdated) do
    outdate(session)
  end
end
