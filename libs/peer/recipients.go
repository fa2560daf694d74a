package peer

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Concern describes a change to those who know recipients.
type Concern struct {
	Kind       topic.Kind    `json:"kind"`
	Channel    topic.Channel `json:"channel"`
	Components []string      `json:"components"`          // ids of the affected ones that may be told about
	Endpoints  []int64       `json:"endpoints,omitempty"` // only these legacy ids, when any
	After      string        `json:"after,omitempty"`     // the former page's Next
	Limit      int           `json:"limit"`               // at most 5000
}

// Recipient is somebody concerned: an id, and what decides the bucket. Never an address.
type Recipient struct {
	ID string `json:"id"`
	// Destination is a digest of where it lives (urlHash, or a hash of an address),
	// so that recipients behind one receiver share a bucket.
	Destination string `json:"destination"`
}

// RecipientPage is a page of recipients in order of id.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients"`
	Next       string      `json:"next,omitempty"` // empty on the last page
}

// State is whether a destination may be sent to, asked right before sending.
type State string

const (
	Active     State = "active"
	Paused     State = "paused"
	Suppressed State = "suppressed"
	Gone       State = "gone" // deleted, or no longer concerned
)

// Destination is where and how to reach a recipient. It holds secrets: it is
// never logged, stored by delivery or put in Kafka.
type Destination struct {
	ID         string        `json:"id"`
	Channel    topic.Channel `json:"channel"`
	State      State         `json:"state"`
	Dashboard  Dashboard     `json:"dashboard"`  // without its components
	Components []string      `json:"components"` // those it subscribed to; nil: all
	URL        string        `json:"url,omitempty"`
	URLHash    string        `json:"urlHash,omitempty"`
	URLDisplay string        `json:"urlDisplay,omitempty"`
	Secrets    []string      `json:"secrets,omitempty"` // webhook: newest first
	Address    string        `json:"address,omitempty"` // mail address or phone number
	Manage     string        `json:"manage,omitempty"`  // where its owner unsubscribes
}

// Recipients is the client of a service that knows recipients: integrations
// (webhook, teams, gchat) or subscribers (email, sms, whatsapp).
type Recipients struct{ *Client }

// Concerned lists who is to be told, page by page.
func (r Recipients) Concerned(ctx context.Context, organization string, concern Concern) (RecipientPage, error) {
	var out RecipientPage
	err := r.call(ctx, organization, http.MethodPost, organizationPath(organization, "/recipients/concerned"), concern, &out)
	return out, err
}

// Resolve tells where the recipients live now, in the order asked; one that does
// not exist any more comes back with the state Gone.
func (r Recipients) Resolve(ctx context.Context, organization string, ids []string) ([]Destination, error) {
	var out []Destination
	err := r.call(ctx, organization, http.MethodPost, organizationPath(organization, "/recipients/resolve"), ids, &out)
	return out, err
}

// ForgetComponent takes a deleted component from all recipients before its deletion
// is answered. topic.ComponentDeleted, which follows it, is the guarantee.
func (r Recipients) ForgetComponent(ctx context.Context, organization, component string) error {
	return r.call(ctx, organization, http.MethodDelete, organizationPath(organization, "/recipients/components/"+url.PathEscape(component)), nil, nil)
}
