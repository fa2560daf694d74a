-- Counts one use of a key in a window that begins with the first use. Does not count a use that it refuses.
--
-- KEYS[1] the counter   ARGV[1] limit   ARGV[2] window (ms)   ARGV[3] 1, or 0 to count nothing
-- Returns 0, or the ms until the window ends if the limit is reached.
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then return math.max(1, redis.call('PTTL', KEYS[1])) end
if ARGV[3] == '0' then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
