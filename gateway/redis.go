package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// probeInterval is the time between two probes of a Redis that is down.
const probeInterval = 200 * time.Millisecond

// errDown means that Redis is down.
var errDown = errors.New("gateway: Redis cannot be reached")

// redisClient reads credentials' entries and counts calls, both in one round trip. While
// Redis is down, its methods return errDown without a round trip.
//
// One pipeline is sent at a time. Queries that come meanwhile share the next pipeline: a
// busy gateway pays a fraction of a round trip for each call, and an idle gateway does not
// wait.
type redisClient struct {
	client  *redis.Client
	timeout time.Duration // limit of a round trip
	script  *redis.Script
	log     *slog.Logger
	up      prometheus.Gauge
	down    atomic.Bool

	mu      sync.Mutex
	sending bool
	queued  map[check]*query
}

// check asks Redis whether a credential's entry is still the known one and, if it is and
// counted is set, whether one more call is within the quota.
type check struct {
	entryKey string
	entry    string // the known entry
	counted  bool
	quota    quota
}

// query is a check in a pipeline, for all calls that have the same check.
type query struct {
	check
	calls int
	done  chan struct{}
	reply reply
	err   error
}

// reply is the result of limit.lua.
type reply struct {
	state   string
	entry   string // if it has changed
	granted int    // number of the query's calls that are granted
	retry   time.Duration
}

// The states of an entry.
const (
	entrySame    = "same"
	entryChanged = "changed"
	entryMissing = "missing"
)

func newRedisClient(settings boot.Redis, log *slog.Logger, metrics prometheus.Registerer) (*redisClient, error) {
	options, err := settings.Options()
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1 // the gateway asks identity instead, which is faster
	c := &redisClient{
		client:  redis.NewClient(options),
		timeout: options.ReadTimeout,
		script:  redis.NewScript(limitScript),
		log:     log,
		up:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "gateway_redis_up", Help: "1 while Redis responds, 0 during an outage."}),
		queued:  map[check]*query{},
	}
	c.up.Set(1)
	return c, metrics.Register(c.up)
}

// ask returns the reply of Redis to a round trip that began after the call of ask, and
// whether the call is granted.
func (c *redisClient) ask(ctx context.Context, what check) (out reply, granted bool, err error) {
	if c.down.Load() {
		return reply{}, false, errDown
	}
	c.mu.Lock()
	q := c.queued[what]
	if q == nil {
		q = &query{check: what, done: make(chan struct{})}
		c.queued[what] = q
	}
	place := q.calls
	q.calls++
	if !c.sending {
		c.sending = true
		go c.sendAll()
	}
	c.mu.Unlock()
	select {
	case <-q.done:
		return q.reply, place < q.reply.granted, q.err
	case <-ctx.Done():
		return reply{}, false, context.Cause(ctx)
	}
}

// sendAll sends pipelines until no query is queued.
func (c *redisClient) sendAll() {
	for {
		c.mu.Lock()
		queries := slices.Collect(maps.Values(c.queued))
		clear(c.queued)
		c.sending = len(queries) > 0
		c.mu.Unlock()
		if len(queries) == 0 {
			return
		}
		c.send(queries)
	}
}

// send sends all queries in one round trip. A second round trip follows for a query if
// Redis does not have the script.
func (c *redisClient) send(queries []*query) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	pipe := c.client.Pipeline()
	commands := make([]*redis.Cmd, len(queries))
	if !c.down.Load() { // Redis may have failed while these waited
		for i, q := range queries {
			commands[i] = c.script.EvalSha(ctx, pipe, q.keys(), q.arguments()...)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i, q := range queries {
		if q.err = errDown; commands[i] != nil {
			q.err = c.receive(ctx, q, commands[i])
		}
		close(q.done)
	}
}

// receive reads the reply to a query. Every failure counts as an outage.
func (c *redisClient) receive(ctx context.Context, q *query, command *redis.Cmd) error {
	values, err := command.Slice()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		values, err = c.script.Eval(ctx, c.client, q.keys(), q.arguments()...).Slice()
	}
	if err == nil && len(values) != 4 {
		err = fmt.Errorf("unexpected reply of limit.lua: %v", values)
	}
	if err != nil {
		c.Fail(err)
		return errDown
	}
	q.reply.state, _ = values[0].(string)
	q.reply.entry, _ = values[1].(string)
	granted, _ := values[2].(int64)
	retry, _ := values[3].(int64)
	q.reply.granted, q.reply.retry = int(granted), time.Duration(retry)*time.Millisecond
	return nil
}

func (q *query) keys() []string { return []string{q.entryKey, q.quota.log} }

func (q *query) arguments() []any {
	calls := q.calls
	if !q.counted {
		calls = 0
	}
	return []any{q.entry, calls, q.quota.limit, q.quota.window.Milliseconds(), q.quota.slot().Milliseconds()}
}

// fill stores an entry if there is none. It never replaces an entry, because identity may
// have written a Void one meanwhile.
func (c *redisClient) fill(ctx context.Context, key, entry string) {
	if err := c.client.SetNX(ctx, key, entry, peer.CredentialTTL).Err(); err != nil && ctx.Err() == nil {
		c.Fail(err)
	}
}

// Fail marks Redis as down and logs the cause once.
func (c *redisClient) Fail(err error) {
	if errors.Is(err, redis.ErrClosed) { // the gateway ends while it saves files
		return
	}
	if c.down.Swap(true) {
		return
	}
	c.up.Set(0)
	c.log.Error("Redis cannot be reached: identity checks keys, and memory counts calls", "error", cause(err))
}

// watch probes a Redis that is down and marks it as up when a probe succeeds. It returns
// when ctx ends. The probe writes a key: a PING would also succeed on a Redis that is
// loading its data, is a replica, or has no memory left.
func (c *redisClient) watch(ctx context.Context) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// The client's timeouts bound the call.
		if c.down.Load() && c.client.Set(ctx, "gateway:probe", "1", time.Second).Err() == nil {
			c.up.Set(1)
			c.down.Store(false)
			c.log.Info("Redis is back")
		}
	}
}

// Client returns the client for commands outside the pipelines.
func (c *redisClient) Client() *redis.Client { return c.client }

// IsDown reports whether Redis failed and has not responded since.
func (c *redisClient) IsDown() bool { return c.down.Load() }

// cause returns the error without addresses, because an address may contain a password.
func cause(err error) string {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}
