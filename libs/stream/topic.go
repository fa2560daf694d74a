package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Topic is what EnsureTopics creates when it is not there yet. How long records are
// kept is the cluster's setting.
type Topic struct {
	Name       string
	Partitions int // 0 is the cluster's default
	Copies     int // 0 is the cluster's default
}

// EnsureTopics creates the topics that are missing and leaves the others as they
// are. It waits for a broker, with one warning a try, until ctx ends; the error is
// ctx's then, and otherwise the broker's refusal.
func (c *Client) EnsureTopics(ctx context.Context, topics ...Topic) error {
	request := &kafka.CreateTopicsRequest{}
	for _, topic := range topics {
		config := kafka.TopicConfig{Topic: topic.Name, NumPartitions: topic.Partitions, ReplicationFactor: topic.Copies}
		if config.NumPartitions == 0 {
			config.NumPartitions = -1
		}
		if config.ReplicationFactor == 0 {
			config.ReplicationFactor = -1
		}
		request.Topics = append(request.Topics, config)
	}
	pace := reconnecting()
	for {
		refused, err := c.createTopics(ctx, request)
		if refused != nil {
			return refused
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.log.WarnContext(ctx, "waiting for Kafka to create topics", "brokers", c.brokers, "error", err)
		if !pace.wait(ctx) {
			return ctx.Err()
		}
	}
}

// createTopics separates what trying again cannot change from what it may.
func (c *Client) createTopics(ctx context.Context, request *kafka.CreateTopicsRequest) (refused, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	answer, err := c.kafka.CreateTopics(ctx, request)
	if err != nil {
		return nil, err
	}
	for name, err := range answer.Errors {
		switch {
		case err == nil, errors.Is(err, kafka.TopicAlreadyExists):
		case temporary(err):
			return nil, fmt.Errorf("topic %s: %w", name, err)
		default:
			return fmt.Errorf("creating topic %s: %w", name, err), nil
		}
	}
	return nil, nil
}

// awaitTopics returns when all topics exist, or false when ctx ends before.
func (c *Client) awaitTopics(ctx context.Context, group string, topics []string) bool {
	pace := reconnecting()
	for {
		missing, err := c.missingTopics(ctx, topics)
		if err == nil && len(missing) == 0 {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			c.log.WarnContext(ctx, "waiting for Kafka", "group", group, "brokers", c.brokers, "error", err)
		} else {
			c.log.WarnContext(ctx, "waiting for topics", "group", group, "missing", strings.Join(missing, " "))
		}
		if !pace.wait(ctx) {
			return false
		}
	}
}

func (c *Client) missingTopics(ctx context.Context, topics []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := c.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, topic := range answer.Topics {
		if topic.Error != nil || len(topic.Partitions) == 0 {
			missing = append(missing, topic.Name)
		}
	}
	return missing, nil
}

// temporary reports whether Kafka itself says that the same request may succeed
// later. What is no answer of Kafka (a broken connection) counts as temporary.
func temporary(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	return !ok || code.Temporary()
}
