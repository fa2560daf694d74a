-- Saves a file of a dashboard, unless the file of a newer edition is saved. An empty file is deleted instead. If there is
-- too little room, the script evicts files of other dashboards, then other files of this dashboard, at random.
--
-- ARGV[3] the name of the file
-- ARGV[4] the number of the file's edition
-- ARGV[5] the content of the file
-- ARGV[6] the room in bytes for the other files of a dashboard
local former = redis.call('HGET', KEYS[4], ARGV[3])
if former and tonumber(former:match('^%d+')) > tonumber(ARGV[4]) then return 0 end
if ARGV[5] == '' and not former then return 0 end
begin(KEYS[2])
local size = redis.call('EXISTS', KEYS[4]) == 1 and bytes(KEYS[4]) or perHash
if former then
  size = size - weight(ARGV[3], former)
  redis.call('HDEL', KEYS[4], ARGV[3])
end
if ARGV[5] ~= '' then
  local value = ARGV[4] .. ' ' .. ARGV[5]
  size = size + weight(ARGV[3], value)
  free(KEYS[2], math.min(size, tonumber(ARGV[6])))
  local most = math.min(tonumber(ARGV[6]), room - others())
  while size > most do
    local other = redis.call('HRANDFIELD', KEYS[4])
    if not other then break end -- the file alone is too large
    size = size - weight(other, redis.call('HGET', KEYS[4], other))
    redis.call('HDEL', KEYS[4], other)
  end
  if size <= most then redis.call('HSET', KEYS[4], ARGV[3], value) end
end
if redis.call('EXISTS', KEYS[4]) == 1 then return finish(size) end
evict(KEYS[2], KEYS[4])
return 0
