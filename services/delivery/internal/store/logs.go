package store

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Three indexes serve the lists of logs. Each begins with a number for a stream of logs: the hash of the organization, the
// channel, the status and
//
//   - stream: a part of the URLs
//   - dashboard: the dashboard
//   - event: the event
//
// Numbers instead of texts halve the time to store a row. An entry of stream and of event ends with the hash of the URL,
// so that a list by URL reads no rows of other URLs. An index by URL alone would write one page of the database for each
// row of a fan-out, and double the time. Streams of a part of the URLs cost a tenth of that: a batch of rows belongs to
// few of them, because shards have the order of the hash.
//
// Two texts may have one hash. So Logs compares the rows that it has found with the query.
const (
	// urlParts is the number of parts of the URLs. Lists by other filters merge them. One stream of all URLs has the other
	// statuses, because those are rare.
	urlParts = 24

	fieldSentAt    = "sentAt"
	fieldURL       = "url"
	fieldStream    = "stream"
	fieldDashboard = "dashboard"
	fieldEvent     = "event"
)

func logIndexes() []document.Index {
	return []document.Index{
		{Name: fieldStream, Fields: []string{fieldStream, fieldSentAt, fieldURL}},
		{Name: fieldDashboard, Fields: []string{fieldDashboard, fieldSentAt}},
		{Name: fieldEvent, Fields: []string{fieldEvent, fieldSentAt, fieldURL}},
	}
}

// logFields returns the fields of the indexes. A row without a log lacks the fields of streams.
func logFields() []document.Field[dispatch.Delivery] {
	stream := func(name string, of func(*dispatch.Delivery, dispatch.Status) int64) document.Field[dispatch.Delivery] {
		return document.Field[dispatch.Delivery]{Name: name, Value: func(d *dispatch.Delivery) any {
			log, logged := d.ShownLog()
			if !logged {
				return nil
			}
			return of(d, log.Status)
		}}
	}
	return []document.Field[dispatch.Delivery]{
		{Name: fieldSentAt, Value: func(d *dispatch.Delivery) any { return d.SentAt }},
		{Name: fieldURL, Value: func(d *dispatch.Delivery) any { return dispatch.Hash(d.URLHash) }},
		stream(fieldStream, func(d *dispatch.Delivery, status dispatch.Status) int64 {
			return streamOf(d.Organization, d.Channel, status, partOf(status, d.URLHash))
		}),
		stream(fieldDashboard, func(d *dispatch.Delivery, status dispatch.Status) int64 {
			return dispatch.Hash(d.Organization, string(d.Channel), string(status), d.DashboardID)
		}),
		stream(fieldEvent, func(d *dispatch.Delivery, status dispatch.Status) int64 {
			return dispatch.Hash(d.Organization, string(d.Channel), string(status), d.EventID)
		}),
	}
}

func streamOf(organization string, channel topic.Channel, status dispatch.Status, part int) int64 {
	return dispatch.Hash(organization, string(channel), string(status)) + int64(part)
}

// partOf returns the part of the URLs that a log with the status belongs to.
func partOf(status dispatch.Status, urlHash string) int {
	if status != dispatch.StatusDelivered {
		return 0
	}
	return dispatch.BucketOf(urlHash) * urlParts / topic.Buckets
}

// Logs implements dispatch.Store.
func (s *Store) Logs(ctx context.Context, q dispatch.LogQuery) (find.Page[dispatch.Delivery], error) {
	if q.URLHash != "" && q.Channel.Keeper() != topic.Integrations {
		return find.Page[dispatch.Delivery]{}, nil // its recipients have no URL
	}
	page, err := s.deliveries.Find(ctx, find.Query{
		Where: logsWhere(q), Order: []find.Order{{Field: fieldSentAt, Descending: true}},
		Limit: q.Limit, After: q.After, Scan: logsIndex(q),
	})
	page.Items = slices.DeleteFunc(page.Items, func(d dispatch.Delivery) bool {
		return d.Organization != q.Organization || d.Channel != q.Channel || q.EventID != "" && d.EventID != q.EventID ||
			q.URLHash != "" && d.URLHash != q.URLHash || q.DashboardID != "" && d.DashboardID != q.DashboardID
	})
	return page, err
}

// logsIndex returns the index for the query. Of several filters it takes that with the fewest logs.
func logsIndex(q dispatch.LogQuery) string {
	switch {
	case q.EventID != "":
		return fieldEvent
	case q.URLHash == "" && q.DashboardID != "":
		return fieldDashboard
	}
	return fieldStream
}

// logsWhere returns the conditions of the query: one of the streams, and what the index of the stream does not restrict.
func logsWhere(q dispatch.LogQuery) []find.Condition {
	statuses := dispatch.Statuses()
	if q.Status != "" {
		statuses = []dispatch.Status{q.Status}
	}
	var streams, dashboards, events []int64
	for _, status := range statuses {
		dashboards = append(dashboards, dispatch.Hash(q.Organization, string(q.Channel), string(status), q.DashboardID))
		events = append(events, dispatch.Hash(q.Organization, string(q.Channel), string(status), q.EventID))
		first, last := partOf(status, q.URLHash), partOf(status, q.URLHash)
		if q.URLHash == "" && status == dispatch.StatusDelivered {
			first, last = 0, urlParts-1
		}
		for part := first; part <= last; part++ {
			streams = append(streams, streamOf(q.Organization, q.Channel, status, part))
		}
	}
	where := []find.Condition{}
	if q.From != nil {
		where = append(where, find.Gte(fieldSentAt, *q.From))
	}
	if q.To != nil {
		where = append(where, find.Lt(fieldSentAt, *q.To))
	}
	index := logsIndex(q)
	if index == fieldStream {
		where = append(where, find.In(fieldStream, streams...))
	}
	if q.EventID != "" {
		where = append(where, find.In(fieldEvent, events...))
	}
	if q.DashboardID != "" {
		where = append(where, find.In(fieldDashboard, dashboards...))
	}
	if q.URLHash != "" {
		where = append(where, find.Eq(fieldURL, dispatch.Hash(q.URLHash)))
	}
	return where
}
