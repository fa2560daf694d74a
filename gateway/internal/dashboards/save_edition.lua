-- Replaces the saved files of a dashboard, unless the files of a newer edition are saved. Or replaces its aliases, unless a
-- newer version is saved. Or replaces an address.
--
-- ARGV[3] the number of the edition, or the version of the aliases; empty: KEYS[4] is an address
-- ARGV[4] and so on: names and values of the fields
if ARGV[3] ~= '' and tonumber(redis.call('HGET', KEYS[4], 'number') or '0') > tonumber(ARGV[3]) then return 0 end
begin(KEYS[1])
local size = perHash + weight('number', ARGV[3])
for i = 4, #ARGV, 2 do size = size + weight(ARGV[i], ARGV[i + 1]) end
if size > room then
  evict(KEYS[1], KEYS[4])
  return 0
end
free(KEYS[2], size)
free(KEYS[1], size)
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'number', ARGV[3])
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
return finish(size)
