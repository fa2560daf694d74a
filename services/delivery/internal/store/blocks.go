package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// The collection "blocks" stores blocks of deliveries. Each block has one entry in each index. The exceptions are the index by
// dashboard, with one entry for each dashboard, and the index by URL, with no entry for a block without URLs. An index by URL
// with an entry for each member would cost more than the rest of the block. So fieldURLDay consists of the day, the bucket of
// the URLs, the organization and the channel. Its index ends with short hashes of all URLs of the block. A list by URL reads
// the entries of this index, and then the blocks that may have the URL.
const (
	fieldLast       = "last"
	fieldURLs       = "urls"
	fieldDashboards = "dashboards"
	fieldSize       = "size"
	fieldPlace      = "place" // hash of the change and the partition
	fieldRecipients = "recipients"
)

func declareBlocks(db *document.Database) *document.Collection[deliverylog.Block] {
	field := func(name string, value func(*deliverylog.Block) any) document.Field[deliverylog.Block] {
		return document.Field[deliverylog.Block]{Name: name, Value: value}
	}
	return document.Declare(db, document.Schema[deliverylog.Block]{
		Name:  "blocks",
		Key:   func(b *deliverylog.Block) string { return b.ID },
		Shard: document.ByKey(),
		Fields: []document.Field[deliverylog.Block]{
			field(fieldLast, func(b *deliverylog.Block) any { return b.Last }),
			field(fieldSize, func(b *deliverylog.Block) any { return b.Size }),
			field(fieldAll, func(b *deliverylog.Block) any { return blockHash(b.Organization, b.Channel, "") }),
			field(fieldEvent, func(b *deliverylog.Block) any { return blockHash(b.Organization, b.Channel, b.EventID) }),
			field(fieldDashboards, func(b *deliverylog.Block) any {
				return find.Values(b.Dashboards, func(dashboard string) int64 { return blockHash(b.Organization, b.Channel, dashboard) })
			}),
			field(fieldURLDay, func(b *deliverylog.Block) any {
				if b.URLs == "" {
					return nil
				}
				return blockURLDay(b.Organization, b.Channel, b.URLBucket, dayOf(b.Last))
			}),
			field(fieldURLs, func(b *deliverylog.Block) any { return b.URLs }),
			field(fieldRecipients, func(b *deliverylog.Block) any { return b.Recipients }),
			field(fieldPlace, func(b *deliverylog.Block) any { return placeOf(b.ChangeID, b.Partition) }),
		},
		Indexes: []document.Index{
			{Name: fieldAll, Fields: []string{fieldAll, fieldLast, fieldSize}, Scatter: scatterList},
			{Name: fieldEvent, Fields: []string{fieldEvent, fieldLast, fieldSize}, Scatter: scatterSum},
			{Name: fieldDashboard, Fields: []string{fieldDashboards, fieldLast}, Scatter: scatterList},
			{Name: fieldURLDay, Fields: []string{fieldURLDay, fieldLast, fieldURLs}, Scatter: scatterList},
			{Name: fieldPlace, Fields: []string{fieldPlace, fieldRecipients}, Scatter: scatterStored},
			{Name: "age", Fields: []string{fieldLast}, Scatter: scatterAge},
		},
	})
}

func blockHash(organization string, channel topic.Channel, last string) int64 {
	return deliverylog.Hash(organization, string(channel), last)
}

// blockURLDay returns the value of fieldURLDay of a block. It is the same for all URLs of a bucket.
func blockURLDay(organization string, channel topic.Channel, bucket int, day int64) int64 {
	return day<<40 | int64(bucket)<<34 | deliverylog.Hash(organization, string(channel))&(1<<34-1)
}

// placeOf returns the value of fieldPlace.
func placeOf(change string, partition int) int64 {
	return deliverylog.Hash(change, strconv.Itoa(partition))
}

// InsertBlocks implements dispatch.Store.
func (s *Store) InsertBlocks(ctx context.Context, blocks []deliverylog.Block) error {
	_, err := s.blocks.InsertMany(ctx, blocks)
	return err
}

// Stored implements dispatch.Store. In nearly all calls nothing is stored. So it first reads only indexes: the ids of the
// rows, and the recipients of the blocks.
func (s *Store) Stored(ctx context.Context, change string, partitions []int, ids []string, recipients deliverylog.Wanted) ([]deliverylog.Delivery, error) {
	places := find.Values(partitions, func(partition int) int64 { return placeOf(change, partition) })
	there := find.Query{Where: []find.Condition{find.In(fieldPlace, places...)}}
	keys, err := s.deliveries.Keys(ctx, there)
	if err != nil {
		return nil, err
	}
	present := make(map[string]bool, len(keys))
	for _, row := range keys {
		present[row.Key] = true
	}
	rows, err := s.deliveries.GetMany(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !present[id] }))
	if err != nil {
		return nil, err
	}
	blocks, err := s.blocks.Keys(ctx, there, fieldRecipients)
	if err != nil {
		return nil, err
	}
	members, err := s.membersOf(ctx, blocks, recipients, func(b *deliverylog.Block) bool {
		return b.ChangeID == change && slices.Contains(partitions, b.Partition)
	})
	return append(rows, members...), err
}

// membersOf returns, as rows, those members of the blocks that have one of the recipients. found are the keys and the
// fieldRecipients of blocks. keep returns false for a block that was found only because of a hash collision in fieldPlace.
func (s *Store) membersOf(ctx context.Context, found []find.Row, recipients deliverylog.Wanted, keep func(*deliverylog.Block) bool) (rows []deliverylog.Delivery, err error) {
	for _, block := range found {
		if packed, _ := block.Values[0].(string); !recipients.MayBeIn(packed) {
			continue
		}
		b, err := s.blocks.Get(ctx, block.Key)
		switch {
		case fault.Is(err, fault.NotFound): // deleted after the retention time
			continue
		case err != nil:
			return nil, err
		case !keep(&b):
			continue
		}
		members, err := b.Rows(recipients)
		if err != nil {
			return nil, err
		}
		rows = append(rows, members...)
	}
	return rows, nil
}

// InBlocks implements deliverylog.Store. It searches the blocks whose last SentAt is the SentAt of the log, or less than
// deliverylog.BlockSpan later.
func (s *Store) InBlocks(ctx context.Context, key deliverylog.Key) ([]deliverylog.Delivery, error) {
	page, err := s.blocks.Find(ctx, find.Query{Where: []find.Condition{
		find.Eq(fieldAll, blockHash(key.Organization, key.Channel, "")),
		find.Gte(fieldLast, key.SentAt), find.Lt(fieldLast, key.SentAt.Add(deliverylog.BlockSpan)),
	}})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		rows, err := page.Items[i].Select(deliverylog.Filter{From: key.SentAt, To: key.SentAt.Add(time.Millisecond)})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.ID == key.ID && row.Organization == key.Organization && row.Channel == key.Channel {
				return []deliverylog.Delivery{row}, nil
			}
		}
	}
	return nil, nil
}
