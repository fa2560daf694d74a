package audience

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxRows is the maximum number of rows of an import.
const maxRows = 1000

// Row is one row of an import. For an address that is subscribed already, an absent field does not change the
// subscriber.
type Row struct {
	Address      string
	ComponentIDs optional.Value[[]string] // null: all components
	Confirmed    *bool
	ConfirmedAt  *time.Time // nil: the time of the import
	State        RowState   // empty: Confirmed is used instead
	Locale       optional.Value[string]
	Wrong        error // not nil: the row is refused with this error
}

// Status is what an import has done with a row.
type Status string

const (
	Created Status = "created"
	Updated Status = "updated"
	Refused Status = "refused"
)

// Result is the result of a row.
type Result struct {
	Status Status
	ID     string
	Error  string
}

// Import is a record with new subscribers. When it is stored, the import is final. The audit entry and the messages
// that ask for confirmations are published with this write. Then ImportWritten stores the subscribers and deletes the
// record. If the process is killed, ImportWritten is called later.
type Import struct {
	ID             string        `json:"id" audit:"importId"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel" audit:"channel"`
	DashboardID    string        `json:"dashboardId" audit:"dashboardId"`
	Rows           int           `json:"rows" audit:"rows"`
	Created        int           `json:"created" audit:"created"`
	Addresses      []string      `json:"addresses" audit:"addresses"` // addresses of the new subscribers
	Subscribers    []Subscriber  `json:"subscribers"`
	Inserted       bool          `json:"inserted,omitempty"` // the subscribers are stored; those who are missing were deleted later
	Unforced       bool          `json:"unforced,omitempty"` // when the import began, none of the subscribers had a DeletedImport
	CreatedAt      time.Time     `json:"createdAt" audit:"createdAt"`
}

// AuditEntity implements audit.Record.
func (i Import) AuditEntity() audit.Entity {
	return audit.Entity{Organization: i.OrganizationID, Type: "subscriber", ID: i.ID, Name: fmt.Sprintf("%d rows", i.Rows)}
}

// ImportOptions are the settings of an import.
type ImportOptions struct {
	Asks   bool // the owners of unconfirmed addresses are asked for a confirmation, unless they were asked already
	Force  bool // subscribers whom the owner or a member has deleted are created again
	DryRun bool // nothing is stored and nobody is asked; the results are those that the import would have
}

// Import creates many subscribers of a dashboard. If the address of a row has a subscriber on the dashboard, the row
// changes this subscriber, or replaces it if it is only a visitor's request (see replaces). A wrong row is refused and does
// not affect the other rows. A repeated import creates nobody again and asks nobody again, also if the process was killed
// during the first one.
func (a *Audience) Import(ctx context.Context, organization string, channel topic.Channel, dashboardID string, rows []Row, o ImportOptions) ([]Result, error) {
	if len(rows) < 1 || len(rows) > maxRows {
		return nil, fault.Field("rows", "must have from 1 to %d rows", maxRows)
	}
	dashboard, err := a.dashboard(ctx, organization, dashboardID)
	if err != nil {
		return nil, err
	}
	i := &importing{a: a, channel: channel, dashboard: dashboard, asks: o.Asks, force: o.Force, begun: a.Now(), results: make([]Result, len(rows))}
	lines, err := i.setAside(ctx, organization, i.check(rows))
	if err == nil && !o.Force {
		lines, err = i.setDeletedAside(ctx, organization, lines)
	}
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		return i.results, i.foresee(ctx, organization, lines)
	}
	if err := i.resolve(ctx, organization, lines); err != nil {
		return nil, err
	}
	if err := i.suppress(ctx, lines); err != nil {
		return nil, err
	}
	known, err := i.known(ctx, lines)
	if err != nil {
		return nil, err
	}
	if known, err = i.insert(ctx, organization, len(rows), lines, known); err != nil {
		return nil, err
	}
	if err := i.change(ctx, lines, known); err != nil {
		return nil, err
	}
	return i.results, i.recheck(ctx, organization)
}

// importing is an import in progress.
type importing struct {
	a         *Audience
	channel   topic.Channel
	dashboard topic.DashboardRecord
	asks      bool
	force     bool
	begun     time.Time // a subscriber that is deleted later is not created again
	results   []Result
}

// line is a row that is not refused.
type line struct {
	at         int // position of the row in the import
	row        Row
	text       string
	normal     string
	components []string // nil: all
	locale     string
	address    Address
	dashboard  string
	again      bool // the subscriber is stored although it has a DeletedImport: created again, or not deleted yet
}

func (l *line) subscriber() string { return SubscriberID(l.dashboard, l.address.ID) }

// check refuses wrong rows and returns the lines of the right rows.
func (i *importing) check(rows []Row) []*line {
	var lines []*line
	first := map[string]int{}
	for at, row := range rows {
		l := &line{at: at, row: row, dashboard: i.dashboard.ID}
		err := l.check(i.channel, i.dashboard, i.a.Now())
		if before, twice := first[l.normal]; err == nil && twice {
			err = fault.New(fault.Invalid, "The address is in row %d too.", before+1)
		}
		if err != nil {
			i.results[at] = Result{Status: Refused, Error: fault.As(err).Error()}
			continue
		}
		first[l.normal] = at
		lines = append(lines, l)
	}
	return lines
}

func (l *line) check(channel topic.Channel, dashboard topic.DashboardRecord, now time.Time) (err error) {
	if l.row.Wrong != nil {
		return l.row.Wrong
	}
	if l.text, err = strictText(channel, l.row.Address); err != nil {
		return err
	}
	l.normal, _ = kindOf(channel).normal(l.text)
	if err := l.checkState(channel, now); err != nil {
		return err
	}
	if l.components, err = choice(dashboard, l.row.ComponentIDs.Value); err != nil {
		return err
	}
	l.locale, err = chosenLocale(l.row.Locale)
	return err
}

// foresee sets the results that the lines would have, and stores nothing.
func (i *importing) foresee(ctx context.Context, organization string, lines []*line) error {
	missing, err := i.find(ctx, organization, lines)
	if err != nil {
		return err
	}
	for _, l := range missing {
		i.results[l.at] = Result{Status: Created}
	}
	lines = slices.DeleteFunc(lines, func(l *line) bool { return l.address.ID == "" })
	known, err := i.known(ctx, lines)
	if err != nil {
		return err
	}
	for _, l := range lines {
		switch s, is := known[l.subscriber()]; {
		case !is && !l.again, is && l.replaces(s):
			i.results[l.at] = Result{Status: Created}
		case !is, s.Gone():
			i.results[l.at] = refusedAsDeleted()
		default:
			i.results[l.at] = Result{Status: Updated, ID: s.ID}
		}
	}
	return nil
}

func refusedAsDeleted() Result {
	return Result{Status: Refused, Error: "The subscriber was deleted during the import. Import the row again."}
}

// maxTries is the maximum number of tries to store records while other requests store some of them.
const maxTries = 8

// resolve finds the addresses of the lines, and stores those that do not exist.
func (i *importing) resolve(ctx context.Context, organization string, lines []*line) error {
	for range maxTries {
		missing, err := i.find(ctx, organization, lines)
		if err != nil || len(missing) == 0 {
			return err
		}
		first, err := i.a.Store.Next(ctx, addressCounter(i.channel), int64(len(missing)))
		if err != nil {
			return err
		}
		now := i.a.Now()
		addresses := make([]Address, len(missing))
		for n, l := range missing {
			l.address = Address{
				ID: topic.NewID(), OrganizationID: organization, Channel: i.channel, LegacyID: first + int64(n), Text: l.text, Normal: l.normal, Made: true, CreatedAt: now,
			}
			l.address.Suppression = l.suppression(now)
			addresses[n] = l.address
		}
		if _, err := i.a.Store.Addresses.InsertMany(ctx, addresses); !fault.Is(err, fault.Conflict) {
			return err
		} // on a Conflict, another request has stored one of them meanwhile
	}
	return fault.New(fault.Unavailable, "Others are storing the same addresses. Try again shortly.")
}

// find sets the address of each line whose address is stored. It returns the other lines.
func (i *importing) find(ctx context.Context, organization string, lines []*line) (missing []*line, err error) {
	stored := map[string]Address{}
	for some := range slices.Chunk(lines, batch) {
		normals := find.Values(some, func(l *line) string { return l.normal })
		found, err := i.a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, i.channel, find.In(FieldNormal, normals...))})
		if err != nil {
			return nil, err
		}
		for _, address := range found.Items {
			stored[address.Normal] = address
		}
	}
	for _, l := range lines {
		if address, found := stored[l.normal]; found {
			l.address = address
		} else {
			missing = append(missing, l)
		}
	}
	return missing, nil
}

// known returns the stored subscribers of the lines, by id.
func (i *importing) known(ctx context.Context, lines []*line) (map[string]Subscriber, error) {
	return find.ByKey(ctx, i.a.Store.Subscribers, find.Values(lines, (*line).subscriber), subscriberKey)
}

// change changes the known subscribers whose values differ from those of their lines. It reserves the legacy ids for
// all of them at once, because on MongoDB an increment of a counter makes concurrent increments start over.
func (i *importing) change(ctx context.Context, lines []*line, known map[string]Subscriber) error {
	var different []*line
	for _, l := range lines {
		s, is := known[l.subscriber()]
		if !is {
			continue
		}
		i.results[l.at] = Result{Status: Updated, ID: s.ID}
		if _, _, err := i.apply(l, &s, 0, i.a.Now()); s.Gone() || !errors.Is(err, fault.ErrUnchanged) {
			different = append(different, l)
		}
	}
	next, err := i.reserve(ctx, different)
	if err != nil {
		return err
	}
	first := map[*line]int64{}
	for _, l := range different {
		first[l] = next
		next += int64(len(l.components))
	}
	return together(different, func(l *line) error { return i.edit(ctx, l, first[l]) })
}

// edit changes the subscriber of a line. first is the legacy id of the line's first component.
func (i *importing) edit(ctx context.Context, l *line, first int64) error {
	now := i.a.Now()
	_, err := i.a.edit(ctx, l.address.OrganizationID, l.subscriber(), func(s *Subscriber) ([]topic.Message, error) {
		if i.results[l.at].Status = Updated; l.replaces(*s) {
			i.results[l.at].Status = Created
		}
		before, messages, err := i.apply(l, s, first, now)
		if err != nil {
			return nil, err
		}
		s.UpdatedAt = now
		return append(subscriberEntry(ctx, "", now, &before, s), messages...), nil
	})
	if fault.Is(err, fault.NotFound) {
		i.results[l.at] = refusedAsDeleted()
		return nil
	}
	return err
}

// apply sets the values of a line in s. It returns the former s, and the messages that ask its owner for a
// confirmation. If nothing changes, it returns ErrUnchanged.
func (i *importing) apply(l *line, s *Subscriber, first int64, now time.Time) (before Subscriber, messages []topic.Message, err error) {
	before = *s
	if l.replaces(*s) {
		*s = i.newSubscriber(l, first, Import{CreatedAt: now})
		s.Address = before.Address
		return before, nil, nil
	}
	patch := SubscriberPatch{ComponentIDs: l.row.ComponentIDs, Confirmed: l.row.Confirmed, ConfirmedAt: l.row.ConfirmedAt, Locale: l.row.Locale}
	patch.Locale.Value = l.locale
	if err := s.apply(patch, newEntries(l.components, first, false, now), now); err != nil {
		return before, nil, err
	}
	messages = i.ask(s, now)
	if reflect.DeepEqual(before, *s) {
		return before, nil, fault.ErrUnchanged
	}
	return before, messages, nil
}

// replaces reports whether the line creates its subscriber anew, in place of s: the former page proves a confirmation, and s is only a
// visitor's request that nobody has confirmed. Else the request would expire, and the owner would have no subscription. It returns
// false if the subscriber was deleted here before or is locked, or if the owner unsubscribed on a former page (OptedOut): a
// confirmation of the request ends that suppression.
func (l *line) replaces(s Subscriber) bool {
	return l.row.State == RowConfirmed && s.pending() && !s.Locked && !s.Gone() && !l.again && !s.Address.Suppression.isOptOut()
}

// recheck deletes what the import has stored for a dashboard or components that were deleted meanwhile. If the events
// service does not respond, this is no error, because the deletions are also published as messages.
func (i *importing) recheck(ctx context.Context, organization string) error {
	ctx = context.WithoutCancel(ctx)
	now, err := i.a.Events.Dashboard(ctx, organization, i.dashboard.ID)
	if fault.Is(err, fault.NotFound) {
		if err := i.a.ForgetDashboard(ctx, organization, i.dashboard.ID); err != nil {
			return err
		}
		return noDashboard()
	}
	var missing []string
	for _, c := range i.dashboard.Components {
		if err == nil && !now.Has(c.ID) {
			missing = append(missing, c.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	exist, err := i.a.Events.ComponentsByID(ctx, organization, missing)
	for _, id := range missing {
		if _, exists := exist[id]; err == nil && !exists {
			if err := i.a.ForgetComponent(ctx, organization, id); err != nil {
				return err
			}
		}
	}
	return nil
}
