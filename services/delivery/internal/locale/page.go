package locale

import (
	"html/template"
	"strings"
)

// Event is the input of the templates of mail about an event. The events service has sanitised the HTML. A field is
// empty if its value is unknown or does not apply.
type Event struct {
	Kind, Type                              string // values of the API, such as maintenance.reminder and maintenance
	Dashboard, Title                        string
	Headline                                string // the title with the status or with what happened
	Status, Severity                        string // in words
	ScheduledStart, ScheduledEnd            string
	Start, End                              string
	Components                              []Component
	Entry, Description, Impact, Coordinator Prose
	EntryAt                                 string // status and time of the timeline entry
	URL                                     string // address of the event's page
	Manage, Unsubscribe                     string // links of the recipient
}

// Component is an affected component. Impact is in the words of the locale.
type Component struct{ Name, Group, Impact string }

// Prose is a text as plain text and as HTML.
type Prose struct {
	Text string
	HTML template.HTML
}

// NewProse returns a Prose. markup must be sanitised HTML.
func NewProse(text, markup string) Prose {
	return Prose{Text: strings.TrimSpace(text), HTML: template.HTML(markup)} //nolint:gosec // the events service sanitised it
}

// Notice is the input of the templates of mail about an endpoint or a signing key.
type Notice struct {
	Kind                   string // value of the API, such as endpoint.verify
	Dashboard, Title, Lead string
	Facts                  []Fact
	Link, LinkTitle        string
	Next                   []string // sentences about what happens next
	Unsubscribe            string   // link that stops the notifications
	Footer                 string   // why the recipient gets the mail
}

// Member is the input of the templates of mail to a member. These mails are in English, as the console is.
type Member struct {
	Kind                      string // value of the API, such as member.invitation
	Organization, Title, Lead string
	Link, LinkTitle           string
	Next                      []string // sentences about what happens next
}

// Fact is a value with its name, in the words of the locale.
type Fact struct{ Name, Value string }

// Confirmation is the input of the templates for notices to subscribers. The Confirm templates ask the subscriber to confirm.
// The Manage templates contain the link to the page of the subscription. For them Code and Until are empty. Of contains the
// words for the dashboard.
type Confirmation struct {
	Dashboard, Of string
	Names         []string // names of the components; empty: all components
	Link          string
	Code          string // six digits; only for SMS and WhatsApp
	Until         string
}

// Text is the input of the templates of SMS and WhatsApp about an event. Status is the event's type and status in words.
// Text.Text is the text of the timeline entry, or the description of the event if the change has no entry.
type Text struct{ Kind, Dashboard, Status, Title, Text, URL string }
