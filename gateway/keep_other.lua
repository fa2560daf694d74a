-- Keeps a file of a dashboard, unless that of a newer edition is kept. An empty file is deleted instead. Where the files
-- need more room than there is, others are deleted, at random.
--
-- KEYS[1] the files of the dashboard, with their size in bytes
-- ARGV[1] the name of the file
-- ARGV[2] the number of its edition
-- ARGV[3] the file
-- ARGV[4] the room in bytes
-- ARGV[5] the time to keep the files, in milliseconds
local former = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if tonumber(former:match('^%d+') or '0') > tonumber(ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
local added = ARGV[3] == '' and 0 or #ARGV[2] + 1 + #ARGV[3]
local size = tonumber(redis.call('HGET', KEYS[1], 'size') or '0') - #former + added
redis.call('HDEL', KEYS[1], 'size')
while size > tonumber(ARGV[4]) do
  local other = redis.call('HRANDFIELD', KEYS[1])
  if not other then return 0 end -- the file alone is too large
  size = size - redis.call('HSTRLEN', KEYS[1], other)
  redis.call('HDEL', KEYS[1], other)
end
if added > 0 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3]) end
redis.call('HSET', KEYS[1], 'size', size)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
