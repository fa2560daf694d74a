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

// probeInterval is the time between two probes while Redis is down.
const probeInterval = 200 * time.Millisecond

// errDown means that Redis is down.
var errDown = errors.New("gateway: Redis cannot be reached")

// redisClient compares the entries of credentials and counts calls, both in one round trip. While Redis is down, ask returns
// errDown without a round trip.
//
// One pipeline is sent at a time. Queries that arrive during its round trip share the next pipeline. So a busy gateway
// needs fewer round trips than calls, and a call in an idle gateway never waits for others.
type redisClient struct {
	client  redis.UniversalClient
	tag     string        // first part of the names of all keys, for a cluster
	timeout time.Duration // limit of a round trip
	script  *redis.Script
	log     *slog.Logger
	up      prometheus.Gauge
	down    atomic.Bool

	mu      sync.Mutex
	sending bool
	queued  map[check]*query
}

// check asks Redis whether the entry of a credential still has the known text. If the text is the same and counted is set,
// the check also asks whether one more call is within the quota, and counts the call.
type check struct {
	entryKey string
	entry    string // known text of the entry
	counted  bool
	quota    quota
}

// query is a check in a pipeline. All calls with the same check that arrive before the pipeline is sent share the query.
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
	entry   string // new text of the entry if it has changed
	granted int    // number of this query's calls that are granted
	retry   time.Duration
}

// Results of comparing an entry with the known text.
const (
	entrySame    = "same"
	entryChanged = "changed"
	entryMissing = "missing"
)

func newRedisClient(settings boot.Redis, log *slog.Logger, metrics prometheus.Registerer) (*redisClient, error) {
	client, timeout, err := settings.Connect(0) // instead of a retry, the gateway asks identity, which is faster
	if err != nil {
		return nil, err
	}
	c := &redisClient{
		client:  client,
		tag:     settings.Tag(peer.GatewayTag),
		timeout: timeout,
		script:  redis.NewScript(limitScript),
		log:     log,
		up:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "gateway_redis_up", Help: "1 while Redis responds, 0 during an outage."}),
		queued:  map[check]*query{},
	}
	c.up.Set(1)
	return c, metrics.Register(c.up)
}

// ask returns the reply of a round trip to Redis that begins after the call of ask, and reports whether this call is
// granted. It returns errDown if Redis is down, and the cause of ctx if ctx ends first.
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

// send sends all queries in one round trip. If Redis does not know the script, receive sends a query once more.
func (c *redisClient) send(queries []*query) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	pipe := c.client.Pipeline()
	commands := make([]*redis.Cmd, len(queries))
	if !c.down.Load() { // Redis may have failed while the queries waited
		for i, q := range queries {
			commands[i] = c.script.EvalSha(ctx, pipe, c.keys(q), q.arguments()...)
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

// receive reads the reply to a query. It treats every failure as an outage of Redis.
func (c *redisClient) receive(ctx context.Context, q *query, command *redis.Cmd) error {
	values, err := command.Slice()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		values, err = c.script.Eval(ctx, c.client, c.keys(q), q.arguments()...).Slice()
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

func (c *redisClient) keys(q *query) []string {
	return []string{c.tag + q.entryKey, c.tag + q.quota.log}
}

func (q *query) arguments() []any {
	calls := q.calls
	if !q.counted {
		calls = 0
	}
	return []any{q.entry, calls, q.quota.limit, q.quota.window.Milliseconds(), q.quota.slot().Milliseconds()}
}

// fill stores an entry for the duration life if the key has no entry. It never replaces an entry, because identity may have
// stored a Void entry in the meantime.
func (c *redisClient) fill(ctx context.Context, key, entry string, life time.Duration) {
	if err := c.client.SetNX(ctx, c.tag+key, entry, life).Err(); err != nil && ctx.Err() == nil {
		c.Fail(err)
	}
}

// Fail marks Redis as down and logs the cause once.
func (c *redisClient) Fail(err error) {
	if errors.Is(err, redis.ErrClosed) { // the gateway stops while a save of files is running
		return
	}
	if c.down.Swap(true) {
		return
	}
	c.up.Set(0)
	c.log.Error("Redis cannot be reached: identity checks keys, and memory counts calls", "error", cause(err))
}

// watch probes Redis while it is down, and marks Redis as up when a probe succeeds. It returns when ctx ends. A probe
// writes a key, because a PING would also succeed if Redis is loading its data, is a replica, or has no memory left.
func (c *redisClient) watch(ctx context.Context) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// The client's timeouts limit the time of the call.
		if c.down.Load() && c.client.Set(ctx, c.tag+"gateway:probe", "1", time.Second).Err() == nil {
			c.up.Set(1)
			c.down.Store(false)
			c.log.Info("Redis is back")
		}
	}
}

// Client returns the client for commands outside the pipelines.
func (c *redisClient) Client() redis.UniversalClient { return c.client }

// Tag returns the first part of the names of all keys.
func (c *redisClient) Tag() string { return c.tag }

// Timeout returns the limit of a round trip.
func (c *redisClient) Timeout() time.Duration { return c.timeout }

// IsDown reports whether Redis has failed and has not responded since.
func (c *redisClient) IsDown() bool { return c.down.Load() }

// cause returns the text of the error without host and address, because a wrong REDIS_URL may have the password in their
// place.
func cause(err error) string {
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return "lookup: " + lookup.Err
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}
