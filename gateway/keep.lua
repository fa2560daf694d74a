-- Replaces the kept files of a dashboard, unless those of a newer edition are kept.
--
-- KEYS[1] the files of the dashboard
-- ARGV[1] the number of the edition
-- ARGV[2] the time to keep them, in milliseconds
-- ARGV[3] and so on: names and values
if tonumber(redis.call('HGET', KEYS[1], 'number') or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'number', ARGV[1])
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
