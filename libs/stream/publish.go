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
	writtenAtOnce  = 64        // maximum number of records written to one partition at once; the Writer allocates room for this number even for a single record
	batchBytes     = 1 << 20   // slightly less than the largest batch that brokers accept by default
	portionBytes   = 512 << 10 // half of a batch, because other callers may have records in the same batch
)

// Publish writes records and returns when all in-sync replicas have stored them. The key of a record selects its
// partition, unless Partition is set. A record without a trace gets the trace of ctx. If the brokers do not store the
// records before ctx ends, or within ten seconds, the error is fault.Unavailable. If a retry cannot succeed, as with a
// record that is too large, the error is fault.Internal. After an error some of the records may have been written, and the
// caller must publish all of them again. Consumers recognize a repeated record by its id.
func (c *Client) Publish(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.publishTimeout)
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
		n := c.portion(messages)
		if err := c.writePortion(ctx, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// portion returns the number of messages that are written next. No partition gets more than writtenAtOnce of them: the
// Writer would divide them into batches, and would write the second batch although it has given up on the first one.
func (c *Client) portion(messages []kafka.Message) int {
	counts, size := make(map[place]int), 0
	for n, message := range messages {
		to := c.placed.place(message)
		size += messageBytes(message)
		if n == batchRecords || n > 0 && size > portionBytes || counts[to] == writtenAtOnce {
			return n
		}
		counts[to]++
	}
	return len(messages)
}

// writePortion passes the portion to the writer again until the writer accepts it. After that, only the writer retries.
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
