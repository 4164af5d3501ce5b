-- What may be asked. Each call answers {fresh, fill, what happened, its own answer,
-- when the ledger began anew}.

local calls = {}

function calls.open_turn()
  local previous, own_turn, renewed = record_turn(args)
  local before = previous
    and { previous.messages, exact(previous.at), previous.ttl_s, previous.offered and 1 or 0,
      exact(previous.cached_at) }
  return { before or {}, own_turn and exact(own_turn.at) or '', renewed,
    read_session(args.scope, args.seen) }
end

function calls.record_turns()
  for _, turn in ipairs(args.turns) do
    record_turn(turn)
  end
  return {}
end

-- A ping, which restarts a thread's clock and is no turn; 0 where the thread went on.
function calls.touch_turn()
  local scope, at = args.scope, args.at
  local turn = past_turn(scope.session, scope.thread)
  if not turn or turn.at ~= args.since then
    return { 0 }
  end
  turn.at = at
  put_turn(scope.session, scope.thread, turn)
  local alias_turn = scope.alias ~= '' and scope.alias ~= scope.session
    and past_turn(scope.alias, scope.thread)
  if alias_turn then
    alias_turn.at = math.max(alias_turn.at, at)
    put_turn(scope.alias, scope.thread, alias_turn)
  end
  return { 1 }
end

-- The provider caches this thread, under whichever name it comes.
function calls.note_cached()
  local scope = args.scope
  for session in pairs({ [scope.session] = true, [scope.alias] = true }) do
    local turn = past_turn(session, scope.thread)
    if turn then
      turn.cached_at = math.max(turn.cached_at, args.at)
      put_turn(session, scope.thread, turn)
    end
  end
  return {}
end

-- Originals, owners, ledger and decisions: all of them become durable, or none. A commit that was
-- given up meanwhile does nothing.
function calls.commit()
  local refused, renewed, answer = {}, {}, {}
  if call('EXISTS', key('void', args.attempt)) == 1 then
    return { {}, {}, 0 }
  end
  for _, payload in ipairs(args.payloads) do
    refused[payload[1]] = stash(payload, args.scope, args.at, renewed) or refused[payload[1]]
  end
  for _, decision in ipairs(args.decisions) do
    local holds = true
    for _, marker_id in ipairs(decision[5]) do
      holds = holds and not refused[marker_id] and call('EXISTS', key('p', marker_id)) == 1
    end
    if holds then
      freeze(args.scope.session, decision, args.at)
      -- Not before the session's own renewal: a decision must not outlive its originals.
      local last = tonumber(call('HGET', key('s', args.scope.session), 'renewed'))
      renew(decision[5], math.max(args.at, last))
      for _, marker_id in ipairs(decision[5]) do
        renewed[marker_id] = math.max(args.at, last)
      end
    end
  end
  if changed then
    evict_overflow()
    count('commits')
  end
  local reasons, times = {}, {}
  for marker_id, reason in pairs(refused) do
    reasons[#reasons + 1] = { marker_id, reason }
  end
  for marker_id, at in pairs(renewed) do
    times[#times + 1] = { marker_id, exact(at) }
  end
  return { reasons, times, changed and 1 or 0 }
end

-- A request went out without these decisions: they must not be replayed, whether the commit has
-- landed or is still to come.
function calls.take_back()
  call('SET', key('void', args.attempt), 1, 'EX', 3600)
  for _, decision in ipairs(args.decisions) do
    local name = decision_name(decision[1], decision[2])
    local known = known_decision(args.session, name)
    if known and known[4] == decision[4] then
      remove_decision(args.session, name, known)
    end
  end
  outdate(args.session)
  return {}
end

-- Decisions that do not open are no decisions.
function calls.lose()
  local names = {}
  for _, decision in ipairs(args.decisions) do
    local name = decision_name(decision[1], decision[2])
    if known_decision(args.session, name) then
      names[#names + 1] = name
    end
  end
  lose(args.session, names)
  return {}
end

-- Whose decision of this session the id stands in, '' where there is none.
local function component_of(session, marker_id)
  for _, packed in ipairs(call('HVALS', key('fv', session))) do
    local decision = cmsgpack.unpack(packed)
    for _, named in ipairs(decision[6]) do
      if named == marker_id then
        return decision[1]
      end
    end
  end
  return ''
end

function calls.find()
  local marker_id, scope = args.marker_id, args.scope
  local row = call('HMGET', key('p', marker_id), 'sha', 'packed', 'touched', 'expires')
  if not row[1] then
    return { why_missing(marker_id, args.at, args.emitted) }
  end
  if not is_live(tonumber(row[4]), args.at) then
    return { 'expired' }
  end
  if not args.shared and not call('ZSCORE', key('byp', scope.principal), marker_id) then
    return { 'foreign_session' }
  end
  local due = renewal_is_due(tonumber(row[3]), args.at) and 1 or 0
  local value = call('HGET', key('p', marker_id), 'v')
  local component = args.keep and '' or component_of(scope.session, marker_id)
  return { 'resolved', row[1], tonumber(row[2]), value, due, component }
end

-- What a read leaves behind. sealed: the same bytes under the newest key, nil to leave them.
function calls.note_recall()
  if args.due then
    renew({ args.marker_id }, args.at)
  end
  if args.sealed and call('HGET', key('p', args.marker_id), 'sha') == args.sha then
    call('HSET', key('p', args.marker_id), 'packed', args.packed, 'v', bytes_of(args.sealed))
  end
  if args.keep then
    keep(args.keep, args.session, args.reach, args.at)
  end
  return {}
end

function calls.sweep()
  local collected = collect(args.at)
  local oldest = args.at
  if call('HLEN', key('led')) <= policy.ledger_rows then
    oldest = args.at - policy.ledger_retention_s
  end
  local ended = call('ZRANGEBYSCORE', key('led.at'), '-inf', exact(oldest), 'LIMIT', 0,
    policy.sweep_rows)
  for _, marker_id in ipairs(ended) do
    call('ZREM', key('led.at'), marker_id)
    call('HDEL', key('led'), marker_id)
  end
  return { collected }
end

-- Turns, decisions and owned ids of a session, and the originals that nobody else owns.
function calls.purge_session()
  local session = args.session
  local names = call('ZRANGE', key('f', session), 0, -1)
  for _, name in ipairs(names) do
    remove_decision(session, name, known_decision(session, name))
  end
  for _, name in ipairs(call('HKEYS', key('l', session))) do
    call('ZREM', key('l.all'), cmsgpack.pack({ session, name }))
  end
  call('DEL', key('l', session))
  for _, content_key in ipairs(call('ZRANGE', key('kept.in', session), 0, -1)) do
    keep_no_longer(session .. '|' .. content_key)
  end
  local sessions = call('EXISTS', key('s', session))
  delete_session(session)
  local originals = 0
  for _, marker_id in ipairs(call('ZRANGE', key('bys', session), 0, -1)) do
    local left = {}
    local owners = owned_by(marker_id)
    for _, owner in ipairs(owners) do
      if owner[3] == session then
        call('HDEL', key('own', marker_id), owner[1])
      else
        left[owner[2]] = true
      end
    end
    for _, owner in ipairs(owners) do
      if not left[owner[2]] then
        call('ZREM', key('byp', owner[2]), marker_id)
      end
    end
    if not next(left) then
      forget_original(marker_id)
      end_in_ledger(marker_id, DELETED, args.at)
      originals = originals + 1
    end
  end
  call('DEL', key('bys', session))
  bump('generation')
  return { originals, #names, sessions }
end

-- A purge has removed all keys of the tenant but the bar: begin anew and remember that.
function calls.begin_after_purge()
  call('HSET', TALLY, 'purged', 1)
  call('DEL', key('barred'))
  return {}
end

function calls.note_reset()
  call('HSET', TALLY, 'reset_at', exact(args.at))
  return {}
end

function calls.held()
  return { call('ZCARD', key('s.exp')) }
end

local ONLY_READ = { find = true, held = true }
local op = ARGV[1]
if call('EXISTS', key('barred')) == 1 and op ~= 'begin_after_purge' and op ~= 'held' then
  return redis.error_reply('BARRED the tenant is being purged')
end
if args.keyring and call('GETRANGE', key('datakeys'), 0, policy.keyring_bytes - 1) ~= args.keyring then
  return redis.error_reply('STALE the data keys are others by now')
end
if not ONLY_READ[op] then
  begin()
end
local answer = calls[op]()
local held = fill()
local counted = {}
for name, number in pairs(happened) do
  counted[#counted + 1] = { name, number }
end
return {
  fresh,
  { held.payloads, held.bytes, held.pinned, held.overflow, held.kept },
  counted,
  answer,
  call('HGET', TALLY, 'reset_at') or '',
}
