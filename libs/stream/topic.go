package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

// Topic is a topic for EnsureTopics. The settings of the cluster decide the number of replicas and the retention.
type Topic struct {
	Name       string
	Partitions int
}

// EnsureTopics creates the topics that do not exist. It does not change existing topics. While no broker responds, it
// retries until ctx ends. It returns the error of ctx or the refusal of a broker.
func (c *Client) EnsureTopics(ctx context.Context, topics ...Topic) error {
	request := &kafka.CreateTopicsRequest{}
	for _, topic := range topics {
		request.Topics = append(request.Topics,
			kafka.TopicConfig{Topic: topic.Name, NumPartitions: topic.Partitions, ReplicationFactor: -1})
	}
	var refused error // error that a retry cannot change
	if !c.retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
		defer cancel()
		response, err := c.kafka.CreateTopics(ctx, request)
		if err != nil {
			return err
		}
		for name, err := range response.Errors {
			switch {
			case err == nil, errors.Is(err, kafka.TopicAlreadyExists):
			case temporary(err):
				return fmt.Errorf("topic %s: %w", name, err)
			default:
				refused = fmt.Errorf("creating topic %s: %w", name, err)
			}
		}
		return nil
	}, failurelog.Cause{Message: "waiting for Kafka to create topics"}, "brokers", c.brokers) {
		return ctx.Err()
	}
	return refused
}

func (c *Client) findTopics(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return err
	}
	for _, topic := range response.Topics {
		if topic.Error != nil || len(topic.Partitions) == 0 {
			err = errors.Join(err, fmt.Errorf("topic %s does not exist", topic.Name))
		}
	}
	return err
}

// temporary reports whether a retry may succeed. Kafka defines this for its error codes. An error that is not a
// response of Kafka, such as a broken connection, counts as temporary.
func temporary(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	return !ok || code.Temporary()
}
