package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	blocksAtOnce = 16  // maximum number of blocks in one query of a list
	urlsAtOnce   = 256 // maximum number of entries of the index by URL in one query
)

// position is the position of a log in a list, by its time and id. Lists are ordered by time, newest first. Logs with
// the same time are in descending order of their ids.
type position struct {
	sentAt int64 // milliseconds
	id     string
}

func positionOf(d *deliverylog.Delivery) position { return position{d.SentAt.UnixMilli(), d.ID} }

func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(other.sentAt, p.sentAt), cmp.Compare(other.id, p.id))
}

func (p position) String() string { return fmt.Sprintf("%d.%s", p.sentAt, p.id) }

func parsePosition(text string) (position, error) {
	at, id, found := strings.Cut(text, ".")
	sentAt, err := strconv.ParseInt(at, 10, 64)
	if !found || err != nil {
		return position{}, fault.New(fault.Invalid, "The position in the list is not valid.")
	}
	return position{sentAt, id}, nil
}

// source returns the next chunk of logs. The logs in a chunk may be in any order. No log of a later chunk is newer than
// rest, a time in milliseconds. more is false if this is the last chunk.
type source func(ctx context.Context) (logs []deliverylog.Delivery, rest int64, more bool, err error)

// stream returns the logs of a source in order.
type stream struct {
	source source
	ready  []deliverylog.Delivery // read logs, in order; the source returns no more logs newer than rest
	rest   int64
	more   bool
}

// first returns the next log without removing it from ready. It returns nil at the end.
func (s *stream) first(ctx context.Context) (*deliverylog.Delivery, error) {
	for s.more && (len(s.ready) == 0 || s.ready[0].SentAt.UnixMilli() <= s.rest) {
		logs, rest, more, err := s.source(ctx)
		if err != nil {
			return nil, err
		}
		s.ready, s.rest, s.more = append(s.ready, logs...), rest, more
		slices.SortStableFunc(s.ready, func(a, b deliverylog.Delivery) int { return positionOf(&a).compare(positionOf(&b)) })
	}
	if len(s.ready) == 0 {
		return nil, nil
	}
	return &s.ready[0], nil
}

// merge returns a page of the logs of all sources that follow the position after.
func merge(ctx context.Context, sources []source, after *position, limit int) (find.Page[deliverylog.Delivery], error) {
	var page find.Page[deliverylog.Delivery]
	streams := find.Values(sources, func(s source) stream { return stream{source: s, more: true} })
	for {
		var next *deliverylog.Delivery
		var from *stream
		for i := range streams {
			first, err := streams[i].first(ctx)
			if err != nil {
				return page, err
			}
			if first != nil && (next == nil || positionOf(first).compare(positionOf(next)) < 0) {
				next, from = first, &streams[i]
			}
		}
		if next == nil {
			return page, nil
		}
		if len(page.Items) == limit {
			page.Next = positionOf(&page.Items[limit-1]).String()
			return page, nil
		}
		if after == nil || positionOf(next).compare(*after) > 0 {
			page.Items = append(page.Items, *next)
		}
		from.ready = from.ready[1:]
	}
}

// rowSource returns a source of the rows and later logs for which keep returns true.
func (s *Store) rowSource(query find.Query, keep func(*deliverylog.Delivery) bool) source {
	return func(ctx context.Context) ([]deliverylog.Delivery, int64, bool, error) {
		page, err := s.deliveries.Find(ctx, query)
		if err != nil || len(page.Items) == 0 {
			return nil, 0, false, err
		}
		rest := page.Items[len(page.Items)-1].SentAt.UnixMilli()
		query.After = page.Next
		return slices.DeleteFunc(page.Items, func(d deliverylog.Delivery) bool { return !keep(&d) }), rest, page.Next != "", nil
	}
}

// blockSource returns a source of the members of blocks that match q.
func (s *Store) blockSource(query find.Query, q *deliverylog.Query) source {
	return func(ctx context.Context) ([]deliverylog.Delivery, int64, bool, error) {
		page, err := s.blocks.Find(ctx, query)
		if err != nil || len(page.Items) == 0 {
			return nil, 0, false, err
		}
		query.After = page.Next
		logs, err := members(page.Items, q)
		return logs, page.Items[len(page.Items)-1].Last.UnixMilli(), page.Next != "", err
	}
}

// members returns those members of the blocks that match q.
func members(blocks []deliverylog.Block, q *deliverylog.Query) ([]deliverylog.Delivery, error) {
	var logs []deliverylog.Delivery
	for i := range blocks {
		b := &blocks[i]
		if b.Organization != q.Organization || b.Channel != q.Channel || q.EventID != "" && b.EventID != q.EventID {
			continue
		}
		selected, err := b.Select(q.Filter)
		if err != nil {
			return nil, err
		}
		logs = append(logs, selected...)
	}
	return logs, nil
}

// urlSource returns a source of the members with the URL of q. The source first reads entries of the index by URL, and
// then, a few at a time, the blocks that may have the URL, because a page needs few of them.
func (s *Store) urlSource(query find.Query, q *deliverylog.Query) source {
	type candidate struct {
		block string
		last  int64 // milliseconds
	}
	var candidates []candidate // not read yet
	rest, more := int64(0), true
	readEntries := func(ctx context.Context) error {
		entries, err := s.blocks.Keys(ctx, query, fieldLast, fieldURLs)
		if err != nil {
			return err
		}
		more = len(entries) == query.Limit
		for _, entry := range entries {
			rest, _ = entry.Values[0].(int64)
			query.After = entry.Position
			if urls, _ := entry.Values[1].(string); deliverylog.HasURL(urls, q.URLHash) {
				candidates = append(candidates, candidate{entry.Key, rest})
			}
		}
		return nil
	}
	return func(ctx context.Context) ([]deliverylog.Delivery, int64, bool, error) {
		if len(candidates) == 0 {
			if err := readEntries(ctx); err != nil {
				return nil, 0, false, err
			}
		}
		chunk := candidates[:min(blocksAtOnce, len(candidates))]
		candidates = candidates[len(chunk):]
		blocks, err := s.blocks.GetMany(ctx, find.Values(chunk, func(c candidate) string { return c.block }))
		if err != nil {
			return nil, 0, false, err
		}
		logs, err := members(blocks, q)
		if len(candidates) > 0 {
			return logs, candidates[0].last, true, err
		}
		return logs, rest, more, err
	}
}

// blocksOf returns a source of the members of blocks that match q. It returns nil if no member can have the status.
func (s *Store) blocksOf(q *deliverylog.Query) source {
	if q.Status != "" && q.Status != deliverylog.StatusDelivered {
		return nil
	}
	query := find.Query{
		Order: []find.Order{{Field: fieldLast, Descending: true}}, Limit: blocksAtOnce,
		Where: []find.Condition{find.Gte(fieldLast, q.From), find.Lt(fieldLast, q.To.Add(deliverylog.BlockSpan))},
	}
	on := find.Has(fieldDashboards, blockHash(q.Organization, q.Channel, q.DashboardID))
	switch {
	case q.URLHash != "":
		var days []int64
		for day := dayOf(q.From); day <= dayOf(q.To.Add(deliverylog.BlockSpan)); day++ {
			days = append(days, blockURLDay(q.Organization, q.Channel, deliverylog.BucketOf(q.URLHash), day))
		}
		query.Where, query.Limit = append(query.Where, find.In(fieldURLDay, days...)), urlsAtOnce
		return s.urlSource(query, q)
	case q.EventID != "":
		query.Where = append(query.Where, find.Eq(fieldEvent, blockHash(q.Organization, q.Channel, q.EventID)))
		if q.DashboardID != "" {
			query.Where, query.Scan = append(query.Where, on), fieldEvent
		}
	case q.DashboardID != "":
		query.Where = append(query.Where, on)
	default:
		query.Where = append(query.Where, find.Eq(fieldAll, blockHash(q.Organization, q.Channel, "")))
	}
	return s.blockSource(query, q)
}
