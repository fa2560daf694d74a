package audience

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// insert stores the subscribers of the lines that are not in known, except those that were deleted during the import. It
// returns known with the subscribers that another request has stored first. If the same import is stored already, such as
// by a process that was killed, insert waits until its subscribers are stored. So the owners are not asked twice.
func (i *importing) insert(ctx context.Context, organization string, rows int, lines []*line, known map[string]Subscriber) (map[string]Subscriber, error) {
	id := importID(lines)
	for range maxTries {
		fresh := slices.DeleteFunc(slices.Clone(lines), func(l *line) bool {
			_, is := known[l.subscriber()]
			if !is && l.again {
				i.results[l.at] = refusedAsDeleted()
			}
			return is || l.again
		})
		record := Import{ID: id, OrganizationID: organization, Channel: i.channel, DashboardID: i.dashboard.ID, Rows: rows, Unforced: !i.force, CreatedAt: i.begun}
		err := i.store(ctx, record, fresh)
		switch {
		case err == nil && len(fresh) > 0:
			return i.overtaken(ctx, fresh, record, known)
		case !fault.Is(err, fault.Conflict):
			return known, err
		}
		if err := i.completed(ctx, id); err != nil {
			return nil, err
		}
		if known, err = i.known(ctx, lines); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, "The same rows are being imported. Try again shortly.")
}

// store stores the record of an import with the subscribers of the fresh lines, and sets the results of these lines.
func (i *importing) store(ctx context.Context, record Import, fresh []*line) error {
	first, err := i.reserve(ctx, fresh)
	if err != nil {
		return err
	}
	record.Created, record.Addresses = len(fresh), []string{}
	var messages []topic.Message
	for _, l := range fresh {
		s := i.newSubscriber(l, first, record)
		first += int64(len(l.components))
		messages = append(messages, i.ask(&s, record.CreatedAt)...)
		record.Subscribers, record.Addresses = append(record.Subscribers, s), append(record.Addresses, l.text)
		i.results[l.at] = Result{Status: Created, ID: s.ID}
	}
	messages = append(messages, audit.Entry(audit.From(ctx), "subscriber.import", record.CreatedAt, nil, &record)...)
	return i.a.Store.Imports.Insert(ctx, record, messages...)
}

// importID returns the id of the import of the lines. The same lines have the same id, a UUID of version 8, so that the
// record of an import is not stored twice at the same time. Without lines, each import has its own id.
func importID(lines []*line) string {
	if len(lines) == 0 {
		return topic.NewID()
	}
	hash := sha256.New()
	for _, l := range lines {
		hash.Write([]byte(l.subscriber())) // never fails
	}
	id := uuid.UUID(hash.Sum(nil)[:16])
	id[6], id[8] = 0x80|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}

// ask sets the Request of an unconfirmed subscriber, and returns the message that asks the owner for a confirmation. It
// does nothing and returns nil if the import does not ask, if the owner was asked already (an import may be repeated), or
// if the subscriber is locked or its address suppressed.
func (i *importing) ask(s *Subscriber, now time.Time) []topic.Message {
	asked := s.Request != nil && len(s.Request.Entries) == 0
	if !i.asks || asked || s.Confirmed() || s.Locked || s.Address.Suppression != nil {
		return nil
	}
	return s.ask(nil, now)
}

// reserve reserves a legacy id for each component of the lines. It returns the first id, or 0 if there are no
// components.
func (i *importing) reserve(ctx context.Context, lines []*line) (int64, error) {
	var n int64
	for _, l := range lines {
		n += int64(len(l.components))
	}
	if n == 0 {
		return 0, nil
	}
	return i.a.Store.Next(ctx, subscriptionCounter(i.channel), n)
}

func (i *importing) newSubscriber(l *line, first int64, record Import) Subscriber {
	s := newSubscriber(l.address, l.dashboard, FromImport, record.CreatedAt)
	s.Entries = newEntries(l.components, first, false, record.CreatedAt)
	if optional.OrZero(l.row.Confirmed) {
		at := record.CreatedAt
		optional.Assign(&at, l.row.ConfirmedAt)
		s.confirm(true, at)
	}
	s.Locale, s.ImportID = l.locale, record.ID
	return s
}

// overtaken waits until the import is completed. It returns known with those subscribers of the lines that another
// request has stored first.
func (i *importing) overtaken(ctx context.Context, fresh []*line, record Import, known map[string]Subscriber) (map[string]Subscriber, error) {
	if err := i.completed(ctx, record.ID); err != nil {
		return nil, err
	}
	stored, err := i.known(ctx, fresh)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(known)
	for id, s := range stored {
		if s.ImportID != record.ID {
			out[id] = s
		}
	}
	return out, nil
}

// importTime is how long a request waits for ImportWritten after the Import was stored.
const importTime = 12 * time.Second

// completed waits until ImportWritten has deleted the record of an import. After importTime it returns
// fault.Unavailable. Its pauses grow, so that a long wait takes few operations of the database.
func (i *importing) completed(ctx context.Context, id string) error {
	pause := 20 * time.Millisecond
	for until := time.Now().Add(importTime); ; pause = min(2*pause, time.Second) {
		left, err := i.a.Store.Imports.GetMany(ctx, []string{id})
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(until) {
			return fault.New(fault.Unavailable, "The import is accepted and takes longer. Repeat it to see its results.")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
