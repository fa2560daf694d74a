package stream

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options say where the brokers are and whom to tell what happens. Brokers and
// ClientID are required; what is nil is left out.
type Options struct {
	Brokers    []string // host:port, any of the cluster's brokers
	ClientID   string   // the service's name
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator
	Registerer prometheus.Registerer
}

// Topic is what EnsureTopics creates when it is not there yet.
type Topic struct {
	Name        string
	Partitions  int
	Replication int           // copies; 0 is the cluster's default
	Retention   time.Duration // how long records are kept; 0 is seven days
}

// Subscription names what one member of a consumer group reads.
type Subscription struct {
	Group      string
	Topics     []string
	MaxPending int // unfinished claims, or records of one batch; 0 is 1000
	// Assigned is told the partitions this member owns, per topic and before the
	// first record of the assignment is handed out; with none when it owns none. ctx
	// ends when the assignment does.
	Assigned func(ctx context.Context, topic string, partitions []int)
}

// Claim is one record that was handed out and is not finished yet.
type Claim struct {
	Record    Record
	Partition int
	Offset    int64

	done func()
}

// Done says that the record's effect is durable. It may be called from any
// goroutine, in any order, more than once, and after the partition is lost.
func (c Claim) Done() { c.done() }

// Client publishes and consumes; all of it may be used by many goroutines.
type Client struct{ options Options }

// Connect makes a client. It never fails: brokers are dialled when needed.
func Connect(options Options) *Client { return &Client{options: options} }

// EnsureTopics creates the topics that are missing.
func (c *Client) EnsureTopics(ctx context.Context, topics ...Topic) error { return ctx.Err() }

// Publish writes records and returns when all in-sync replicas have them.
func (c *Client) Publish(ctx context.Context, records ...Record) error { return ctx.Err() }

// Context puts the trace a record carries into ctx, for a handler of batches that
// goes on with one record at a time.
func (c *Client) Context(ctx context.Context, record Record) context.Context { return ctx }

// Consume hands out records one by one.
func (c *Client) Consume(ctx context.Context, subscription Subscription, handle func(ctx context.Context, claim Claim)) error {
	<-ctx.Done()
	return nil
}

// ConsumeBatches hands out records in batches of one partition.
func (c *Client) ConsumeBatches(ctx context.Context, subscription Subscription, handle func(ctx context.Context, batch []Record) error) error {
	<-ctx.Done()
	return nil
}

// Drop marks err as final: the batch's records are logged and skipped.
func Drop(err error) error { return err }

// Ping asks a broker whether it answers.
func (c *Client) Ping(ctx context.Context) error { return ctx.Err() }

// Close ends the client's connections.
func (c *Client) Close() error { return nil }
