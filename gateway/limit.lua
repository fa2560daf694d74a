-- Compares the entry of a credential with the entry that the gateway knows. If they are equal,
-- counts calls against a limit in any window of time (a sliding log). The script is atomic and
-- uses the clock of this server, so the count is exact for any number of gateways.
--
-- KEYS[1] the credential's entry     KEYS[2] the log
-- ARGV[1] the entry that the gateway knows
-- ARGV[2] number of calls to count; 0: only compare the entry
-- ARGV[3] limit   ARGV[4] window (ms)
-- ARGV[5] slot (ms): calls in the same slot share a mark, which has the time of the newest call
--
-- Returns {'missing', '', 0, 0}, {'changed', entry, 0, 0}, or {'same', '', calls granted,
-- ms until one more call can be granted}.
--
-- The log is a list of marks "time:sum". sum is the number of all calls since the log began.
-- The first mark is the last one that has left the window (or 0:0). So the number of calls in
-- the window is the sum in the last mark minus the sum in the first. The log never has more
-- marks than the limit.
local entry = redis.call('GET', KEYS[1])
if not entry then return {'missing', '', 0, 0} end
if entry ~= ARGV[1] then return {'changed', entry, 0, 0} end
local asked = tonumber(ARGV[2])
if asked == 0 then return {'same', '', 0, 0} end

local log = KEYS[2]
local limit, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local slot = tonumber(ARGV[5])

local function read(text)
  if not text then return nil end
  local at, sum = string.match(text, '^(%d+):(%d+)$')
  return tonumber(at), tonumber(sum)
end
local function mark(index) return read(redis.call('LINDEX', log, index)) end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local tail, sum = mark(-1)
if not tail then
  redis.call('RPUSH', log, '0:0')
  tail, sum = 0, 0
end
now = math.max(now, tail) -- the times in a log never decrease, even if the clock is set back

local oldest = redis.call('LRANGE', log, 0, 1)
local _, gone = read(oldest[1])
local at, upto = read(oldest[2])
while at and at + window < now do
  redis.call('LPOP', log)
  gone = upto
  at, upto = mark(1)
end

local granted = math.max(0, math.min(asked, limit - (sum - gone)))
if granted > 0 then
  local same = sum > gone and math.floor(tail / slot) == math.floor(now / slot)
  sum = sum + granted
  local text = string.format('%.0f:%.0f', now, sum)
  if same then
    redis.call('LSET', log, -1, text)
  else
    redis.call('RPUSH', log, text)
    redis.call('PEXPIRE', log, window + slot + 1000)
  end
end
if granted == asked then return {'same', '', granted, 0} end

-- Find the first mark after whose expiry one more call can be granted. It is the oldest mark
-- unless the limit was lowered.
local low, high = 1, redis.call('LLEN', log) - 1
if limit < 1 or high < 1 then return {'same', '', granted, window} end
while low < high do
  local middle = math.floor((low + high) / 2)
  local _, upto = mark(middle)
  if upto > sum - limit then high = middle else low = middle + 1 end
end
return {'same', '', granted, mark(low) + window + 1 - now}
