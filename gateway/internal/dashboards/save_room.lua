-- The scripts that save files of dashboards begin with these lines. All gateways together save at most ARGV[1] bytes.
--
-- KEYS[1] sorted set of the hashes with the files of dashboards and with addresses, by the time of their last use
-- KEYS[2] sorted set of the hashes with the other files of dashboards; these hashes are evicted first
-- KEYS[3] hash with the bytes of each hash, and their sum
-- KEYS[4] the hash to save
-- ARGV[1] the room in bytes
-- ARGV[2] the time after which an unused hash expires, in milliseconds
local perHash, perField = 768, 128 -- bytes that Redis needs in addition to names and values, about
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local room, life = tonumber(ARGV[1]), tonumber(ARGV[2])

local function bytes(hash) return tonumber(redis.call('HGET', KEYS[3], hash) or '0') end

-- others returns the bytes of all other hashes.
local function others() return bytes('all') - bytes(KEYS[4]) end

local function weight(name, value) return #name + #value + perField end

local function evict(index, hash)
  redis.call('DEL', hash)
  redis.call('ZREM', index, hash)
  redis.call('HINCRBY', KEYS[3], 'all', 0 - bytes(hash))
  redis.call('HDEL', KEYS[3], hash)
end

-- begin marks the hash as used. This is the first write of the script. If Redis has no memory left, it refuses this write,
-- and the script changes nothing.
local function begin(index)
  redis.call('ZADD', index, now, KEYS[4])
  for _, name in ipairs({KEYS[1], KEYS[2]}) do
    for _, expired in ipairs(redis.call('ZRANGEBYSCORE', name, '-inf', now - life)) do evict(name, expired) end
  end
end

-- free evicts the least recently used hashes of a sorted set until there is room for the hash with this size.
local function free(index, size)
  while others() + size > room do
    local oldest = redis.call('ZRANGE', index, 0, 1)
    if oldest[1] == KEYS[4] then table.remove(oldest, 1) end
    if not oldest[1] then return end
    evict(index, oldest[1])
  end
end

local function finish(size)
  redis.call('HINCRBY', KEYS[3], 'all', size - bytes(KEYS[4]))
  redis.call('HSET', KEYS[3], KEYS[4], size)
  for i = 1, 4 do redis.call('PEXPIRE', KEYS[i], life) end
  return 1
end

