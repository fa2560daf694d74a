-- Marks the saved hashes of a dashboard as recently used. Returns six numbers: the number of the saved edition, the
-- milliseconds until its files expire, the milliseconds until the address expires (0 or less: not saved), 1 if more
-- than half of the room is used, the version of the saved aliases, and the milliseconds until they expire. If more than
-- half of the room is used, a missing hash was evicted. Otherwise Redis has lost its data.
--
-- KEYS[4] the files of the dashboard
-- KEYS[5] the other files of the dashboard
-- KEYS[6] the address of the dashboard
-- KEYS[7] the aliases of the dashboard
local left = {}
for i, index in ipairs({KEYS[1], KEYS[2], KEYS[1], KEYS[1]}) do
  local hash = KEYS[3 + i]
  left[i] = bytes(hash) > 0 and redis.call('PTTL', hash) or 0
  if left[i] > 0 then redis.call('ZADD', index, 'XX', now, hash) end
end
local function number(hash) return tonumber(redis.call('HGET', hash, 'number') or '0') end
return {number(KEYS[4]), left[1], left[3], bytes('all') * 2 > room and 1 or 0, number(KEYS[7]), left[4]}
