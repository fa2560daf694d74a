-- Removes one use of a key from the count, unless the window of the key has ended.
--
-- KEYS[1] the counter
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
return 0
