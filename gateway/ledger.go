package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

const (
	// probeInterval is how often a Redis that is down is tried.
	probeInterval = 200 * time.Millisecond
	// maxFlights is how many pipelines are under way at once. With few of them the
	// questions that come meanwhile travel together, which costs a busy gateway a
	// fraction of a call each and an idle one nothing.
	maxFlights = 1
)

// errDown means that Redis cannot be asked now.
var errDown = errors.New("gateway: Redis cannot be reached")

// ledger is Redis as the gateway sees it: credentials' entries and logs of calls,
// both in one round trip. It notices when Redis is gone, says so once, and then
// answers errDown at once until a probe finds it back.
type ledger struct {
	client  *redis.Client
	timeout time.Duration // of one call
	script  *redis.Script
	memory  *memory
	log     *slog.Logger
	up      prometheus.Gauge

	down   atomic.Bool
	outage atomic.Int64 // how many outages there have been

	mu      sync.Mutex
	flights int
	waiting []*flight
	byWhat  map[question]*flight
}

// question is what is asked of Redis: is the entry still as known, and if so, may a
// call pass.
type question struct {
	entryKey string
	entry    string // as known
	counted  bool   // else only the entry is looked at
	quota    quota
}

// flight is a question on its way, for all that have it.
type flight struct {
	question question
	calls    int
	untold   int // ARGV[6] and [7] of limit.lua
	alone    int
	done     chan struct{}
	told     told
	err      error
}

// told is what Redis says.
type told struct {
	state   entryState
	entry   string // when changed
	granted int    // of the flight's calls
	retry   time.Duration
}

type entryState string

const (
	entrySame    entryState = "same"
	entryChanged entryState = "changed"
	entryMissing entryState = "missing"
)

func newLedger(settings boot.Redis, memory *memory, log *slog.Logger, metrics prometheus.Registerer) (*ledger, error) {
	options, err := settings.Options()
	if err != nil {
		return nil, err
	}
	// A failure is answered from elsewhere at once rather than tried again here.
	options.MaxRetries = -1
	l := &ledger{
		client:  redis.NewClient(options),
		timeout: options.ReadTimeout,
		script:  redis.NewScript(limitScript),
		memory:  memory,
		log:     log,
		up:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "gateway_redis_up", Help: "1 while Redis answers, 0 in an outage."}),
		byWhat:  map[question]*flight{},
	}
	l.up.Set(1)
	return l, metrics.Register(l.up)
}

// ask puts the question to Redis, after ask was called, and reports what it says and
// whether the call is granted.
func (l *ledger) ask(ctx context.Context, q question) (told, bool, error) {
	if l.down.Load() {
		return told{}, false, errDown
	}
	f, place := l.board(q)
	select {
	case <-f.done:
		return f.told, place < f.told.granted, f.err
	case <-ctx.Done():
		return told{}, false, context.Cause(ctx)
	}
}

// board joins the waiting flight with the same question or makes one, and starts it
// when the line is free.
func (l *ledger) board(q question) (f *flight, place int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, waiting := l.byWhat[q]
	if !waiting {
		f = &flight{question: q, done: make(chan struct{})}
		l.byWhat[q] = f
		l.waiting = append(l.waiting, f)
	}
	place = f.calls
	f.calls++
	if l.flights < maxFlights {
		l.flights++
		go l.fly(l.takeWaiting())
	}
	return f, place
}

func (l *ledger) takeWaiting() []*flight {
	all := l.waiting
	l.waiting = nil
	clear(l.byWhat)
	return all
}

// fly sends pipelines until nobody waits.
func (l *ledger) fly(flights []*flight) {
	for len(flights) > 0 {
		l.send(flights)
		l.mu.Lock()
		if flights = l.takeWaiting(); len(flights) == 0 {
			l.flights--
		}
		l.mu.Unlock()
	}
}

// send asks all in one round trip; a second one follows when Redis does not have the
// script yet.
func (l *ledger) send(flights []*flight) {
	if l.down.Load() { // found out while these waited
		for _, f := range flights {
			f.err = errDown
			close(f.done)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	outage := l.outage.Load()
	pipe := l.client.Pipeline()
	answers := make([]*redis.Cmd, len(flights))
	for i, f := range flights {
		if f.question.counted {
			f.untold, f.alone = l.memory.untold(f.question.quota, outage)
		}
		answers[i] = l.script.EvalSha(ctx, pipe, f.keys(), f.arguments()...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, f := range flights {
		answer, err := answers[i].Slice()
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			answer, err = l.script.Eval(ctx, l.client, f.keys(), f.arguments()...).Slice()
		}
		if err == nil {
			f.told, err = readTold(answer)
		}
		if err != nil {
			l.fail(err)
			f.err = errDown
		}
		if err == nil && f.question.counted && f.told.state == entrySame {
			l.memory.note(f.question.quota, f.told.granted)
			l.memory.told(f.question.quota, outage)
		} else {
			l.memory.giveBack(f.question.quota, f.alone)
		}
		close(f.done)
	}
}

func (f *flight) keys() []string { return []string{f.question.entryKey, f.question.quota.log} }

func (f *flight) arguments() []any {
	q, calls := f.question.quota, f.calls
	if !f.question.counted {
		calls = 0
	}
	return []any{f.question.entry, calls, q.limit, q.window.Milliseconds(), q.slot().Milliseconds(), f.untold, f.alone}
}

func readTold(answer []any) (told, error) {
	state, _ := answer[0].(string)
	switch out := (told{state: entryState(state)}); {
	case out.state == entryMissing:
		return out, nil
	case out.state == entryChanged && len(answer) == 2:
		out.entry, _ = answer[1].(string)
		return out, nil
	case out.state == entrySame && len(answer) == 3:
		granted, _ := answer[1].(int64)
		retry, _ := answer[2].(int64)
		out.granted, out.retry = int(granted), time.Duration(retry)*time.Millisecond
		return out, nil
	}
	return told{}, fmt.Errorf("unexpected answer of limit.lua: %v", answer)
}

// fill writes an entry where there is none; it never replaces one, least of all a
// Void one that identity wrote meanwhile.
func (l *ledger) fill(ctx context.Context, key, entry string) error {
	if l.down.Load() {
		return errDown
	}
	err := l.client.SetArgs(ctx, key, entry, redis.SetArgs{Mode: "NX", TTL: peer.CredentialTTL}).Err()
	if err == nil || errors.Is(err, redis.Nil) {
		return nil
	}
	if ctx.Err() == nil {
		l.fail(err)
	}
	return errDown
}

// fail begins an outage.
func (l *ledger) fail(err error) {
	if l.down.Swap(true) {
		return
	}
	l.outage.Add(1)
	l.up.Set(0)
	l.log.Error("Redis cannot be reached: keys are asked of identity, calls counted in memory", "error", cause(err))
}

// watch tries a Redis that is down until it is back, until ctx ends.
func (l *ledger) watch(ctx context.Context) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if l.down.Load() && l.probe(ctx) == nil {
			l.up.Set(1)
			l.down.Store(false)
			l.log.Info("Redis is back")
		}
	}
}

// probe writes, because a Redis that loads its data, is a replica or has no memory
// left answers a PING all the same.
func (l *ledger) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.client.Set(ctx, "gateway:probe", "1", time.Second).Err()
}

// ready is the check behind /readyz.
func (l *ledger) ready(ctx context.Context) error { return l.client.Ping(ctx).Err() }

// cause keeps addresses, which may hold a password, out of the log.
func cause(err error) string {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}
