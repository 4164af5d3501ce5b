-- Opening a turn: record it, return the one before, read what is new since the caller's marks.
-- The rules are those of retention.previous_turn, turn_record and alias_record.

local function past_turn(session, thread)
  local packed = call('HGET', key('t', session), thread)
  if not packed then
    return nil
  end
  local messages, at, ttl_s, offered, cached_at = unpack(cmsgpack.unpack(packed))
  return { messages = messages, at = at, ttl_s = ttl_s, offered = offered,
    cached_at = cached_at or 0 }
end

local function put_turn(session, thread, turn)
  call('HSET', key('t', session), thread,
    cmsgpack.pack({ turn.messages, turn.at, turn.ttl_s, turn.offered, turn.cached_at }))
  changed = true
end

local function moved_on(turn, clock)
  return {
    messages = turn.messages,
    at = math.max(turn.at, clock.at),
    ttl_s = math.max(turn.ttl_s, clock.ttl_s),
    offered = turn.offered,
    cached_at = math.max(turn.cached_at, clock.cached_at),
  }
end

-- Of another session's turn: what it says of the cache, and nothing else.
local function clock_of(turn)
  return { messages = 0, at = turn.at, ttl_s = turn.ttl_s, offered = false,
    cached_at = turn.cached_at }
end

local function previous_turn(own_turn, alias_turn)
  if not alias_turn then
    return own_turn
  end
  return moved_on(own_turn or clock_of(alias_turn), alias_turn)
end

local function turn_record(previous, wanted)
  return {
    messages = wanted.messages,
    at = wanted.at,
    ttl_s = math.max(previous and previous.ttl_s or 0, wanted.ttl_s),
    offered = (previous and previous.offered or wanted.offered) and true or false,
    cached_at = previous and previous.cached_at or 0,
  }
end

local function alias_record(alias_turn, record)
  return moved_on(alias_turn or clock_of(record), record)
end

-- Slide the session with the originals that its decisions name; returns the ids renewed, none
-- when the last renewal is recent enough.
local function renew_session(name, at)
  local row = session_row(name)
  touch_session(name, row, at)
  if not renewal_is_due(row.renewed, at) then
    return {}
  end
  call('HSET', key('s', name), 'renewed', exact(at))
  set_expiry(name, math.max(row.expires, at + limits.ttl_s))
  local ids, seen = {}, {}
  for _, packed in ipairs(call('HVALS', key('fv', name))) do
    for _, marker_id in ipairs(cmsgpack.unpack(packed)[6]) do
      if not seen[marker_id] then
        seen[marker_id] = true
        ids[#ids + 1] = marker_id
      end
    end
  end
  renew(ids, at)
  return ids
end

local function record_turn(wanted)
  local scope, at = wanted.scope, wanted.at
  local session, thread = scope.session, scope.thread
  local alias = scope.alias ~= '' and scope.alias ~= session and scope.alias or nil
  local created = ensure_session(session, 'own', at)
  if alias then
    created = ensure_session(alias, 'alias', at) or created
  end
  local own_turn = past_turn(session, thread)
  local alias_turn = alias and past_turn(alias, thread)
  local previous = previous_turn(own_turn, alias_turn)
  local record = turn_record(previous, wanted)
  put_turn(session, thread, record)
  if alias then
    put_turn(alias, thread, alias_record(alias_turn, record))
  end
  local renewed = renew_session(session, at)
  for _, marker_id in ipairs(alias and renew_session(alias, at) or {}) do
    renewed[#renewed + 1] = marker_id
  end
  if created then
    cap_sessions({ [session] = true, [scope.alias] = true })
  end
  return previous, own_turn, renewed
end

-- One list since a mark: {epoch, newest id, whole, rows}. A mark beyond the newest id was made
-- before the store lost some of its end, so that it says nothing.
local function added(index, seen, epoch, row_of, newest)
  local whole = seen[1] ~= epoch or seen[2] > tally('seq')
  local since = whole and -1 or seen[2]
  local found
  if newest then
    found = call('ZREVRANGEBYSCORE', index, '+inf', '(' .. since, 'WITHSCORES', 'LIMIT', 0, newest)
  else
    found = call('ZRANGEBYSCORE', index, '(' .. since, '+inf', 'WITHSCORES')
  end
  local rows, last = {}, since
  for position = 1, #found, 2 do
    last = math.max(last, tonumber(found[position + 1]))
    rows[#rows + 1] = row_of(found[position], found[position + 1])
  end
  return { epoch, last, whole and 1 or 0, rows }
end

local function read_session(scope, seen)
  local session = scope.session
  local version = tonumber(call('HGET', key('s', session), 'version'))
  local generation = tally('generation')
  local frozen = added(key('f', session), seen.frozen, version, function(name, id)
    local decision = known_decision(session, name)
    return { id, decision[1], decision[2], decision[3] }
  end)
  local lost = {}
  if frozen[3] == 1 then
    for _, packed in ipairs(call('HVALS', key('l', session))) do
      lost[#lost + 1] = cmsgpack.unpack(packed)
    end
  end
  local function owned(marker_id, id)
    return { id, marker_id, call('HGET', key('p', marker_id), 'touched') }
  end
  local function kept(name, id)
    return { id, name }
  end
  return {
    frozen,
    lost,
    added(key('kept.in'), seen.kept, generation, kept),
    added(key('kept.in', session), seen.kept_here, generation, kept),
    added(key('byp', scope.principal), seen.by_principal, generation, owned, policy.owned_ids),
    added(key('bys', session), seen.by_session, generation, owned, policy.owned_ids),
  }
end
