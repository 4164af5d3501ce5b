-- Originals: made durable, renewed, found, expired, deleted.
--
--   p:<id>      sha, size, packed, v (the bytes, packed and sealed), touched, expires
--   p.exp:      ids by expiry
--   own:<id>    who minted it: {principal, session} -> 1
--   byp:<principal>, bys:<session>   the ids of each, by the id of the ownership
--   led:        id -> l(ive), e(xpired) or d(eleted); led.at: the last two by when they became so
--   kept:       what stays verbatim, by id: <session>|<content key>, the session of the whole
--               tenant is empty; kept.in:<session>   the content keys of one, by the same id
--   kept.by:<content key>   the sessions that asked for it, by when

local EXPIRED, DELETED, LIVE = 'e', 'd', 'l'

local function owned_by(marker_id)
  local owners = {}
  for _, packed in ipairs(call('HKEYS', key('own', marker_id))) do
    owners[#owners + 1] = { packed, unpack(cmsgpack.unpack(packed)) }
  end
  return owners
end

local function own(marker_id, principal, session)
  local owner = cmsgpack.pack({ principal, session })
  if call('HSETNX', key('own', marker_id), owner, 1) == 1 then
    local id = next_id()
    call('ZADD', key('byp', principal), id, marker_id)
    call('ZADD', key('bys', session), id, marker_id)
  end
end

local function forget_original(marker_id)
  bump('payloads', -1)
  bump('bytes', -tonumber(call('HGET', key('p', marker_id), 'size')))
  bump('generation')
  for _, owner in ipairs(owned_by(marker_id)) do
    call('ZREM', key('byp', owner[2]), marker_id)
    call('ZREM', key('bys', owner[3]), marker_id)
  end
  call('DEL', key('p', marker_id), key('own', marker_id))
  call('ZREM', key('p.exp'), marker_id)
end

local function end_in_ledger(marker_id, state, at)
  if call('HEXISTS', key('led'), marker_id) == 1 then
    call('HSET', key('led'), marker_id, state)
    call('ZADD', key('led.at'), exact(at), marker_id)
  end
end

local function expire(marker_ids, at)
  for _, marker_id in ipairs(marker_ids) do
    forget_original(marker_id)
    end_in_ledger(marker_id, EXPIRED, at)
  end
  count('stash_expired', #marker_ids)
end

-- Up to policy.sweep_rows of each that has expired by `at`; returns how many. Sessions go first,
-- so that no decision outlives the text that it stands for.
local function collect(at)
  local horizon = exact(at - policy.grace_s)
  local function expired(index)
    return call('ZRANGEBYSCORE', key(index), '-inf', horizon, 'LIMIT', 0, policy.sweep_rows)
  end
  local sessions = expired('s.exp')
  for _, name in ipairs(sessions) do
    drop_session(name)
  end
  if #sessions >= policy.sweep_rows then
    return #sessions
  end
  local originals = expired('p.exp')
  expire(originals, at)
  return math.max(#sessions, #originals)
end

local function has_room(size, at)
  if size > limits.max_payload_bytes then
    return false
  end
  if admits_payload(fill(), size) then
    return true
  end
  collect(at)
  return admits_payload(fill(), size)
end

-- Slide the expiry; a clock that runs behind never shortens it.
local function renew(marker_ids, at)
  for _, marker_id in ipairs(marker_ids) do
    local times = call('HMGET', key('p', marker_id), 'touched', 'expires')
    if times[1] then
      local expires = exact(math.max(tonumber(times[2]), at + limits.original_ttl_s))
      call('HSET', key('p', marker_id), 'touched', exact(math.max(tonumber(times[1]), at)),
        'expires', expires)
      call('ZADD', key('p.exp'), expires, marker_id)
      changed = true
    end
  end
end

local function insert(payload, at)
  local marker_id, sha, size, packed, value, renews = unpack(payload)
  if renews or call('HEXISTS', key('led'), marker_id) == 1 then
    count('stash_revived')
  end
  local expires = exact(at + limits.original_ttl_s)
  call('HSET', key('p', marker_id), 'sha', sha, 'size', size, 'packed', packed, 'v', bytes_of(value),
    'touched', exact(at), 'expires', expires)
  call('ZADD', key('p.exp'), expires, marker_id)
  call('HSET', key('led'), marker_id, LIVE)
  call('ZREM', key('led.at'), marker_id)
  bump('payloads')
  bump('bytes', size)
end

-- Keep one original; returns why not, or nil. renewed: collects the ids that were touched.
local function stash(payload, scope, at, renewed)
  local marker_id, sha, size, _, _, renews = unpack(payload)
  local row = call('HMGET', key('p', marker_id), 'sha', 'size', 'touched', 'expires')
  if row[1] and not is_live(tonumber(row[4]), at) then
    expire({ marker_id }, at)
    row = {}
  end
  if not row[1] then
    if not renews and not has_room(size, at) then
      count('stash_refused')
      return 'full'
    end
    insert(payload, at)
    renewed[marker_id] = at
  elseif tonumber(row[2]) ~= size or row[1] ~= sha then
    return 'collision'
  elseif renewal_is_due(tonumber(row[3]), at) then
    renew({ marker_id }, at)
    renewed[marker_id] = at
  end
  own(marker_id, scope.principal, scope.session)
end

local function why_missing(marker_id, at, emitted)
  local state = call('HGET', key('led'), marker_id)
  if state then
    return state == EXPIRED and 'expired' or state == DELETED and 'deleted' or 'lost'
  end
  local facts = call('HMGET', TALLY, 'purged', 'reset_at')
  if facts[1] then
    return 'deleted'
  end
  local proves = not facts[2] or at - tonumber(facts[2]) >= policy.ledger_retention_s
  return proves and not emitted and 'never_minted' or 'lost'
end

local CONTENT_KEY = 24

local function keep_in(session, content_key)
  local id = next_id()
  if call('ZADD', key('kept.in', session), 'NX', id, content_key) == 1 then
    call('ZADD', key('kept'), id, session .. '|' .. content_key)
    bump('kept')
  end
end

local function keep_no_longer(member)
  local session, content_key = string.sub(member, 1, -CONTENT_KEY - 2), string.sub(member, -CONTENT_KEY)
  call('ZREM', key('kept'), member)
  call('ZREM', key('kept.in', session), content_key)
  call('ZREM', key('kept.by', content_key), session)
  bump('kept', -1)
  bump('generation')
end

-- Whether another session asked for it within so long of this time.
local function is_asked_elsewhere(session, content_key, at)
  local within = policy.asked_back_within_s
  local found = call('ZRANGEBYSCORE', key('kept.by', content_key), exact(at - within),
    exact(at + within), 'LIMIT', 0, 2)
  return (found[1] and found[1] ~= session) or (found[2] and found[2] ~= session)
end

-- Remember a content that was asked back; the oldest such contents make room for it.
local function keep(content_key, session, reach, at)
  if reach == 'tenant' then
    keep_in('', content_key)
  else
    keep_in(session, content_key)
    call('ZADD', key('kept.by', content_key), 'GT', exact(at), session)
    if reach == 'auto' and is_asked_elsewhere(session, content_key, at) then
      keep_in('', content_key)
    end
  end
  local excess = call('ZCARD', key('kept')) - limits.kept_capacity
  if excess > 0 then
    for _, member in ipairs(call('ZRANGE', key('kept'), 0, excess - 1)) do
      keep_no_longer(member)
    end
  end
  evict_overflow()
end
