package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

const (
	maxImportKey = 255

	paragraph, endOfParagraph = "<p>", "</p>"
)

// ImportedEvent is an event of an import. An import compares the digest of this JSON with ImportMark.Digest of the
// stored event.
type ImportedEvent struct {
	Key                     string              `json:"key"`
	Type                    EventType           `json:"type"`
	Title                   string              `json:"title"`
	Status                  Status              `json:"status"`
	Severity                string              `json:"severity,omitzero"`
	HTML                    string              `json:"html,omitzero"`
	ImpactAnalysis          string              `json:"impactAnalysis,omitzero"`
	Coordinator             string              `json:"coordinator,omitzero"`
	CreatedAt               *time.Time          `json:"createdAt,omitzero"`
	StartAt                 *time.Time          `json:"startAt,omitzero"`
	EndAt                   *time.Time          `json:"endAt,omitzero"`
	ScheduledStartAt        *time.Time          `json:"scheduledStartAt,omitzero"`
	ScheduledEndAt          *time.Time          `json:"scheduledEndAt,omitzero"`
	AutoStart               bool                `json:"autoStart,omitzero"`
	AutoEnd                 bool                `json:"autoEnd,omitzero"`
	ReminderMinutes         []int               `json:"reminderMinutes,omitempty"`
	NotifyLater             topic.Notify        `json:"notifyLater,omitempty"`
	Draft                   bool                `json:"draft,omitzero"`
	HiddenFromDashboard     bool                `json:"hiddenFromDashboard,omitzero"`
	HiddenFromUptimeReports bool                `json:"hiddenFromUptimeReports,omitzero"`
	ExternalID              string              `json:"externalId,omitzero"`
	Components              []ImportedImpact    `json:"components,omitempty"`
	DashboardIDs            []string            `json:"dashboardIds,omitempty"`
	Timeline                []ImportedEntry     `json:"timeline,omitempty"`
	PostMortem              *ImportedPostMortem `json:"postMortem,omitzero"`
	Notes                   []string            `json:"notes,omitempty"`
	PublicID                string              `json:"publicId,omitzero"`
	Aliases                 []string            `json:"aliases,omitempty"` // former paths of the event; the caller checks their form
	Wrong                   error               `json:"-"`                 // not nil: the event is refused with this error
}

// ImportedImpact is a component of an imported event. Key is an external reference of the component.
type ImportedImpact struct {
	Key    string `json:"key"`
	Impact Impact `json:"impact,omitzero"`
}

// ImportedEntry is a timeline entry of an imported event. Impacts is the impacts by external reference of the component.
type ImportedEntry struct {
	Key      string            `json:"key"`
	At       time.Time         `json:"at"`
	Status   Status            `json:"status"`
	HTML     string            `json:"html"`
	Impacts  map[string]Impact `json:"impacts,omitempty"`
	PublicID string            `json:"publicId,omitzero"`
}

// ImportedPostMortem is the post-mortem of an imported event. Its texts are HTML. It is published if PublishedAt is not
// nil.
type ImportedPostMortem struct {
	HTML           string       `json:"html"`
	RootCause      string       `json:"rootCause,omitzero"`
	Impact         string       `json:"impact,omitzero"`
	Resolution     string       `json:"resolution,omitzero"`
	LessonsLearned string       `json:"lessonsLearned,omitzero"`
	ActionItems    []ActionItem `json:"actionItems,omitempty"`
	PublishedAt    *time.Time   `json:"publishedAt,omitzero"`
}

// eventOf returns the event of a line, or the faults of its fields. The event keeps the ids of stored. stored is nil or the
// zero Event for a new event.
func (i *importing) eventOf(l *importLine, stored *Event) (*Event, error) {
	now := i.c.now()
	plain := Rich{Format: richtext.Plain}
	event := &Event{ID: topic.NewID(), OrganizationID: i.command.Organization, CreatedBy: i.command.Author, Links: []Link{}, Timeline: []Entry{}, Announced: topic.Notify{}}
	exists := stored != nil && stored.Version > 0
	if exists {
		event = stored.clone()
	}
	event.Description, event.Impact, event.Coordinator = plain, plain, plain
	f := importFill{EventEdit: NewEventEdit(event, i.command, now), in: l.ImportedEvent}
	f.before = Event{Description: plain, Impact: plain, Coordinator: plain}
	links, byRef, err := i.links(l.ImportedEvent, event.Links)
	if err = errors.Join(f.fields(), f.times(), err, i.checkDashboards(l.ImportedEvent)); err != nil {
		return nil, err
	}
	event.Links = links
	if err := errors.Join(f.timeline(byRef), f.postMortem(), f.notes(), f.Check()); err != nil {
		return nil, err
	}
	f.settle(stored)
	run := i.in.RunID
	if exists {
		run = stored.Import.RunID
	}
	event.Import = &ImportMark{Key: l.Key, RunID: run, Digest: l.digest}
	event.DashboardIDs = slices.Clone(l.DashboardIDs)
	event.UpdatedAt = now
	event.Version++
	event.ShownVersion = event.Version
	return event, nil
}

// links returns the links to the components of an event, and the ids of the components by reference. A link that the
// event has already keeps its legacy id.
func (i *importing) links(in *ImportedEvent, former []Link) ([]Link, map[string]string, error) {
	if len(in.Components) > maxLinks {
		return nil, nil, fault.Field("components", "must be at most %d components", maxLinks)
	}
	links, byRef := make([]Link, len(in.Components)), make(map[string]string, len(in.Components))
	seen := map[string]bool{}
	for n, named := range in.Components {
		field := fmt.Sprintf("components[%d].key", n)
		component, there := i.components[named.Key]
		switch {
		case !there:
			return nil, nil, fault.Field(field, "must be an externalRef of a component of the organization")
		case seen[component.ID]:
			return nil, nil, fault.Field(field, "must not name a component twice")
		}
		seen[component.ID], byRef[named.Key] = true, component.ID
		links[n] = Link{ComponentID: component.ID, Impact: named.Impact}
		if at := slices.IndexFunc(former, func(link Link) bool { return link.ComponentID == component.ID }); at >= 0 {
			links[n].LegacyID = former[at].LegacyID
		}
	}
	return links, byRef, nil
}

func (i *importing) checkDashboards(in *ImportedEvent) error {
	if len(in.Components) > 0 && len(in.DashboardIDs) > 0 {
		return errBesideComponents()
	}
	return checkDashboardIDs(in.DashboardIDs, i.dashboards)
}

// importFill fills an event with the values of an import. before is empty except for Description and Impact, so that Check
// checks all other fields. fields checks these two texts.
type importFill struct {
	*EventEdit
	in *ImportedEvent
}

func (f *importFill) fields() error {
	in := f.in
	if blank(in.Key) || utf8.RuneCountInString(in.Key) > maxImportKey {
		return fault.Field("key", "must be 1 to %d characters, not only white space", maxImportKey)
	}
	f.Type, f.Title, f.Status, f.Severity, f.Source = in.Type, in.Title, in.Status, in.Severity, SourceImport
	f.Description, f.Impact = importedHTML(in.HTML), importedHTML(in.ImpactAnalysis)
	f.Coordinator = Rich{richtext.Text(in.Coordinator), richtext.Plain}
	f.AutoStart, f.AutoEnd, f.ReminderMinutes = in.AutoStart, in.AutoEnd, slices.Clone(in.ReminderMinutes)
	f.HiddenFromDashboard, f.HiddenFromUptimeReports, f.ExternalID = in.HiddenFromDashboard, in.HiddenFromUptimeReports, in.ExternalID
	f.Published, f.PublicID = !in.Draft, in.PublicID
	return errors.Join(
		checkTitle(in.Title), checkImportedText("html", in.HTML, maxText, &f.before.Description), checkImportedText("impactAnalysis", in.ImpactAnalysis, maxImpact, &f.before.Impact),
		checkPublicID("publicId", in.PublicID),
	)
}

// times sets the times. The actual times must not be in the future. A closed event without an end gets lastAt as its end,
// or its start if lastAt is earlier.
func (f *importFill) times() error {
	in := f.in
	f.ScheduledStartAt, f.ScheduledEndAt, f.EndAt = in.ScheduledStartAt, in.ScheduledEndAt, in.EndAt
	for _, one := range []struct {
		field string
		at    *time.Time
	}{{"createdAt", in.CreatedAt}, {"startAt", in.StartAt}, {"endAt", in.EndAt}, {"scheduledStartAt", in.ScheduledStartAt}, {"scheduledEndAt", in.ScheduledEndAt}} {
		if one.at != nil && beforeHistory(*one.at) {
			return errBeforeHistory(one.field)
		}
	}
	if err := f.checkSchedule(); err != nil {
		return err
	}
	switch {
	case f.Type == Maintenance && f.Status == Planning:
		f.StartAt = *f.ScheduledStartAt
	case in.StartAt != nil:
		f.StartAt = *in.StartAt
	case f.Type == Maintenance:
		f.StartAt = uptime.Earlier(f.Now, *f.ScheduledStartAt)
	default:
		return fault.Field("startAt", "is required for an incident")
	}
	for field, at := range map[string]*time.Time{"createdAt": in.CreatedAt, "endAt": in.EndAt} {
		if at != nil && at.After(f.Now) {
			return fault.Field(field, "must not be in the future")
		}
	}
	switch {
	case f.Status != Planning && f.StartAt.After(f.Now):
		return fault.Field("startAt", "must not be in the future")
	case f.Open() && in.EndAt != nil:
		return fault.Field("endAt", "is the actual end, which an event with the status %s does not have", f.Status)
	case !f.Open() && in.EndAt == nil:
		f.EndAt = new(uptime.Later(f.StartAt, f.lastAt()))
	}
	return nil
}

// lastAt returns the time of the last entry that closes the event. If there is none, it returns the time of the last entry,
// or the start if there is no entry. For a maintenance, this time is at least the planned end, or now if now is earlier.
func (f *importFill) lastAt() time.Time {
	last, closed := f.StartAt, time.Time{}
	if f.Type == Maintenance {
		last = uptime.Earlier(f.Now, *f.ScheduledEndAt)
	}
	for n, entry := range f.in.Timeline {
		if entry.Status.Closed() {
			closed = uptime.Later(closed, entry.At)
		}
		if n == 0 && f.Type == Incident || entry.At.After(last) {
			last = entry.At
		}
	}
	if !closed.IsZero() {
		return closed
	}
	return last
}

// timeline replaces the timeline. An entry that the event has already keeps its ids. timeline also sets the fields that
// follow from the entries, see transitions. byRef has the ids of the components by reference.
func (f *importFill) timeline(byRef map[string]string) error {
	if len(f.in.Timeline) > maxEntries {
		return fault.Field("timeline", "must have at most %d entries", maxEntries)
	}
	former := find.Index(f.Timeline, func(entry Entry) string { return entry.ImportKey })
	seen := map[string]bool{}
	entries := make([]Entry, len(f.in.Timeline))
	for n, in := range f.in.Timeline {
		within := func(err error) error { return fault.Within(fmt.Sprintf("timeline[%d]", n), err) }
		err := errors.Join(checkLength("html", in.HTML, maxText), f.checkEntry(in.Status), checkPublicID("publicId", in.PublicID))
		switch {
		case blank(in.Key) || utf8.RuneCountInString(in.Key) > maxImportKey:
			err = fault.Field("key", "must be 1 to %d characters, not only white space", maxImportKey)
		case seen[in.Key]:
			err = fault.Field("key", "must not be that of another entry of the event")
		case checkShown("html", importedHTML(in.HTML)) != nil:
			err = checkShown("html", importedHTML(in.HTML))
		case beforeHistory(in.At):
			err = errBeforeHistory("at")
		case in.At.After(f.Now):
			err = fault.Field("at", "must not be in the future")
		}
		if err != nil {
			return within(fault.As(err))
		}
		seen[in.Key] = true
		entry := Entry{
			StatusID: topic.NewID(), PublicID: in.PublicID, ImportKey: in.Key, Status: in.Status, Message: importedHTML(in.HTML), Timestamp: in.At,
			Author: f.author, CreatedAt: in.At,
		}
		if was, there := former[in.Key]; there {
			entry.StatusID, entry.LegacyID, entry.Author = was.StatusID, was.LegacyID, was.Author
		}
		for _, ref := range slices.Sorted(maps.Keys(in.Impacts)) {
			id, there := byRef[ref]
			if !there {
				return within(fault.Field("impacts", "%q must be a component of the event", ref))
			}
			entry.Impacts = append(entry.Impacts, ComponentImpact{id, in.Impacts[ref]})
		}
		entries[n] = entry
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Timestamp.Compare(b.Timestamp) })
	f.Timeline = entries
	f.transitions()
	return nil
}

// transitions sets PreviousStatus of the entries, StatusEntry and Pauses.
func (f *importFill) transitions() {
	f.StatusEntry, f.Pauses = "", nil
	var inForce Status
	var closed *time.Time
	for n := range f.Timeline {
		entry := &f.Timeline[n]
		if entry.Status == StatusUpdate {
			continue
		}
		if entry.Status != inForce {
			entry.PreviousStatus = inForce
			f.StatusEntry = entry.StatusID
		}
		inForce = entry.Status
		switch {
		case inForce.Closed() && closed == nil:
			closed = &entry.Timestamp
		case !inForce.Closed() && closed != nil:
			if closed.Before(entry.Timestamp) {
				f.Pauses = append(f.Pauses, Pause{*closed, entry.Timestamp})
			}
			closed = nil
		}
	}
	if inForce != f.Status {
		f.StatusEntry = ""
	}
}

// createdAt returns the given time of creation, or else the earliest of the start, the first entry and now.
func (f *importFill) createdAt() time.Time {
	if f.in.CreatedAt != nil {
		return *f.in.CreatedAt
	}
	at := uptime.Earlier(f.Now, f.StartAt)
	if len(f.Timeline) > 0 {
		at = uptime.Earlier(at, f.Timeline[0].Timestamp)
	}
	return at
}

// settle sets the fields that follow from others. It records steps and reminders whose time is past as done. former is the
// stored event, or nil or the zero Event for a new event.
func (f *importFill) settle(former *Event) {
	f.CreatedAt = f.createdAt()
	f.ShownAt = uptime.Later(f.CreatedAt, f.StartAt)
	if f.EndAt != nil {
		f.ShownAt = uptime.Later(f.ShownAt, *f.EndAt)
	}
	if len(f.Timeline) > 0 {
		f.ShownAt = uptime.Later(f.ShownAt, f.Timeline[len(f.Timeline)-1].Timestamp)
	}
	if p := f.PostMortem; p != nil {
		f.ShownAt = uptime.Later(f.ShownAt, p.CreatedAt)
	}
	f.ShownAt = uptime.Earlier(f.ShownAt, f.Now)
	f.PublishedAt = nil
	if f.Published {
		f.PublishedAt = new(f.CreatedAt)
	}
	f.Backfilled = !f.Open()
	switch {
	case f.Open():
		f.ClosedAt = nil
	case former != nil && former.Version > 0 && former.Open():
		f.ClosedAt = new(f.Now)
	}
	f.keep(f.in.NotifyLater)
	f.StartedFor, f.EndedFor, f.RemindedTo = nil, nil, nil
	if f.Type != Maintenance {
		return
	}
	if f.Status != Planning || !f.ScheduledStartAt.After(f.Now) {
		f.StartedFor = f.ScheduledStartAt
	}
	if f.Status.Closed() || !f.ScheduledEndAt.After(f.Now) {
		f.EndedFor = f.ScheduledEndAt
	}
	if len(f.ReminderMinutes) > 0 {
		f.RemindedTo = new(f.Now)
	}
}
