package store

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// fieldWaits is a hash of the organization and the channel of a row that waits for an attempt. Other rows and later
// logs have no value, so the index contains only the rows that wait.
const fieldWaits = "waits"

func waits(d *deliverylog.Delivery) any {
	if d.Status != deliverylog.StatusRetrying || d.Log > 0 {
		return nil
	}
	return waitsHash(d.Organization, d.Channel)
}

func waitsHash(organization string, channel topic.Channel) int64 {
	return deliverylog.Hash("waits", organization, string(channel))
}

// Counts implements deliverylog.Store. It counts the entries of the indexes for the lists, and adds the sizes of the
// blocks. It reads no record.
func (s *Store) Counts(ctx context.Context, organization string, channel topic.Channel, since time.Time) (out deliverylog.Counts, err error) {
	for _, part := range []struct {
		status deliverylog.Status
		into   *int64
	}{
		{deliverylog.StatusDelivered, &out.Delivered}, {deliverylog.StatusFailed, &out.Failed}, {deliverylog.StatusSkipped, &out.Skipped},
		{deliverylog.StatusSuppressed, &out.Suppressed},
	} {
		*part.into, err = s.deliveries.Count(ctx, find.Query{Where: []find.Condition{
			find.Eq(fieldAll, logHash(organization, channel, part.status, "")), find.Gte(fieldSentAt, since),
		}})
		if err != nil {
			return out, err
		}
	}
	inBlocks, err := s.blocks.Sum(ctx, fieldSize, find.Query{Where: []find.Condition{
		find.Eq(fieldAll, blockHash(organization, channel, "")), find.Gte(fieldLast, since),
	}})
	if err != nil {
		return out, err
	}
	out.Delivered += inBlocks
	out.Retrying, err = s.deliveries.Count(ctx, find.Query{Where: []find.Condition{find.Eq(fieldWaits, waitsHash(organization, channel))}})
	return out, err
}
