package site

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// The files below api/v2 have the format of the read interface of Statuspage, version 2. Their words are English in
// every locale, because clients compare them. Each object has all of its keys. The value of a key is null if it is
// unknown.

const (
	// maxListed is the maximum number of events in a list.
	maxListed = 50
	// stampFormat has milliseconds, because clients of Statuspage require a fraction.
	stampFormat = "2006-01-02T15:04:05.000Z07:00"
)

// stamp formats a time. It returns nil for nil and for the zero time.
func stamp(t *time.Time) *string {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(stampFormat))
}

// pageHeader is the JSON member "page", which every file of the Statuspage interface has. UpdatedAt is the time of the snapshot.
type pageHeader struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	URL       string  `json:"url"`
	TimeZone  string  `json:"time_zone"`
	UpdatedAt *string `json:"updated_at"`
}

func pageHeaderOf(s *edition.Snapshot) pageHeader {
	return pageHeader{ID: pageID(s), Name: richtext.Line(s.Dashboard.Name), URL: s.URL, TimeZone: s.Dashboard.Timezone, UpdatedAt: stamp(&s.At)}
}

// pageID returns the id of the dashboard that the files show.
func pageID(s *edition.Snapshot) string {
	return catalog.ShownID(s.Dashboard.PublicID, s.Dashboard.ID)
}

// statuspage returns the file with the given name below api/v2, or NotFound.
func statuspage(s *edition.Snapshot, name string, texts *texts) (File, error) {
	body, known := statuspageBody(s, name, texts)
	if !known {
		return File{}, unknownFile()
	}
	encoded, err := json.Marshal(body)
	return File{Body: encoded}, err
}

// statusFile is the content of one of the files. A member that the file does not have is zero, and is left out. A list
// that is empty but not nil is written.
type statusFile struct {
	Page         pageHeader        `json:"page"`
	Components   []statusComponent `json:"components,omitzero"`
	Incidents    []any             `json:"incidents,omitzero"`
	Maintenances []any             `json:"scheduled_maintenances,omitzero"`
	Status       pageStatus        `json:"status,omitzero"`
}

// statuspageBody returns the content of a file. It returns false for an unknown name.
func statuspageBody(s *edition.Snapshot, name string, texts *texts) (statusFile, bool) {
	file := statusFile{Page: pageHeaderOf(s)}
	events := func(of catalog.EventType, is eventFilter) []any { return eventsOf(s, of, is, texts) }
	switch name {
	case "summary.json":
		file.Components, file.Status = statusComponentsOf(s), pageStatusOf(s)
		file.Incidents, file.Maintenances = events(catalog.Incident, isOpen), events(catalog.Maintenance, dueOf(s))
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
		slices.Reverse(s.Events) // the earliest start first
		file.Maintenances = eventsOf(&s, catalog.Maintenance, isUpcoming, texts)
	default:
		return statusFile{}, false
	}
	return file, true
}

// eventFilter reports whether an event belongs in a list.
type eventFilter func(*edition.Snapshot, *edition.ShownEvent) bool

func isAny(*edition.Snapshot, *edition.ShownEvent) bool { return true }

// isActive reports whether a maintenance was started and is not completed. isActive and isUpcoming depend on the status
// only and not on times, because clients compare their results with the status.
func isActive(_ *edition.Snapshot, event *edition.ShownEvent) bool {
	return event.Status != catalog.Planning && event.Status != catalog.Completed
}

func isUpcoming(_ *edition.Snapshot, event *edition.ShownEvent) bool {
	return event.Status == catalog.Planning
}

// dueOf returns the filter of active and upcoming maintenances. If there are more than maxListed, it leaves out the upcoming
// ones that start last, which are the first of s.Events.
func dueOf(s *edition.Snapshot) eventFilter {
	surplus := -maxListed
	for i := range s.Events {
		if s.Events[i].Type == catalog.Maintenance && s.Events[i].Status != catalog.Completed {
			surplus++
		}
	}
	return func(s *edition.Snapshot, event *edition.ShownEvent) bool {
		if isUpcoming(s, event) && surplus > 0 {
			surplus--
			return false
		}
		return event.Status != catalog.Completed
	}
}

// eventsOf returns the first maxListed events of a type for which is returns true.
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
