// Package stream is the Kafka client of the services. It publishes records and consumes them in a consumer group, at
// least once and in order per key. It wraps segmentio/kafka-go. Some properties of that library need a decision:
//
//   - By default a Writer waits one second before it sends. Here BatchTimeout is 5 ms, callers pass several records at
//     once, and every in-sync replica must acknowledge (publish.go).
//   - There is no idempotent producer. A record may arrive twice, so consumers deduplicate by the id in its value.
//     Publish divides records into portions that fit into one batch of each partition, and sends each portion after the
//     previous one is stored. So after a failure no record of a key is stored before an earlier record of the key. One
//     exception remains: calls at the same time share batches, so the Writer may divide a portion between two batches.
//   - After a rebalance, a Reader still returns records that it fetched before. This package uses ConsumerGroup,
//     Generation and plain fetches instead.
//   - The library's balancers take all partitions from all members at each rebalance. A member must then end all
//     running work before it joins again, and the whole group waits for it. The member sends no heartbeats in this time,
//     so a wait longer than the session timeout ends its membership. Here members keep their partitions during a rebalance
//     and join at once. A partition that must move is given back in a second join, after the work on it has ended and
//     is committed (balancer.go, member.go).
//   - A Reader uses one connection and one long poll per partition. Here one fetch per broker requests all assigned
//     partitions, and waits at most a second (fetch.go).
//   - A Reader commits the highest offset, even if earlier records are not finished. Here each partition commits only
//     up to its lowest unfinished record (partition.go), every 100 ms and before a partition moves.
//   - The start of a group that is new to a topic is configured explicitly: the first record.
//   - A group whose topic does not exist joins again and again without a pause. So Consume waits until its topics
//     exist.
//   - Transport returns metadata from memory while the brokers are down. So Ping sends a request to a broker.
//     Transport also keeps idle connections that a broker has closed. Here a request that fails on such a connection
//     replaces all connections (transport.go). Idle time, metadata age, dial time and compression are set explicitly
//     (snappy needs little CPU, and every Kafka tool can read it).
//   - An unreachable broker stops no consumer. EnsureTopics and the consumers retry about once a second, and package
//     failurelog logs the outage. Publish returns fault.Unavailable after ten seconds, because its caller waits for the
//     result.
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
	metadataAge    = 2 * time.Second // also the time limit of a metadata request
	pingTimeout    = 2 * time.Second
)

// Options are the settings of a Client. Brokers and ClientID are required. Log, Tracer and Registerer may be nil.
type Options struct {
	Brokers    []string // host:port of one or more brokers of the cluster
	ClientID   string   // name of the service
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
	transport *transport
	kafka     *kafka.Client
	writer    *kafka.Writer
	placed    *placed
	fetchWait time.Duration // the longest time that a broker waits for records

	pingTimeout, publishTimeout time.Duration
}

// Connect returns a client. The client connects to brokers only when it needs them.
func Connect(options Options) *Client {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Tracer == nil {
		options.Tracer = noop.NewTracerProvider()
	}
	transport := newTransport(func() *kafka.Transport {
		return &kafka.Transport{
			Dial:        (&net.Dialer{Timeout: dialTimeout}).DialContext,
			DialTimeout: requestTimeout,
			IdleTimeout: idleTimeout,
			MetadataTTL: metadataAge,
			ClientID:    options.ClientID,
		}
	})
	address := kafka.TCP(options.Brokers...)
	balancer := &placed{Balancer: kafka.Murmur2Balancer{}} // same partitions as the Java clients; a record without a key goes to any partition
	return &Client{
		brokers:   options.Brokers,
		id:        options.ClientID,
		fetchWait: fetchWait, pingTimeout: pingTimeout, publishTimeout: publishTimeout,
		log:       options.Log,
		outages:   failurelog.New(options.Log),
		tracer:    options.Tracer.Tracer("github.com/bellbuoy/bellbuoy/libs/stream"),
		metrics:   register(options.Registerer),
		transport: transport,
		kafka:     &kafka.Client{Addr: address, Transport: transport},
		placed:    balancer,
		writer: &kafka.Writer{
			Addr:            address,
			Transport:       transport,
			Balancer:        balancer,
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
	ctx, cancel := context.WithTimeout(ctx, c.pingTimeout)
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

// Close waits until running calls of Publish have returned, at most ten seconds, and then closes the client's
// connections. Consumers end with their own context.
func (c *Client) Close() error {
	defer c.transport.close()
	closed := make(chan error, 1)
	go func() { closed <- c.writer.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(c.publishTimeout):
		return errors.New("The Kafka client was closed before the brokers acknowledged all records.")
	}
}

// retry calls try until it returns nil, with pauses in between. It returns false if ctx ends first. It logs the
// failures as an outage with the cause and the attributes.
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

// wait pauses. The pauses grow from min to max, and a part of each pause is random. wait returns false if ctx ends.
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
