package store

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Three indexes serve the lists of logs. Each begins with a number: the hash of the organization, the channel, the status,
// and in two of them of the dashboard or the event. Numbers instead of texts halve the time to store a row.
//
// Each ends with the hash of the URL. So a list by URL reads the index entries of other URLs, but not their rows. An index
// by URL was tried: each row of a fan-out goes to another page of it, and storing a row took twice as long. So urlDays
// limits the time for which entries are read.
//
// Two texts may have one hash. So Logs compares the rows that it has found with the query.
const (
	fieldSentAt    = "sentAt"
	fieldURL       = "url"
	fieldAll       = "all"
	fieldDashboard = "dashboard"
	fieldEvent     = "event"
)

func logIndexes() []document.Index {
	var indexes []document.Index
	for _, first := range []string{fieldAll, fieldDashboard, fieldEvent} {
		indexes = append(indexes, document.Index{Name: first, Fields: []string{first, fieldSentAt, fieldURL}})
	}
	return indexes
}

// logFields returns the fields of the indexes. A row without a log lacks the first field of each.
func logFields() []document.Field[dispatch.Delivery] {
	hashed := func(name string, last func(*dispatch.Delivery) string) document.Field[dispatch.Delivery] {
		return document.Field[dispatch.Delivery]{Name: name, Value: func(d *dispatch.Delivery) any {
			status, logged := d.LogStatus()
			if !logged {
				return nil
			}
			return logHash(d.Organization, d.Channel, status, last(d))
		}}
	}
	return []document.Field[dispatch.Delivery]{
		{Name: fieldSentAt, Value: func(d *dispatch.Delivery) any { return d.SentAt }},
		{Name: fieldURL, Value: func(d *dispatch.Delivery) any { return dispatch.Hash(d.URLHash) }},
		hashed(fieldAll, func(*dispatch.Delivery) string { return "" }),
		hashed(fieldDashboard, func(d *dispatch.Delivery) string { return d.DashboardID }),
		hashed(fieldEvent, func(d *dispatch.Delivery) string { return d.EventID }),
	}
}

func logHash(organization string, channel topic.Channel, status dispatch.Status, last string) int64 {
	return dispatch.Hash(organization, string(channel), string(status), last)
}

// Logs implements dispatch.Store.
func (s *Store) Logs(ctx context.Context, q dispatch.LogQuery) (find.Page[dispatch.Delivery], error) {
	if q.URLHash != "" && q.Channel.Keeper() != topic.Integrations {
		return find.Page[dispatch.Delivery]{}, nil // its recipients have no URL
	}
	if q.URLHash != "" {
		from, to, found, err := s.urlDays.span(ctx, q)
		if err != nil || !found {
			return find.Page[dispatch.Delivery]{}, err
		}
		if q.From == nil || q.From.Before(from) {
			q.From = &from
		}
		if q.To == nil || q.To.After(to) {
			q.To = &to
		}
	}
	where, index := logsWhere(q)
	page, err := s.deliveries.Find(ctx, find.Query{
		Where: where, Order: []find.Order{{Field: fieldSentAt, Descending: true}}, Limit: q.Limit, After: q.After, Scan: index,
	})
	page.Items = slices.DeleteFunc(page.Items, func(d dispatch.Delivery) bool {
		return d.Organization != q.Organization || d.Channel != q.Channel || q.EventID != "" && d.EventID != q.EventID ||
			q.URLHash != "" && d.URLHash != q.URLHash || q.DashboardID != "" && d.DashboardID != q.DashboardID
	})
	return page, err
}

// logsWhere returns the conditions of the query and the index that serves it. Of two filters it takes the index of the
// one with fewer logs.
func logsWhere(q dispatch.LogQuery) (where []find.Condition, index string) {
	statuses := dispatch.Statuses()
	if q.Status != "" {
		statuses = []dispatch.Status{q.Status}
	}
	add := func(field, last string) {
		var hashes []int64
		for _, status := range statuses {
			hashes = append(hashes, logHash(q.Organization, q.Channel, status, last))
		}
		where, index = append(where, find.In(field, hashes...)), field
	}
	if q.DashboardID != "" {
		add(fieldDashboard, q.DashboardID)
	}
	if q.EventID != "" {
		add(fieldEvent, q.EventID)
	}
	if index == "" {
		add(fieldAll, "")
	}
	if q.URLHash != "" {
		where = append(where, find.Eq(fieldURL, dispatch.Hash(q.URLHash)))
	}
	if q.From != nil {
		where = append(where, find.Gte(fieldSentAt, *q.From))
	}
	if q.To != nil {
		where = append(where, find.Lt(fieldSentAt, *q.To))
	}
	return where, index
}
