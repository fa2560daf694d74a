// Package lines is the interchange format: a file of JSON lines, each a record of a status page. Package source reads
// other products into this format.
//
// Decisions: The kind is the first member of a line, and the kinds have one order, so that a program can read the file
// once from start to end: a line refers to earlier lines only. Decoding is strict, because a member that is ignored is
// a loss that nobody sees. A record that is refused becomes a warning, and the other records stay.
package lines

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
)

// Limits of a file.
const (
	MaxFile   = 256 << 20 // bytes
	MaxLine   = 1 << 20   // bytes
	MaxEvents = 100_000
	// MaxWarnings is the maximum number of warnings of a set, and of refused lines of a file.
	MaxWarnings = 10_000
)

// Set is the content of a file. The kinds are in the order of the file.
type Set struct {
	Dashboards  []Dashboard
	Components  []Component
	Events      []Event
	Subscribers []Subscriber
	Endpoints   []Endpoint
	Warnings    []Warning
}

// Dashboard has the members of POST /app/dashboards.
type Dashboard struct {
	Kind           string            `json:"kind"`
	Key            string            `json:"key"`
	Name           string            `json:"name"`
	Slug           string            `json:"slug,omitzero"`
	Enabled        *bool             `json:"enabled,omitzero"`
	Description    string            `json:"description,omitzero"`
	Timezone       string            `json:"timezone,omitzero"`
	Locale         string            `json:"locale,omitzero"`
	CustomDomains  []string          `json:"customDomains,omitzero"`
	Branding       *Branding         `json:"branding,omitzero"`
	Links          *Links            `json:"links,omitzero"`
	Subscriptions  map[string]bool   `json:"subscriptions,omitzero"`
	SearchIndexing *bool             `json:"searchIndexing,omitzero"`
	Access         *Access           `json:"access,omitzero"`
	PublicID       string            `json:"publicId,omitzero"`
	GroupPublicIDs map[string]string `json:"groupPublicIds,omitzero"` // public id by the name of the group
	Aliases        map[string]string `json:"aliases,omitzero"`        // by former path: path of the dashboard's file to which the former path leads
}

// Branding is the look of a dashboard.
type Branding struct {
	FaviconURL   string `json:"faviconUrl,omitzero"`
	LogoURL      string `json:"logoUrl,omitzero"`
	PrimaryColor string `json:"primaryColor,omitzero"`
	Theme        string `json:"theme,omitzero"`
}

// Links are the links of a dashboard.
type Links struct {
	HomepageURL string       `json:"homepageUrl,omitzero"`
	SupportURL  string       `json:"supportUrl,omitzero"`
	Navigation  []Navigation `json:"navigation,omitzero"`
}

// Navigation is a link in the head of a dashboard.
type Navigation struct {
	Text string `json:"text"`
	Href string `json:"href"`
}

// Access says who may open a dashboard. No line has a password.
type Access struct {
	Mode       string   `json:"mode"`
	AllowedIPs []string `json:"allowedIps,omitzero"`
}

// Component has the members of POST /app/components, and the override that PATCH sets. DashboardIDs contains keys of
// dashboards.
type Component struct {
	Kind                    string          `json:"kind"`
	Key                     string          `json:"key"`
	Name                    string          `json:"name"`
	Description             string          `json:"description,omitzero"`
	GroupName               string          `json:"groupName,omitzero"`
	Position                *int            `json:"position,omitzero"`
	Hidden                  bool            `json:"hidden,omitzero"`
	HiddenFromNotifications bool            `json:"hiddenFromNotifications,omitzero"`
	StartAt                 *time.Time      `json:"startAt,omitzero"`
	ExternalRefs            []string        `json:"externalRefs,omitzero"`
	DashboardIDs            []string        `json:"dashboardIds,omitzero"`
	StatusOverride          *StatusOverride `json:"statusOverride,omitzero"`
	CheckURL                string          `json:"checkUrl,omitzero"`
	PublicID                string          `json:"publicId,omitzero"`
	Aliases                 []string        `json:"aliases,omitzero"`
}

// StatusOverride is a state that a person set.
type StatusOverride struct {
	Status        string     `json:"status"`
	Until         *time.Time `json:"until,omitzero"`
	CountInUptime bool       `json:"countInUptime,omitzero"`
}

// Event has the members of POST /app/events, with its whole timeline. Components contains keys of components, and
// DashboardIDs keys of dashboards.
type Event struct {
	Kind                    string      `json:"kind"`
	Key                     string      `json:"key"`
	Type                    string      `json:"type"`
	Title                   string      `json:"title"`
	Status                  string      `json:"status"`
	Severity                string      `json:"severity,omitzero"`
	HTML                    string      `json:"html,omitzero"`
	ImpactAnalysis          string      `json:"impactAnalysis,omitzero"`
	Coordinator             string      `json:"coordinator,omitzero"`
	CreatedAt               *time.Time  `json:"createdAt,omitzero"`
	StartAt                 *time.Time  `json:"startAt,omitzero"`
	EndAt                   *time.Time  `json:"endAt,omitzero"`
	ScheduledStartAt        *time.Time  `json:"scheduledStartAt,omitzero"`
	ScheduledEndAt          *time.Time  `json:"scheduledEndAt,omitzero"`
	AutoStart               bool        `json:"autoStart,omitzero"`
	AutoEnd                 bool        `json:"autoEnd,omitzero"`
	ReminderMinutes         []int       `json:"reminderMinutes,omitzero"`
	NotifyLater             any         `json:"notifyLater,omitzero"` // true, false, or channels
	Publish                 *bool       `json:"publish,omitzero"`
	HiddenFromDashboard     bool        `json:"hiddenFromDashboard,omitzero"`
	HiddenFromUptimeReports bool        `json:"hiddenFromUptimeReports,omitzero"`
	ExternalID              string      `json:"externalId,omitzero"`
	Components              []Affected  `json:"components,omitzero"`
	DashboardIDs            []string    `json:"dashboardIds,omitzero"`
	Timeline                []Entry     `json:"timeline,omitzero"` // oldest first
	PostMortem              *PostMortem `json:"postMortem,omitzero"`
	Notes                   []string    `json:"notes,omitzero"`
	PublicID                string      `json:"publicId,omitzero"`
	Aliases                 []string    `json:"aliases,omitzero"`
}

// Affected is a component of an event. Key is the key of the component.
type Affected struct {
	Key    string `json:"key"`
	Impact string `json:"impact,omitzero"`
}

// Entry is an entry of a timeline.
type Entry struct {
	Key      string            `json:"key"`
	At       time.Time         `json:"at"`
	Status   string            `json:"status"` // status of the event from then on, or update
	HTML     string            `json:"html"`
	Impacts  map[string]string `json:"impacts,omitzero"` // by the key of the component
	PublicID string            `json:"publicId,omitzero"`
}

// PostMortem is the text about an event after its end. All its texts are HTML, except those of ActionItems.
type PostMortem struct {
	HTML           string       `json:"html"`
	RootCause      string       `json:"rootCause,omitzero"`
	Impact         string       `json:"impact,omitzero"`
	Resolution     string       `json:"resolution,omitzero"`
	LessonsLearned string       `json:"lessonsLearned,omitzero"`
	ActionItems    []ActionItem `json:"actionItems,omitzero"`
	PublishedAt    *time.Time   `json:"publishedAt,omitzero"`
}

// ActionItem is what somebody will do after an event.
type ActionItem struct {
	Text    string `json:"text"`
	Owner   string `json:"owner,omitzero"`
	DueDate string `json:"dueDate,omitzero"` // YYYY-MM-DD
	Done    bool   `json:"done,omitzero"`
}

// Subscriber is a recipient of messages. nil Components means all components. DashboardID is the key of a dashboard.
// Without it, the subscriber belongs to the dashboard of the components.
type Subscriber struct {
	Kind        string     `json:"kind"`
	Key         string     `json:"key"`
	DashboardID string     `json:"dashboardId,omitzero"`
	Channel     string     `json:"channel"`
	Address     string     `json:"address"`
	Components  []string   `json:"components"`
	State       string     `json:"state"`
	ConfirmedAt *time.Time `json:"confirmedAt,omitzero"`
	Locale      string     `json:"locale,omitzero"`
}

// Endpoint is a URL that receives messages. nil Components means all components. DashboardID is the key of a dashboard.
// Without it, the endpoint belongs to the dashboard of the components.
type Endpoint struct {
	Kind            string   `json:"kind"`
	Key             string   `json:"key"`
	DashboardID     string   `json:"dashboardId,omitzero"`
	Channel         string   `json:"channel"`
	URL             string   `json:"url"`
	ManagementEmail string   `json:"managementEmail,omitzero"`
	Components      []string `json:"components"`
	Format          string   `json:"format,omitzero"`
}

// Warning says what was lost or changed on the way into the file. Key names the record in the source. The record may be
// missing in the file.
type Warning struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Field string `json:"field,omitzero"`
	Text  string `json:"text"`
	Name  string `json:"-"` // name or title of a refused record, for the person who reads the warning
}

// Name returns the name, title or address of a record. record is a pointer such as *Event. For an endpoint, Name returns an
// empty text.
func Name(record any) string {
	switch r := record.(type) {
	case *Dashboard:
		return r.Name
	case *Component:
		return r.Name
	case *Event:
		return r.Title
	case *Subscriber:
		return r.Address
	}
	return ""
}

// Warn adds a warning. After MaxWarnings warnings, it adds only one more, which says that the other warnings are left out.
func (s *Set) Warn(key, field, text string) { s.warn(Warning{Key: key, Field: field, Text: text}) }

func (s *Set) warn(w Warning) {
	if len(s.Warnings) == MaxWarnings {
		w = Warning{Key: "lines:warnings:more", Text: fmt.Sprintf("there are more than %d warnings; the others are left out", MaxWarnings)}
	}
	if len(s.Warnings) <= MaxWarnings {
		s.Warnings = append(s.Warnings, w)
	}
}

// Write writes the lines in their order.
func (s *Set) Write(w io.Writer) error {
	for i := range s.Dashboards {
		s.Dashboards[i].Kind = "dashboard"
	}
	for i := range s.Components {
		s.Components[i].Kind = "component"
	}
	for i := range s.Events {
		s.Events[i].Kind = "event"
	}
	for i := range s.Subscribers {
		s.Subscribers[i].Kind = "subscriber"
	}
	for i := range s.Endpoints {
		s.Endpoints[i].Kind = "endpoint"
	}
	for i := range s.Warnings {
		s.Warnings[i].Kind = "warning"
	}
	for _, write := range []func(io.Writer) error{
		all(s.Dashboards), all(s.Components), all(s.Events), all(s.Subscribers), all(s.Endpoints), all(s.Warnings),
	} {
		if err := write(w); err != nil {
			return err
		}
	}
	return nil
}

func all[T any](records []T) func(io.Writer) error {
	return func(w io.Writer) error {
		for i := range records {
			line, err := marshal(&records[i])
			if err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}
}

// marshal returns the line of a record with its line break. Maps have the order of their keys, so equal records give
// equal lines.
func marshal(record any) ([]byte, error) {
	var out bytes.Buffer
	err := json.MarshalWrite(&out, record, json.FormatNilSliceAsNull(true), json.Deterministic(true))
	out.WriteByte('\n')
	return out.Bytes(), err
}
