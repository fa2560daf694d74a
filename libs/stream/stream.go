// Package stream is the Kafka client of the services. It publishes records and consumes them
// in a consumer group, at least once and in order per key. It wraps segmentio/kafka-go, whose
// types have properties that every caller would have to know. A decision about each property:
//
//   - A Writer waits one second before it sends. Here BatchTimeout is 5 ms, records are
//     passed as slices, and every in-sync replica acknowledges (publish.go).
//   - There is no idempotent producer. A record may arrive twice, so consumers deduplicate
//     by the id in its value. Publish sends portions that fit into one request, and sends a
//     portion only after the one before it. A failure in the middle therefore lets no later
//     record of a key overtake an earlier one.
//   - After a rebalance, a Reader still returns records that it fetched before. This package
//     uses ConsumerGroup, Generation and plain fetches instead.
//   - The library's balancers take all partitions from all members at each rebalance. What is
//     under way then must end before the member joins again, and the whole group waits. Heartbeats
//     stop meanwhile, so a wait beyond the session timeout ends the membership. Here members keep
//     their partitions over a rebalance and join at once. A partition that is to move is given
//     back by a second join, after its work has ended and is committed (balancer.go, member.go).
//   - A Reader uses one connection and one long poll per partition. Here one fetch
//     requests all partitions of the assignment from a broker, for at most 250 ms (fetch.go).
//   - A commit keeps the highest offset. Here each partition commits only up to its
//     lowest unfinished record (partition.go), every 100 ms and before a partition moves.
//   - A group that is new to a topic starts at the first record, explicitly.
//   - A group whose topic is missing rejoins without a pause. Consume therefore waits for its topics.
//   - Transport returns metadata from memory while the brokers are down. Ping sends a
//     request to a broker. Idle time, metadata age, dial time and compression are explicit here
//     (snappy: it needs little CPU, and every Kafka tool can read it).
//   - An unreachable broker stops no consumer. EnsureTopics and the consumers retry, with
//     a warning each time, at most one every five seconds. Publish returns fault.Unavailable
//     after ten seconds, because its caller waits for the result.
package stream

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	dialTimeout    = 3 * time.Second
	requestTimeout = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	metadataAge    = 2 * time.Second // also the time limit of one metadata request
	pingTimeout    = 2 * time.Second
)

// Options are the settings of a Client. Brokers and ClientID are required. A nil Log,
// Tracer or Registerer receives nothing.
type Options struct {
	Brokers    []string // host:port of one or more brokers of the cluster
	ClientID   string   // the name of the service
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Registerer prometheus.Registerer
}

// Client publishes and consumes. Many goroutines may use it at the same time.
type Client struct {
	brokers   []string
	id        string
	log       *slog.Logger
	outages   *failurelog.Log
	tracer    trace.Tracer
	metrics   *metrics
	transport *kafka.Transport
	kafka     *kafka.Client
	writer    *kafka.Writer
}

// Connect returns a client. It dials nothing: the client connects to brokers when it needs
// them.
func Connect(options Options) *Client {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Tracer == nil {
		options.Tracer = noop.NewTracerProvider()
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
		brokers:   options.Brokers,
		id:        options.ClientID,
		log:       options.Log,
		outages:   failurelog.New(options.Log),
		tracer:    options.Tracer.Tracer("github.com/bellbuoy/bellbuoy/libs/stream"),
		metrics:   register(options.Registerer),
		transport: transport,
		kafka:     &kafka.Client{Addr: address, Transport: transport},
		writer: &kafka.Writer{
			Addr:            address,
			Transport:       transport,
			Balancer:        placed{kafka.Murmur2Balancer{}}, // like the Java clients; any partition for a record without a key
			RequiredAcks:    kafka.RequireAll,
			Compression:     kafka.Snappy,
			BatchTimeout:    5 * time.Millisecond,
			BatchSize:       writtenAtOnce,
			BatchBytes:      batchBytes,
			MaxAttempts:     10,
			WriteBackoffMin: 50 * time.Millisecond,
			WriteBackoffMax: time.Second,
			ReadTimeout:     requestTimeout,
			WriteTimeout:    requestTimeout,
		},
	}
}

// Ping returns nil if a broker responds within two seconds.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	response, err := c.kafka.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
	if err == nil {
		err = response.Error
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "Kafka does not respond.")
	}
	return nil
}

// Close closes the client's connections after running calls of Publish have ended. It waits
// ten seconds for brokers that do not respond. Consumers end with their own context.
func (c *Client) Close() error {
	defer c.transport.CloseIdleConnections()
	closed := make(chan error, 1)
	go func() { closed <- c.writer.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(publishTimeout):
		return errors.New("The Kafka client was closed before the brokers acknowledged all records.")
	}
}

// retry calls try until it returns nil, and reports whether it did so before ctx ended. It logs
// the failures as an outage with the attributes, and pauses between calls.
func (c *Client) retry(ctx context.Context, try func() error, cause failurelog.Cause, attributes ...any) bool {
	pause := reconnecting()
	for {
		err := try()
		if err == nil {
			c.outages.Over(ctx, cause)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		c.outages.Failed(ctx, cause, err, attributes...)
		if !pause.wait(ctx) {
			return false
		}
	}
}

type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// wait pauses, longer each time and with a random part. It returns false if ctx ends.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(2*b.next, b.min), b.max)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(b.next/2 + rand.N(b.next/2+1)):
		return true
	}
}

func reconnecting() *backoff { return &backoff{min: 250 * time.Millisecond, max: time.Second} }
