package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	trimInterval = 5 * time.Minute
	consumedAge  = time.Hour          // a record that every group is done with is kept this long
	retention    = 7 * 24 * time.Hour // and any record this long
)

// trimEvery deletes what nobody needs any more, now and then until ctx ends.
func trimEvery(ctx context.Context, addr string, interval time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if err := trim(ctx, addr, now); err != nil && ctx.Err() == nil {
				log.Warn("Kafka broker: old records were not deleted", "error", err)
			}
		}
	}
}

// partitionOf names a partition.
type partitionOf struct {
	topic     string
	partition int32
}

// trim deletes the records before the point that every group has committed, if they
// are consumedAge old, and in any case what is older than retention. The last record
// of a partition always stays: it keeps the offsets going on after a restart.
func trim(ctx context.Context, addr string, now time.Time) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	partitions, err := partitionsOf(ctx, client)
	if err != nil || len(partitions) == 0 {
		return err
	}
	committed, err := committedBy(ctx, client)
	if err != nil {
		return err
	}
	ends, err := offsetsAt(ctx, client, partitions, -1)
	if err != nil {
		return err
	}
	consumed, err := offsetsAt(ctx, client, partitions, now.Add(-consumedAge).UnixMilli())
	if err != nil {
		return err
	}
	expired, err := offsetsAt(ctx, client, partitions, now.Add(-retention).UnixMilli())
	if err != nil {
		return err
	}
	before := make(map[partitionOf]int64)
	for _, each := range partitions {
		end := ends[each]
		point := at(expired, each, end)
		if done, ok := committed[each]; ok {
			point = max(point, min(done, at(consumed, each, end)))
		}
		if point = min(point, end-1); point > 0 {
			before[each] = point
		}
	}
	return deleteBefore(ctx, client, before)
}

// at is the first offset of the wanted age; a partition without a younger record
// answers -1.
func at(offsets map[partitionOf]int64, partition partitionOf, end int64) int64 {
	if offset := offsets[partition]; offset >= 0 {
		return offset
	}
	return end
}

func partitionsOf(ctx context.Context, client *kgo.Client) ([]partitionOf, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = nil // all
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("listing topics: %w", err)
	}
	var partitions []partitionOf
	for _, topic := range answer.Topics {
		if topic.Topic == nil {
			continue
		}
		for _, partition := range topic.Partitions {
			partitions = append(partitions, partitionOf{*topic.Topic, partition.Partition})
		}
	}
	return partitions, nil
}

// committedBy is the lowest offset that any group has committed per partition.
func committedBy(ctx context.Context, client *kgo.Client) (map[partitionOf]int64, error) {
	groups, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("listing groups: %w", err)
	}
	lowest := make(map[partitionOf]int64)
	for _, group := range groups.Groups {
		request := kmsg.NewPtrOffsetFetchRequest()
		request.Group = group.Group
		request.Topics = nil // all
		asked := kmsg.NewOffsetFetchRequestGroup()
		asked.Group = group.Group
		request.Groups = append(request.Groups, asked)
		answer, err := request.RequestWith(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("offsets of group %s: %w", group.Group, err)
		}
		for _, found := range answer.Groups {
			if err := kerr.ErrorForCode(found.ErrorCode); err != nil {
				return nil, fmt.Errorf("offsets of group %s: %w", group.Group, err)
			}
			for _, topic := range found.Topics {
				for _, partition := range topic.Partitions {
					key := partitionOf{topic.Topic, partition.Partition}
					if known, ok := lowest[key]; !ok || partition.Offset < known {
						lowest[key] = partition.Offset
					}
				}
			}
		}
	}
	return lowest, nil
}

// offsetsAt is the first offset at or after a time in milliseconds (-1: the end), -1
// where there is none.
func offsetsAt(ctx context.Context, client *kgo.Client, partitions []partitionOf, millis int64) (map[partitionOf]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	for _, each := range partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = each.partition, millis
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = each.topic
		topic.Partitions = append(topic.Partitions, partition)
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	offsets := make(map[partitionOf]int64)
	var failures []error
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			failures = append(failures, kerr.ErrorForCode(partition.ErrorCode))
			offsets[partitionOf{topic.Topic, partition.Partition}] = partition.Offset
		}
	}
	return offsets, errors.Join(failures...)
}

func deleteBefore(ctx context.Context, client *kgo.Client, before map[partitionOf]int64) error {
	request := kmsg.NewPtrDeleteRecordsRequest()
	for each, offset := range before {
		partition := kmsg.NewDeleteRecordsRequestTopicPartition()
		partition.Partition, partition.Offset = each.partition, offset
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = each.topic
		topic.Partitions = append(topic.Partitions, partition)
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("deleting records: %w", err)
	}
	var failures []error
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			err := kerr.ErrorForCode(partition.ErrorCode)
			if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) { // deleted up to there already
				failures = append(failures, fmt.Errorf("deleting records of %s: %w", topic.Topic, err))
			}
		}
	}
	return errors.Join(failures...)
}
