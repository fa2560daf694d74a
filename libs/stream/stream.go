// Package stream is Kafka for the services: publish records, consume them in a
// group, at least once and in order per key. It hides segmentio/kafka-go behind a
// few methods, because that library leaves traps that every caller would have to
// know again. What was decided about each:
//
//   - A Writer waits a second before it sends: BatchTimeout is 5 ms, records are
//     handed over as slices, every in-sync replica acknowledges (publish.go).
//   - There is no idempotent producer: a record may arrive twice, so consumers
//     deduplicate by the id in its value. A Publish goes out in portions that fit one
//     request, the next only after the one before, so that a failure in the middle
//     does not let a later record of a key overtake an earlier one.
//   - A Reader hands out what it fetched before a rebalance after it: this package
//     reads with ConsumerGroup, Generation and plain fetches. An assignment hands out
//     nothing any more before its generation ends, and the group goes on only after
//     that (assignment.go).
//   - A Reader holds one connection and one long poll per partition: here one fetch
//     asks a broker for all partitions of the assignment, for at most 250 ms (fetch.go).
//   - A commit keeps the highest offset: a tracker per partition commits only behind
//     its lowest unfinished record (lane.go), every 100 ms and when an assignment ends.
//   - A group that is new to a topic starts at the first record, explicitly.
//   - Joining a group whose topic is missing rejoins in a tight loop: Consume waits
//     for its topics first.
//   - Transport answers metadata from its memory while the brokers are dead: Ping
//     asks one of them. Its idle time, metadata age and dial time are explicit here, as
//     is the compression (snappy: little work, and every Kafka tool reads it).
//   - An unreachable broker is no reason to end: EnsureTopics and the consumers try
//     again, with a warning each time, at most one every five seconds; Publish gives up
//     after ten seconds with fault.Unavailable, because a caller waits for its answer.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	dialTimeout    = 3 * time.Second
	requestTimeout = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	metadataAge    = 2 * time.Second // also the bound of one metadata request
	pingTimeout    = 2 * time.Second
)

// Options say where the brokers are and whom to tell what happens. Brokers and
// ClientID are required; whatever is nil is told nothing.
type Options struct {
	Brokers    []string // host:port, any of the cluster's brokers
	ClientID   string   // the service's name
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator // nil is W3C trace context
	Registerer prometheus.Registerer
}

// Client publishes and consumes; all of it may be used by many goroutines.
type Client struct {
	brokers    []string
	id         string
	log        *slog.Logger
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	metrics    *metrics
	transport  *kafka.Transport
	kafka      *kafka.Client
	writer     *kafka.Writer
}

// Connect makes a client. It never fails and dials nothing: brokers are sought when
// they are needed.
func Connect(options Options) *Client {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Tracer == nil {
		options.Tracer = noop.NewTracerProvider()
	}
	if options.Propagator == nil {
		options.Propagator = propagation.TraceContext{}
	}
	transport := &kafka.Transport{
		Dial:        (&net.Dialer{Timeout: dialTimeout}).DialContext,
		DialTimeout: requestTimeout,
		IdleTimeout: idleTimeout,
		MetadataTTL: metadataAge,
		ClientID:    options.ClientID,
	}
	address := kafka.TCP(options.Brokers...)
	return &Client{
		brokers:    options.Brokers,
		id:         options.ClientID,
		log:        options.Log,
		tracer:     options.Tracer.Tracer("github.com/bellbuoy/bellbuoy/libs/stream"),
		propagator: options.Propagator,
		metrics:    register(options.Registerer),
		transport:  transport,
		kafka:      &kafka.Client{Addr: address, Transport: transport},
		writer: &kafka.Writer{
			Addr:            address,
			Transport:       transport,
			Balancer:        placed{kafka.Murmur2Balancer{}}, // as the Java clients do; without a key any partition
			RequiredAcks:    kafka.RequireAll,
			Compression:     kafka.Snappy,
			BatchTimeout:    5 * time.Millisecond,
			BatchSize:       batchRecords,
			BatchBytes:      batchBytes,
			MaxAttempts:     10,
			WriteBackoffMin: 50 * time.Millisecond,
			WriteBackoffMax: time.Second,
			ReadTimeout:     requestTimeout,
			WriteTimeout:    requestTimeout,
		},
	}
}

// Ping asks a broker whether it answers, within two seconds.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	answer, err := c.kafka.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "Kafka does not answer.")
	}
	return nil
}

// Close ends the client's connections, after what is being published; brokers that
// do not answer get ten seconds. Consumers end with their own context.
func (c *Client) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- c.writer.Close() }()
	timer := time.NewTimer(publishTimeout)
	defer timer.Stop()
	defer c.transport.CloseIdleConnections()
	select {
	case err := <-closed:
		if err != nil {
			return fmt.Errorf("closing the Kafka writer: %w", err)
		}
		return nil
	case <-timer.C:
		return errors.New("closing the Kafka writer: records wait for brokers that do not answer")
	}
}

// backoff counts tries that failed.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// wait rests before the next try, longer each time and never quite the same; false
// means that ctx ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(2*b.next, b.min), b.max)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2+1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (b *backoff) reset() { b.next = 0 }

// reconnecting is the pace of tries to reach the brokers.
func reconnecting() *backoff { return &backoff{min: 250 * time.Millisecond, max: 5 * time.Second} }
