package boot

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisTimeout is how long one call may hang before Redis counts as down, unless REDIS_URL says otherwise.
const redisTimeout = time.Second

// Redis names the Redis server.
type Redis struct {
	RedisURL string `name:"redis-url" env:"REDIS_URL" required:"" help:"Redis, e.g. redis://localhost:6379/0; ?read_timeout=3s is how long a call may hang (1s)."`
}

// Validate is called by the settings' parser.
func (r Redis) Validate() error {
	if r.RedisURL == "" {
		return errors.New("REDIS_URL must name a server")
	}
	if err := OptionalURL("REDIS_URL", r.RedisURL, "redis", "rediss"); err != nil {
		return err
	}
	_, err := r.Options()
	return err
}

// Options are how the platform talks to Redis: within bounds, and in silence, for an outage is told
// once, by whoever notices it.
func (r Redis) Options() (*redis.Options, error) {
	options, err := redis.ParseURL(r.RedisURL)
	if err != nil {
		return nil, errors.New("REDIS_URL has a path or parameter that Redis clients do not know") // the cause would quote a password
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

// quiet ends the client's own lines on standard error, one for each connection it cannot make. The client
// has one logger for all of the process.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
