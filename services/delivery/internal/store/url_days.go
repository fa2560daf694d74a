package store

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	day         = 24 * time.Hour
	maxURLDays  = 2048 // in memory
	urlPosition = 2    // bytes
)

// urlDay holds which URLs have logs of one day, organization and channel. Each process has a record of its own, so that
// it replaces the record without reading it. A list by a URL that is rare, or that has no logs, reads only the index
// entries of the days from the first to the last that have the URL.
type urlDay struct {
	ID    string    `json:"id"`
	Owner int64     `json:"owner"` // hash of the organization and channel
	Day   time.Time `json:"day"`
	Seen  []byte    `json:"seen"` // positions: the first two bytes of the hashes of the URLs, which several URLs may share
}

// urlDays writes the records of this process.
type urlDays struct {
	records *document.Collection[urlDay]

	mu    sync.Mutex
	known map[urlDayKey]*urlDaySet
}

type urlDayKey struct {
	owner int64
	day   int64 // since 1970
}

// urlDaySet is a record with its positions as a set. It is unsaved while the store lacks some of them.
type urlDaySet struct {
	urlDay
	positions map[uint16]struct{}
	unsaved   bool
}

func newURLDays(db *document.Database) *urlDays {
	return &urlDays{known: make(map[urlDayKey]*urlDaySet), records: document.Declare(db, document.Schema[urlDay]{
		Name: "urldays",
		Key:  func(u *urlDay) string { return u.ID },
		Fields: []document.Field[urlDay]{
			{Name: "owner", Value: func(u *urlDay) any { return u.Owner }},
			{Name: "day", Value: func(u *urlDay) any { return u.Day }},
		},
		Indexes: []document.Index{{Name: "owner", Fields: []string{"owner", "day"}}, {Name: "age", Fields: []string{"day"}}},
	})}
}

func ownerOf(organization string, channel topic.Channel) int64 {
	return dispatch.Hash(organization, string(channel))
}

func positionOf(urlHash string) uint16 {
	return uint16(dispatch.Hash(urlHash)) //nolint:gosec // two of its bytes
}

// add stores the URLs of the rows. A row without a log gets its log within a day.
func (u *urlDays) add(ctx context.Context, rows []dispatch.Delivery) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var unsaved []*urlDaySet
	note := func(d *dispatch.Delivery, at time.Time) {
		set := u.setLocked(urlDayKey{ownerOf(d.Organization, d.Channel), at.UnixMilli() / day.Milliseconds()})
		position := positionOf(d.URLHash)
		if _, seen := set.positions[position]; !seen {
			set.positions[position] = struct{}{}
			set.Seen = binary.BigEndian.AppendUint16(set.Seen, position)
			set.unsaved = true
		}
		if set.unsaved && !slices.Contains(unsaved, set) {
			unsaved = append(unsaved, set)
		}
	}
	for i := range rows {
		if d := &rows[i]; d.URLHash != "" {
			note(d, d.SentAt)
			if _, logged := d.LogStatus(); !logged {
				note(d, d.SentAt.Add(day))
			}
		}
	}
	if len(unsaved) == 0 {
		return nil
	}
	records := make([]urlDay, len(unsaved))
	for i, set := range unsaved {
		records[i] = set.urlDay
	}
	if err := u.records.UpsertMany(ctx, records); err != nil {
		return err
	}
	for _, set := range unsaved {
		set.unsaved = false
	}
	return nil
}

// setLocked returns the set with the key. If there are too many, it forgets those of other batches, which then get
// further records.
func (u *urlDays) setLocked(key urlDayKey) *urlDaySet {
	set := u.known[key]
	if set == nil {
		if len(u.known) >= maxURLDays {
			clear(u.known)
		}
		at := time.UnixMilli(key.day * day.Milliseconds()).UTC()
		set = &urlDaySet{urlDay: urlDay{ID: uuid.Must(uuid.NewV7()).String(), Owner: key.owner, Day: at}, positions: make(map[uint16]struct{})}
		u.known[key] = set
	}
	return set
}

// span returns the time from the first to the last day that has logs of the query's URL. It returns false if no day has.
func (u *urlDays) span(ctx context.Context, q dispatch.LogQuery) (from, to time.Time, found bool, err error) {
	where := []find.Condition{find.Eq("owner", ownerOf(q.Organization, q.Channel))}
	if q.From != nil {
		where = append(where, find.Gte("day", q.From.Add(-day)))
	}
	if q.To != nil {
		where = append(where, find.Lt("day", *q.To))
	}
	position := positionOf(q.URLHash)
	err = u.records.Each(ctx, find.Query{Where: where, Order: []find.Order{{Field: "day"}}}, func(record urlDay) error {
		for seen := record.Seen; len(seen) >= urlPosition; seen = seen[urlPosition:] {
			if binary.BigEndian.Uint16(seen) == position {
				if !found {
					from, found = record.Day, true
				}
				to = record.Day.Add(day)
				break
			}
		}
		return nil
	})
	return from, to, found, err
}
