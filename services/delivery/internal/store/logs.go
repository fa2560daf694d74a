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

// Lists of logs, newest first, use one of four indexes. Three of them begin with a hash of the organization, the
// channel and the status. In two of these three, the dashboard or the event is also hashed. Hashes instead of texts
// halve the time to store a row.
//
// The fourth index is for lists by URL. An index by only the hash of the URL would double the time to store a row,
// because each row of a fan-out would change another page of the index file. So the value begins with the day and the
// bucket of the URL. The rows of a shard are stored together. Unless their URLs share a rate limit, they have one bucket, so
// they change few pages of the index file. A list reads one range of the index for each day. The index ends with the status,
// so that a list by URL and status reads only rows that it returns. The index by event ends with the hash of the URL for the
// same reason.
//
// Two texts may have the same hash. So Logs also compares the rows that it finds with the query.
const (
	fieldSentAt    = "sentAt"
	fieldURL       = "url"
	fieldStatus    = "status"
	fieldAll       = "all"
	fieldDashboard = "dashboard"
	fieldEvent     = "event"
	fieldURLDay    = "urlDay"
	fieldOn        = "on" // hash of the dashboard; not in an index
)

func logIndexes() []document.Index {
	return []document.Index{
		{Name: fieldAll, Fields: []string{fieldAll, fieldSentAt}, Scatter: scatterList},
		{Name: fieldDashboard, Fields: []string{fieldDashboard, fieldSentAt}, Scatter: scatterList},
		{Name: fieldEvent, Fields: []string{fieldEvent, fieldSentAt, fieldURL}, Scatter: scatterList},
		{Name: fieldURLDay, Fields: []string{fieldURLDay, fieldSentAt, fieldStatus}, Scatter: scatterList},
	}
}

// logFields returns the fields of the indexes. A row that is not a log yet has no value for the first field of each of these
// indexes, so none of these indexes contains it.
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

// urlDay returns the value of fieldURLDay of a row: 24 bits for the day, 6 for the bucket, and 34 for a hash.
func urlDay(organization string, channel topic.Channel, urlHash string, day int64) int64 {
	return day<<40 | int64(deliverylog.BucketOf(urlHash))<<34 | deliverylog.Hash(organization, string(channel), urlHash)&(1<<34-1)
}

// statusNumber returns the index of the status in deliverylog.Statuses.
func statusNumber(status deliverylog.Status) int64 {
	return int64(slices.Index(deliverylog.Statuses(), status))
}

func logHash(organization string, channel topic.Channel, status deliverylog.Status, last string) int64 {
	return deliverylog.Hash(organization, string(channel), string(status), last)
}

// Logs implements deliverylog.Store.
func (s *Store) Logs(ctx context.Context, q deliverylog.Query) (find.Page[deliverylog.Delivery], error) {
	if q.URLHash != "" && q.Channel.RecipientService() != topic.Integrations {
		return find.Page[deliverylog.Delivery]{}, nil // recipients of other services have no URL
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

// logsWhere returns the conditions for the query and the index to use. If there are several filters, it uses the index by
// event, else by URL, else by dashboard, because a filter by event usually finds the fewest logs.
func logsWhere(q deliverylog.Query) (where []find.Condition, index string) {
	statuses := deliverylog.Statuses()
	if q.Status != "" {
		statuses = []deliverylog.Status{q.Status}
	}
	add := func(field, last string) {
		hashes := find.Values(statuses, func(status deliverylog.Status) int64 { return logHash(q.Organization, q.Channel, status, last) })
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
