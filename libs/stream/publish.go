package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/segmentio/kafka-go"
)

const (
	publishTimeout = 10 * time.Second
	batchRecords   = 512
	writtenAtOnce  = 64        // to one partition; the Writer allocates room for all of them for a single record too
	batchBytes     = 1 << 20   // slightly less than a broker's own limit of a request
	portionBytes   = 512 << 10 // leaves room for other callers' records in the same batch
)

// Publish writes records and returns when all in-sync replicas have stored them. A record
// goes to the partition of its key. It carries the trace of ctx unless it carries one
// already. If the brokers cannot be reached before ctx ends or ten seconds have passed, the
// error is fault.Unavailable, and some of the records may have been written. The caller then
// publishes all of them again. Consumers detect a repetition by its id.
func (c *Client) Publish(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	messages, finish := c.produce(ctx, records)
	err := c.write(ctx, messages)
	if err == nil {
		for _, record := range records {
			c.metrics.published.WithLabelValues(record.Topic).Inc()
		}
	} else {
		c.metrics.publishErrors.Inc()
	}
	finish(err)
	return err
}

func (c *Client) write(ctx context.Context, messages []kafka.Message) error {
	for len(messages) > 0 {
		n, size := 0, 0
		for n < len(messages) && n < batchRecords && (n == 0 || size+messageBytes(messages[n]) <= portionBytes) {
			size += messageBytes(messages[n])
			n++
		}
		if err := c.writePortion(ctx, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// writePortion retries while the writer has not accepted the portion. Later failures are
// retried by the writer only.
func (c *Client) writePortion(ctx context.Context, portion []kafka.Message) error {
	pause := &backoff{min: 50 * time.Millisecond, max: time.Second}
	for {
		err := c.writer.WriteMessages(ctx, portion...)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[kafka.MessageTooLargeError](err); ok {
			return fault.Wrap(fault.Internal, err, "A record for the topic %s is too large.", portion[0].Topic)
		}
		if failures, ok := errors.AsType[kafka.WriteErrors](err); ok {
			refused := failures[slices.IndexFunc(failures, func(err error) bool { return err != nil })]
			if temporary(refused) {
				return fault.Wrap(fault.Unavailable, refused, "Kafka did not store a record.")
			}
			return fault.Wrap(fault.Internal, refused, "Kafka refused a record.")
		}
		if ctx.Err() != nil || !pause.wait(ctx) {
			return fault.Wrap(fault.Unavailable, err, "Kafka cannot be reached.")
		}
	}
}

func messageBytes(message kafka.Message) int {
	size := len(message.Key) + len(message.Value) + 64
	for _, header := range message.Headers {
		size += len(header.Key) + len(header.Value) + 8
	}
	return size
}
