package stream

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/segmentio/kafka-go"
)

const (
	publishTimeout = 10 * time.Second
	batchRecords   = 512
	batchBytes     = 1 << 20   // a broker's own bound of a request is a little more
	portionBytes   = 512 << 10 // leaves room for records of other callers in the same batch
)

// Publish writes records and returns when all in-sync replicas have them. A record
// goes to the partition of its key and carries ctx's trace, unless it carries one
// already. When the brokers cannot be reached until ctx ends or ten seconds have
// passed, the error is fault.Unavailable, and some of the records may have been
// written: publish all of them again, consumers know a repetition by its id.
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

// write sends messages portion by portion.
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

// writePortion tries again only while nothing of the portion was handed to the
// writer; from then on the writer's own attempts are all there are.
func (c *Client) writePortion(ctx context.Context, portion []kafka.Message) error {
	pace := &backoff{min: 50 * time.Millisecond, max: time.Second}
	for {
		err := c.writer.WriteMessages(ctx, portion...)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[kafka.MessageTooLargeError](err); ok {
			return fault.Wrap(fault.Internal, err, "A record for topic %s is too large.", portion[0].Topic)
		}
		if failures, ok := errors.AsType[kafka.WriteErrors](err); ok {
			return writeFault(failures)
		}
		if ctx.Err() != nil || !pace.wait(ctx) {
			return fault.Wrap(fault.Unavailable, err, "Kafka cannot be reached.")
		}
	}
}

func writeFault(failures kafka.WriteErrors) error {
	for _, err := range failures {
		if err == nil {
			continue
		}
		if !temporary(err) {
			return fault.Wrap(fault.Internal, err, "Kafka refused a record.")
		}
		return fault.Wrap(fault.Unavailable, err, "Kafka did not take a record.")
	}
	return nil
}

func messageBytes(message kafka.Message) int {
	size := len(message.Key) + len(message.Value) + 64
	for _, header := range message.Headers {
		size += len(header.Key) + len(header.Value) + 8
	}
	return size
}
