package boot

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisTimeout limits the time of a call, unless REDIS_URL sets another limit.
const redisTimeout = time.Second

// Redis is the setting of the Redis server.
type Redis struct {
	RedisURL string `name:"redis-url" env:"REDIS_URL" required:"" check:"redis" help:"Redis, e.g. redis://localhost:6379/0; ?read_timeout=3s is the time limit of a call (default 1s)."`
}

// Options returns the options of a Redis client. Each call has a time limit. The client itself logs nothing, because
// the platform logs an outage once.
func (r Redis) Options() (*redis.Options, error) {
	options, err := redis.ParseURL(r.RedisURL)
	if err != nil {
		return nil, errors.New("REDIS_URL has an unknown path or parameter") // the cause is omitted, because it may contain a password
	}
	quiet()
	timeout := cmp.Or(max(0, options.ReadTimeout), redisTimeout)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = timeout, timeout, timeout
	options.ContextTimeoutEnabled = true
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
}

// quiet turns off the logger of the Redis library, which writes a line to standard error for each failed connection.
// The library has only one logger per process.
var quiet = sync.OnceFunc(logging.Disable)
