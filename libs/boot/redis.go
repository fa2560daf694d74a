package boot

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisTimeout limits the time of a call, unless REDIS_URL sets another limit.
const redisTimeout = time.Second

// Redis is the setting of the Redis server, or of a Redis cluster if the URL has further nodes as parameters addr. A
// client gets the addresses of all other nodes from these nodes.
type Redis struct {
	RedisURL string `name:"redis-url" env:"REDIS_URL" required:"" check:"redis" help:"Redis, e.g. redis://localhost:6379/0; ?read_timeout=3s is the time limit of a call (default 1s); ?addr=host2:6379&addr=host3:6379 are further nodes of a cluster."`
}

var errRedisURL = errors.New("REDIS_URL has an unknown path or parameter") // without the cause, which may contain a password

// IsCluster reports whether the URL names nodes of a Redis cluster.
func (r Redis) IsCluster() bool {
	u, err := url.Parse(r.RedisURL)
	return err == nil && u.Query().Has("addr")
}

// Tag returns the prefix for the names of keys that one script or decision needs together. In a cluster the prefix is
// the hash tag {name}, so that all these keys are in one slot. On a single server the prefix is empty.
func (r Redis) Tag(name string) string {
	if r.IsCluster() {
		return "{" + name + "}"
	}
	return ""
}

// Connect returns a client that repeats a failed command up to retries times, and the time limit of a call. It does not
// connect yet. The client itself logs nothing, because the platform logs an outage once.
func (r Redis) Connect(retries int) (client redis.UniversalClient, timeout time.Duration, err error) {
	quiet()
	quietly := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	never := cmp.Or(retries, -1) // the library replaces 0 by its default
	if r.IsCluster() {
		options, err := redis.ParseClusterURL(r.RedisURL)
		if u, _ := url.Parse(r.RedisURL); err != nil || strings.Trim(u.Path, "/0") != "" { // a cluster has only database 0
			return nil, 0, errRedisURL
		}
		timeout = cmp.Or(max(0, options.ReadTimeout), redisTimeout)
		options.DialTimeout, options.ReadTimeout, options.WriteTimeout = timeout, timeout, timeout
		options.ContextTimeoutEnabled, options.DialerRetries, options.DisableIdentity = true, 1, true
		options.MaxRetries, options.MaxRedirects, options.MaintNotificationsConfig = never, 2, quietly
		return redis.NewClusterClient(options), timeout, nil
	}
	options, err := redis.ParseURL(r.RedisURL)
	if err != nil {
		return nil, 0, errRedisURL
	}
	timeout = cmp.Or(max(0, options.ReadTimeout), redisTimeout)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = timeout, timeout, timeout
	options.ContextTimeoutEnabled, options.DialerRetries, options.DisableIdentity = true, 1, true
	options.MaxRetries, options.MaintNotificationsConfig = never, quietly
	return redis.NewClient(options), timeout, nil
}

// quiet turns off the logger of the Redis library, which writes a line to standard error for each failed connection.
// The library has only one logger per process.
var quiet = sync.OnceFunc(logging.Disable)
