package locale

import (
	"html/template"
	"strings"
)

// Event is the input of the templates of mail about an event. The events service has sanitised its HTML. An empty
// field is unknown or does not apply.
type Event struct {
	Kind, Type                              string // words of the interface: maintenance.reminder, maintenance
	Dashboard, Title                        string
	Headline                                string // the status, or what happened, and the title
	Status, Severity                        string // in words
	ScheduledStart, ScheduledEnd            string
	Start, End                              string
	Components                              []Component
	Entry, Description, Impact, Coordinator Prose
	EntryAt                                 string // status and time of the entry
	URL                                     string // address of the event's page
	Manage, Unsubscribe                     string // links of the recipient
}

// Component is an affected component. Impact is in words.
type Component struct{ Name, Group, Impact string }

// Prose is a text in both forms.
type Prose struct {
	Text string
	HTML template.HTML
}

// NewProse returns a text with sanitised HTML.
func NewProse(text, markup string) Prose {
	return Prose{Text: strings.TrimSpace(text), HTML: template.HTML(markup)} //nolint:gosec // the events service sanitised it
}

// Notice is the input of the templates of mail about an endpoint. The texts are in words.
type Notice struct {
	Kind                   string // word of the interface: endpoint.verify
	Dashboard, Title, Lead string
	Facts                  []Fact
	Link, LinkTitle        string
	Next                   []string // what happens next
	Unsubscribe            string   // link that stops the notifications
}

// Fact is a named value.
type Fact struct{ Name, Value string }

// Confirmation is the input of the templates that ask a subscriber to confirm, and of those with the link to the page of a
// subscription, which have neither Code nor Until. Of is the dashboard in words.
type Confirmation struct {
	Dashboard, Of string
	Names         []string // names of the components; none: all components
	Link          string
	Code          string // six digits; only of texts
	Until         string
}

// Text is the input of the templates of texts about an event. Status is the type and the status in words. Text is the
// text of the update.
type Text struct{ Kind, Dashboard, Status, Title, Text, URL string }
