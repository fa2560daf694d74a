package store

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Four indexes serve the lists of logs, newest first. Three begin with a number: the hash of the organization, the
// channel, the status, and in two of them of the dashboard or the event. Numbers instead of texts halve the time to
// store a row.
//
// The fourth serves lists by URL. An index by the hash of the URL alone would double the time to store a row, because
// each row of a fan-out goes to another page of the index. So its number has the day in its high bits and then the bucket
// of the URL: the rows of a shard, which are stored together, have one bucket and so go to few pages. A list reads one
// range of the index for each day. The index ends with the status, so that a list by URL and status reads only rows that
// it returns. The index by event ends with the hash of the URL for the same reason.
//
// Two texts may have one hash. So Logs compares the rows that it has found with the query.
const (
	fieldSentAt    = "sentAt"
	fieldURL       = "url"
	fieldStatus    = "status"
	fieldAll       = "all"
	fieldDashboard = "dashboard"
	fieldEvent     = "event"
	fieldURLDay    = "urlDay"
	fieldOn        = "on" // hash of the dashboard; no index has it
)

func logIndexes() []document.Index {
	return []document.Index{
		{Name: fieldAll, Fields: []string{fieldAll, fieldSentAt}},
		{Name: fieldDashboard, Fields: []string{fieldDashboard, fieldSentAt}},
		{Name: fieldEvent, Fields: []string{fieldEvent, fieldSentAt, fieldURL}},
		{Name: fieldURLDay, Fields: []string{fieldURLDay, fieldSentAt, fieldStatus}},
	}
}

// logFields returns the fields of the indexes. A row without a log lacks the first field of each.
func logFields() []document.Field[deliverylog.Delivery] {
	logged := func(name string, value func(*deliverylog.Delivery, deliverylog.Status) any) document.Field[deliverylog.Delivery] {
		return document.Field[deliverylog.Delivery]{Name: name, Value: func(d *deliverylog.Delivery) any {
			status, logged := d.LogStatus()
			if !logged {
				return nil
			}
			return value(d, status)
		}}
	}
	hashed := func(name string, last func(*deliverylog.Delivery) string) document.Field[deliverylog.Delivery] {
		return logged(name, func(d *deliverylog.Delivery, status deliverylog.Status) any {
			return logHash(d.Organization, d.Channel, status, last(d))
		})
	}
	return []document.Field[deliverylog.Delivery]{
		{Name: fieldSentAt, Value: func(d *deliverylog.Delivery) any { return d.SentAt }},
		{Name: fieldURL, Value: func(d *deliverylog.Delivery) any { return deliverylog.Hash(d.URLHash) }},
		logged(fieldStatus, func(_ *deliverylog.Delivery, status deliverylog.Status) any { return statusNumber(status) }),
		hashed(fieldAll, func(*deliverylog.Delivery) string { return "" }),
		hashed(fieldDashboard, func(d *deliverylog.Delivery) string { return d.DashboardID }),
		hashed(fieldEvent, func(d *deliverylog.Delivery) string { return d.EventID }),
		{Name: fieldOn, Value: func(d *deliverylog.Delivery) any { return deliverylog.Hash(d.DashboardID) }},
		logged(fieldURLDay, func(d *deliverylog.Delivery, _ deliverylog.Status) any {
			if d.URLHash == "" {
				return nil
			}
			return urlDay(d.Organization, d.Channel, d.URLHash, dayOf(d.SentAt))
		}),
	}
}

// dayOf returns the number of the day in UTC.
func dayOf(at time.Time) int64 { return at.Unix() / int64((24 * time.Hour).Seconds()) }

// urlDay returns the value of fieldURLDay: 24 bits of the day, 6 of the bucket, and 34 of a hash.
func urlDay(organization string, channel topic.Channel, urlHash string, day int64) int64 {
	return day<<40 | int64(deliverylog.BucketOf(urlHash))<<34 | deliverylog.Hash(organization, string(channel), urlHash)&(1<<34-1)
}

// statusNumber returns the place of the status in deliverylog.Statuses.
func statusNumber(status deliverylog.Status) int64 {
	return int64(slices.Index(deliverylog.Statuses(), status))
}

func logHash(organization string, channel topic.Channel, status deliverylog.Status, last string) int64 {
	return deliverylog.Hash(organization, string(channel), string(status), last)
}

// Logs implements deliverylog.Store.
func (s *Store) Logs(ctx context.Context, q deliverylog.Query) (find.Page[deliverylog.Delivery], error) {
	if q.URLHash != "" && q.Channel.RecipientService() != topic.Integrations {
		return find.Page[deliverylog.Delivery]{}, nil // its recipients have no URL
	}
	var after *position
	if q.After != "" {
		at, err := parsePosition(q.After)
		if err != nil {
			return find.Page[deliverylog.Delivery]{}, err
		}
		after = &at
		if to := time.UnixMilli(at.sentAt + 1); to.Before(q.To) {
			q.To = to
		}
	}
	where, index := logsWhere(q)
	query := find.Query{Where: where, Order: []find.Order{{Field: fieldSentAt, Descending: true}}, Limit: q.Limit + 1, Scan: index}
	sources := []source{s.rowSource(query, func(d *deliverylog.Delivery) bool {
		return d.Organization == q.Organization && d.Channel == q.Channel && (q.EventID == "" || d.EventID == q.EventID) &&
			(q.URLHash == "" || d.URLHash == q.URLHash) && (q.DashboardID == "" || d.DashboardID == q.DashboardID)
	})}
	if blocks := s.blocksOf(&q); blocks != nil {
		sources = append(sources, blocks)
	}
	return merge(ctx, sources, after, q.Limit)
}

// logsWhere returns the conditions of the query and the index that serves it. Of several filters it takes the index of the
// one with the fewest logs.
func logsWhere(q deliverylog.Query) (where []find.Condition, index string) {
	statuses := deliverylog.Statuses()
	if q.Status != "" {
		statuses = []deliverylog.Status{q.Status}
	}
	add := func(field, last string) {
		var hashes []int64
		for _, status := range statuses {
			hashes = append(hashes, logHash(q.Organization, q.Channel, status, last))
		}
		where, index = append(where, find.In(field, hashes...)), field
	}
	switch {
	case q.EventID != "":
		add(fieldEvent, q.EventID)
		if q.URLHash != "" {
			where = append(where, find.Eq(fieldURL, deliverylog.Hash(q.URLHash)))
		}
	case q.URLHash != "":
		where, index = append(where, find.In(fieldURLDay, urlDays(q)...)), fieldURLDay
		if q.Status != "" {
			where = append(where, find.Eq(fieldStatus, statusNumber(q.Status)))
		}
	case q.DashboardID != "":
		add(fieldDashboard, q.DashboardID)
	default:
		add(fieldAll, "")
	}
	if q.DashboardID != "" && index != fieldDashboard {
		where = append(where, find.Eq(fieldOn, deliverylog.Hash(q.DashboardID)))
	}
	return append(where, find.Gte(fieldSentAt, q.From), find.Lt(fieldSentAt, q.To)), index
}

// urlDays returns the values of fieldURLDay for the days of the query.
func urlDays(q deliverylog.Query) []int64 {
	var days []int64
	for day := dayOf(q.From); day <= dayOf(q.To); day++ {
		days = append(days, urlDay(q.Organization, q.Channel, q.URLHash, day))
	}
	return days
}
