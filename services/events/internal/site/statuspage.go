package site

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// The read interface of Statuspage, version 2. Clients compare its words, so they are English in every locale. Each
// object has all of its keys; the value of an unknown one is null.

const (
	// maxListed is the number of events in a list.
	maxListed = 50
	// stampFormat has milliseconds, because clients of Statuspage require a fraction.
	stampFormat = "2006-01-02T15:04:05.000Z07:00"
)

// stamp returns a time as text, and nil for an unknown time.
func stamp(t *time.Time) *string {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(stampFormat))
}

// pageHeader describes the page in each file. UpdatedAt is the time of the snapshot.
type pageHeader struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	URL       string  `json:"url"`
	TimeZone  string  `json:"time_zone"`
	UpdatedAt *string `json:"updated_at"`
}

func pageHeaderOf(s *edition.Snapshot) pageHeader {
	return pageHeader{ID: s.Dashboard.ID, Name: oneLine(s.Dashboard.Name), URL: s.URL, TimeZone: s.Dashboard.Timezone, UpdatedAt: stamp(&s.At)}
}

// statuspage returns the file with a name below api/v2, or NotFound.
func statuspage(s *edition.Snapshot, name string, texts *texts) (File, error) {
	body, known := statuspageBody(s, name, texts)
	if !known {
		return File{}, unknownFile()
	}
	encoded, err := json.Marshal(body)
	return File{Body: encoded}, err
}

// statusFile is any of the files. A member that a file does not have is zero; an empty list is not.
type statusFile struct {
	Page         pageHeader        `json:"page"`
	Components   []statusComponent `json:"components,omitzero"`
	Incidents    []any             `json:"incidents,omitzero"`
	Maintenances []any             `json:"scheduled_maintenances,omitzero"`
	Status       pageStatus        `json:"status,omitzero"`
}

// statuspageBody returns the value of a file, and false for an unknown name.
func statuspageBody(s *edition.Snapshot, name string, texts *texts) (statusFile, bool) {
	file := statusFile{Page: pageHeaderOf(s)}
	events := func(of catalog.EventType, is eventFilter) []any { return eventsOf(s, of, is, texts) }
	switch name {
	case "summary.json":
		file.Components, file.Status = statusComponentsOf(s), pageStatusOf(s)
		file.Incidents, file.Maintenances = events(catalog.Incident, isOpen), events(catalog.Maintenance, isDue)
	case "status.json":
		file.Status = pageStatusOf(s)
	case "components.json":
		file.Components = statusComponentsOf(s)
	case "incidents.json":
		file.Incidents = events(catalog.Incident, isAny)
	case "incidents/unresolved.json":
		file.Incidents = events(catalog.Incident, isOpen)
	case "scheduled-maintenances.json":
		file.Maintenances = events(catalog.Maintenance, isAny)
	case "scheduled-maintenances/active.json":
		file.Maintenances = events(catalog.Maintenance, isActive)
	case "scheduled-maintenances/upcoming.json":
		s := *s
		s.Events = slices.Clone(s.Events)
		slices.Reverse(s.Events) // the next one first
		file.Maintenances = eventsOf(&s, catalog.Maintenance, isUpcoming, texts)
	default:
		return statusFile{}, false
	}
	return file, true
}

// eventFilter reports whether a list contains an event.
type eventFilter func(*edition.Snapshot, *edition.ShownEvent) bool

func isAny(*edition.Snapshot, *edition.ShownEvent) bool { return true }

// isActive and isUpcoming follow from the status alone, as clients compare it: a maintenance that was started is
// active, and one in planning is upcoming.
func isActive(_ *edition.Snapshot, event *edition.ShownEvent) bool {
	return event.Status != catalog.Planning && event.Status != catalog.Completed
}

func isUpcoming(_ *edition.Snapshot, event *edition.ShownEvent) bool {
	return event.Status == catalog.Planning
}

func isDue(s *edition.Snapshot, event *edition.ShownEvent) bool {
	return isActive(s, event) || isUpcoming(s, event)
}

// eventsOf returns the first events of a type that is includes.
func eventsOf(s *edition.Snapshot, of catalog.EventType, is eventFilter, texts *texts) []any {
	components := componentsByID(s)
	list := []any{}
	for i := range s.Events {
		event := &s.Events[i]
		if event.Type == of && is(s, event) && len(list) < maxListed {
			list = append(list, statusEventOf(s, event, components, texts))
		}
	}
	return list
}
