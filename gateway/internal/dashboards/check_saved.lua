-- Marks the saved hashes of a dashboard that has visitors as used. Returns the number of the saved edition, the milliseconds
-- until its files and the address expire (0 or less: they are not saved), and whether more than half of the
-- room is used. If it is, a missing hash was evicted; otherwise Redis has lost its data.
--
-- KEYS[4] the files of the dashboard
-- KEYS[5] its other files
-- KEYS[6] its address
local left = {}
for i, index in ipairs({KEYS[1], KEYS[2], KEYS[1]}) do
  local hash = KEYS[3 + i]
  left[i] = bytes(hash) > 0 and redis.call('PTTL', hash) or 0
  if left[i] > 0 then redis.call('ZADD', index, 'XX', now, hash) end
end
return {tonumber(redis.call('HGET', KEYS[4], 'number') or '0'), left[1], left[3], bytes('all') * 2 > room and 1 or 0}
