package catalog

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// The limits of the App interface. Those of texts are in characters. The legacy interface has other limits.
const (
	maxTitle       = 255
	maxText        = 20000 // length of a description or message
	maxImpact      = 8000
	maxCoordinator = 1000
	maxExternalID  = 255

	maxAffected            = 100 // components
	maxReminders           = 5
	minReminder, maxRemind = 5, 1440 // minutes
)

// Begin sets the type, the title and the first status of a new event. If status is empty, an incident begins as
// investigating, and a maintenance as planning.
func (d *EventEdit) Begin(t EventType, title string, status Status) {
	if status == "" {
		status = map[EventType]Status{Incident: Investigating, Maintenance: Planning}[t]
	}
	d.Type, d.Title = t, title
	d.SetStatus(status)
}

func checkTitle(title string) error {
	if blank(title) || utf8.RuneCountInString(title) > maxTitle {
		return fault.Field("title", "must be 1 to %d characters and not only white space", maxTitle)
	}
	return checkLine("title", title)
}

// Times is the times of an event that a request names.
type Times struct {
	StartAt, EndAt, ScheduledStartAt, ScheduledEndAt optional.Value[time.Time]
}

// beforeHistory reports whether a time is before 1990. Such a time is a mistake, and would add many months to the history.
func beforeHistory(at time.Time) bool {
	return at.Before(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC))
}

func errBeforeHistory(field string) error { return fault.Field(field, "must not be before 1990") }

// CheckTime returns a fault if at is before 1990 and differs from former, the time that the record has already. It returns
// nil if at is nil. former is nil if the record has no time.
func CheckTime(field string, at, former *time.Time) error {
	if at == nil || !beforeHistory(*at) || sameTime(at, former) {
		return nil
	}
	return errBeforeHistory(field)
}

// SetTimes sets the times by the rules of the App interface. It must be called after Begin. StartAt and EndAt are
// actual times, so they must not be in the future. The exception is a maintenance in planning: its StartAt is the
// planned start.
func (d *EventEdit) SetTimes(in Times) error {
	for _, one := range []struct {
		field  string
		sent   optional.Value[time.Time]
		before *time.Time
	}{
		{"startAt", in.StartAt, &d.before.StartAt}, {"endAt", in.EndAt, d.before.EndAt},
		{"scheduledStartAt", in.ScheduledStartAt, d.before.ScheduledStartAt}, {"scheduledEndAt", in.ScheduledEndAt, d.before.ScheduledEndAt},
	} {
		if at := one.sent.Pointer(); at != nil && beforeHistory(*at) && (d.IsNew() || !sameTime(at, one.before)) {
			return errBeforeHistory(one.field)
		}
	}
	in.ScheduledStartAt.SetNullable(&d.ScheduledStartAt)
	in.ScheduledEndAt.SetNullable(&d.ScheduledEndAt)
	if err := d.checkSchedule(); err != nil {
		return err
	}
	return errors.Join(d.setStart(in.StartAt), d.setEnd(in.EndAt))
}

func (d *EventEdit) checkSchedule() error {
	start, end := d.ScheduledStartAt, d.ScheduledEndAt
	switch {
	case d.Type == Maintenance && start == nil:
		return fault.Field("scheduledStartAt", "is required for a maintenance")
	case d.Type == Maintenance && end == nil:
		return fault.Field("scheduledEndAt", "is required for a maintenance")
	case d.Type == Maintenance && !end.After(*start) && !(sameTime(start, d.before.ScheduledStartAt) && sameTime(end, d.before.ScheduledEndAt)):
		return fault.Field("scheduledEndAt", "must be after scheduledStartAt")
	}
	return nil
}

func (d *EventEdit) setStart(in optional.Value[time.Time]) error {
	planned := d.Type == Maintenance && d.Status == Planning
	switch {
	case planned && in.Sent && !in.Value.Equal(*d.ScheduledStartAt):
		return fault.Field("startAt", "is scheduledStartAt until the maintenance starts")
	case planned:
		d.StartAt = *d.ScheduledStartAt
	case in.Sent && in.Value.After(d.Now):
		return fault.Field("startAt", "must not be in the future")
	case in.Sent:
		d.StartAt = in.Value
	case d.IsNew() && d.Type == Maintenance:
		d.StartAt = uptime.Earlier(d.Now, *d.ScheduledStartAt)
	case d.IsNew():
		d.StartAt = d.Now
	}
	return nil
}

func (d *EventEdit) setEnd(in optional.Value[time.Time]) error {
	end := in.Pointer()
	switch {
	case d.Open() && end != nil:
		return fault.Field("endAt", "is the actual end, which an event with the status %s does not have", d.Status)
	case d.Open():
		in.SetNullable(&d.EndAt) // the legacy interface may have given the open event an end, which null removes
		return nil
	case in.Null:
		return fault.Field("endAt", "must not be null, because the event is %s", d.Status)
	case end == nil && d.IsNew() && d.Type == Maintenance:
		end = new(uptime.Later(d.StartAt, uptime.Earlier(d.Now, *d.ScheduledEndAt)))
	case end == nil && d.IsNew():
		end = &d.Now
	case end == nil:
		return nil
	case end.After(d.Now):
		return fault.Field("endAt", "must not be in the future")
	}
	d.EndAt = new(*end)
	return nil
}

// SetComponents replaces the affected components of the event, and sets the impacts on them. A component that the event
// already has keeps its link. Severity must be assigned before the call.
func (d *EventEdit) SetComponents(affected []ComponentImpact) error {
	if len(affected) > maxAffected {
		return fault.Field("affectedComponents", "must name at most %d components", maxAffected)
	}
	links := make([]Link, len(affected))
	for i, named := range affected {
		sameComponent := func(link Link) bool { return link.ComponentID == named.ComponentID }
		if slices.ContainsFunc(links[:i], sameComponent) {
			return fault.Field(fmt.Sprintf("affectedComponents[%d].componentId", i), "must not be named twice")
		}
		links[i] = Link{ComponentID: named.ComponentID}
		if at := slices.IndexFunc(d.Links, sameComponent); at >= 0 {
			links[i] = d.Links[at]
		}
	}
	d.changed = d.changed || !slices.Equal(links, d.Links)
	d.Links = links
	for _, named := range affected {
		d.SetImpact(named.ComponentID, named.Impact)
	}
	return nil
}

// SetPlaces replaces the affected components, and the DashboardIDs, which only an event without components has. A nil
// argument replaces nothing, but a component in affected clears the former DashboardIDs. SetPlaces returns a fault if the
// event would have neither components nor dashboards, unless both arguments are nil and the event is not new.
func (d *EventEdit) SetPlaces(affected *[]ComponentImpact, dashboards *[]string) error {
	if affected != nil {
		if err := d.SetComponents(*affected); err != nil {
			return err
		}
		if len(*affected) > 0 && len(d.DashboardIDs) > 0 {
			d.DashboardIDs = []string{}
		}
	}
	if dashboards != nil && !slices.Equal(*dashboards, d.DashboardIDs) {
		d.DashboardIDs = slices.Clone(*dashboards)
	}
	if (affected != nil || dashboards != nil || d.IsNew()) && len(d.Links) == 0 && len(d.DashboardIDs) == 0 {
		return fault.Field("affectedComponents", "must name 1 to %d components, unless dashboardIds names dashboards", maxAffected)
	}
	return nil
}

// SetInitialEntry appends the first entry of a new event. The entry has the status of the event. Its timestamp is now,
// or EndAt if that is earlier.
func (d *EventEdit) SetInitialEntry(message string) error {
	if err := checkMessage("initialTimelineMessage", message); err != nil {
		return err
	}
	at := d.Now
	if d.EndAt != nil {
		at = uptime.Earlier(at, *d.EndAt)
	}
	return d.append(Entry{Status: d.Status, Message: Rich{message, richtext.Rich}, Timestamp: at})
}

// checkFields returns the faults of invalid fields. It checks title, texts and external id only if the write has changed
// them.
func (d *EventEdit) checkFields() []error {
	var problems []error
	refuse := func(field, format string, args ...any) {
		problems = append(problems, fault.Field(field, format, args...))
	}
	if d.IsNew() || d.Title != d.before.Title {
		problems = append(problems, checkTitle(d.Title))
	}
	for _, text := range []struct {
		field       string
		now, before Rich
		limit       int
	}{
		{"description", d.Description, d.before.Description, maxText},
		{"impactAnalysis", d.Impact, d.before.Impact, maxImpact},
		{"coordinator", d.Coordinator, d.before.Coordinator, maxCoordinator},
	} {
		problems = append(problems, checkChangedText(text.field, text.now, text.before, text.limit))
	}
	if d.ExternalID != d.before.ExternalID && (d.ExternalID != "" && blank(d.ExternalID) || utf8.RuneCountInString(d.ExternalID) > maxExternalID) {
		refuse("externalId", "must be at most %d characters and not only white space", maxExternalID)
	}
	if len(d.ReminderMinutes) > maxReminders {
		refuse("reminderMinutes", "must have at most %d values", maxReminders)
	}
	for i, minutes := range d.ReminderMinutes {
		switch field := fmt.Sprintf("reminderMinutes[%d]", i); {
		case minutes < minReminder || minutes > maxRemind:
			refuse(field, "must be %d to %d", minReminder, maxRemind)
		case slices.Contains(d.ReminderMinutes[:i], minutes):
			refuse(field, "must not be sent twice")
		}
	}
	if d.Type == Incident {
		for _, field := range []struct {
			name string
			set  bool
		}{
			{"scheduledStartAt", d.ScheduledStartAt != nil}, {"scheduledEndAt", d.ScheduledEndAt != nil},
			{"autoStart", d.AutoStart}, {"autoEnd", d.AutoEnd}, {"reminderMinutes", len(d.ReminderMinutes) > 0},
		} {
			if field.set {
				refuse(field.name, "is for a maintenance only")
			}
		}
	}
	return problems
}
