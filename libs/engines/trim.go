package engines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	trimInterval = 5 * time.Minute
	consumedAge  = time.Hour          // minimum age for deleting a record below lowestCommitted
	retention    = 7 * 24 * time.Hour // minimum age for deleting any other record
)

// trim deletes the records that are older than consumedAge and below the offset of lowestCommitted, and all records that
// are older than retention. It does not delete the last record of each partition, because after a restart the broker
// derives the next offset from that record.
func trim(ctx context.Context, addr string, now time.Time) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, endsErr := admin.ListEndOffsets(ctx)
	consumed, consumedErr := admin.ListOffsetsAfterMilli(ctx, now.Add(-consumedAge).UnixMilli())
	expired, expiredErr := admin.ListOffsetsAfterMilli(ctx, now.Add(-retention).UnixMilli())
	committed, committedErr := lowestCommitted(ctx, admin)
	if err := errors.Join(endsErr, consumedErr, expiredErr, committedErr, ends.Error(), consumed.Error(), expired.Error()); err != nil {
		return fmt.Errorf("listing offsets: %w", err)
	}
	before := kadm.Offsets{}
	ends.Each(func(end kadm.ListedOffset) {
		oldest, _ := expired.Lookup(end.Topic, end.Partition)
		first := oldest.Offset
		if done, ok := committed.Lookup(end.Topic, end.Partition); ok {
			younger, _ := consumed.Lookup(end.Topic, end.Partition)
			first = max(first, min(done.At, younger.Offset))
		}
		if first = min(first, end.Offset-1); first > 0 {
			before.AddOffset(end.Topic, end.Partition, first, -1)
		}
	})
	deleted, err := admin.DeleteRecords(ctx, before)
	deleted.Each(func(r kadm.DeleteRecordsResponse) {
		if r.Err != nil && !errors.Is(r.Err, kerr.OffsetOutOfRange) { // an earlier trim has deleted these records
			err = errors.Join(err, fmt.Errorf("deleting records of %s: %w", r.Topic, r.Err))
		}
	})
	return err
}

// lowestCommitted returns the lowest offset that a group has committed in each partition. A partition in which no group
// has committed an offset is absent.
func lowestCommitted(ctx context.Context, admin *kadm.Client) (kadm.Offsets, error) {
	groups, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	lowest := kadm.Offsets{}
	for _, group := range groups.Groups() {
		offsets, err := admin.FetchOffsets(ctx, group)
		if err = errors.Join(err, offsets.Error()); err != nil {
			return nil, fmt.Errorf("group %s: %w", group, err)
		}
		offsets.Each(func(o kadm.OffsetResponse) {
			if known, ok := lowest.Lookup(o.Topic, o.Partition); !ok || o.At < known.At {
				lowest.Delete(o.Topic, o.Partition) // Add would not replace a higher offset
				lowest.Add(o.Offset)
			}
		})
	}
	return lowest, nil
}
