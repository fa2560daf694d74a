package topic

// RecipientQuery asks a service which of its recipients a change concerns.
type RecipientQuery struct {
	Kind       Kind     `json:"kind"`
	Channel    Channel  `json:"channel"`
	Components []string `json:"components"`          // ids of the affected components that may be named
	Endpoints  []int64  `json:"endpoints,omitempty"` // only these legacy ids; empty: every endpoint
	After      string   `json:"after,omitempty"`     // Next of the previous page; empty: the first page
	Limit      int      `json:"limit"`               // at most MaxPage
}

const (
	// MaxPage is the largest Limit of a RecipientQuery. A page of that size has nearly as many recipients in each of the
	// Buckets as a shard may have. Smaller shards cost more per delivery.
	MaxPage = 10_000
	// MaxRecipients is the maximum number of recipients that are resolved in one call.
	MaxRecipients = 5000
)

// Recipient is an endpoint or a subscriber. It never holds an address.
type Recipient struct {
	ID string `json:"id"`
	// Destination is a digest of the URL or address, or of the chat space, to which the receiver's rate limit applies.
	// Recipients that share a limit have the same digest, so they share a bucket.
	Destination string `json:"destination"`
}

// RecipientPage is one page of recipients, ordered by ID.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients"`
	Next       string      `json:"next,omitempty"` // empty on the last page
}

// ResolveQuery asks a service for the destinations of recipients. The kind decides what is sent and where: a message
// about an event goes to an endpoint's URL, a mail about the endpoint goes to its management address.
type ResolveQuery struct {
	Kind    Kind     `json:"kind"`
	Channel Channel  `json:"channel"`
	IDs     []string `json:"ids"` // at most MaxRecipients
}

// VersionQuery asks a service whether the destinations of an organization's recipients may have changed.
type VersionQuery struct {
	Dashboards []string `json:"dashboards"` // ids, at most MaxRecipients
}

// RecipientsVersion is the answer to a VersionQuery. A destination that was resolved after a version was asked for is
// current while the version stays the same, except for its Dashboard.
type RecipientsVersion struct {
	Version    int64       `json:"version"`
	Dashboards []Dashboard `json:"dashboards"` // dashboards of the query that exist
}

// RecipientState says whether messages may be sent to a recipient.
type RecipientState string

// The states of a recipient. Delivery asks for the state right before it sends.
const (
	RecipientActive     RecipientState = "active"
	RecipientPaused     RecipientState = "paused"
	RecipientSuppressed RecipientState = "suppressed"
	RecipientGone       RecipientState = "gone" // deleted, or no longer subscribed
)

// Destination is a resolved recipient: its state and how to reach it. It holds secrets. Delivery never
// logs or stores it, and never publishes it to Kafka.
type Destination struct {
	ID         string         `json:"id"`
	Channel    Channel        `json:"channel"`
	State      RecipientState `json:"state"`
	Dashboard  Dashboard      `json:"dashboard"`
	Components []string       `json:"components"` // ids of the components it subscribed to; nil: all of the dashboard's
	URL        string         `json:"url,omitempty"`
	URLHash    string         `json:"urlHash,omitempty"`
	URLDisplay string         `json:"urlDisplay,omitempty"`
	Paced      string         `json:"paced,omitempty"`   // as Recipient.Destination
	Secrets    []string       `json:"secrets,omitempty"` // signing secrets of a webhook, the newest first
	Address    string         `json:"address,omitempty"` // mail address or phone number
	Locale     string         `json:"locale,omitempty"`  // BCP 47, of the subscriber; empty: the dashboard's
	// Unsubscribe is the URL that unsubscribes with one click (RFC 8058), and Manage that of the page where the subscriber
	// changes the subscription. Both concern one dashboard.
	Unsubscribe string   `json:"unsubscribe,omitempty"`
	Manage      string   `json:"manage,omitempty"`
	Link        string   `json:"link,omitempty"`  // URL that a notice names: it confirms, verifies, or shows an endpoint
	Code        string   `json:"code,omitempty"`  // six digits that confirm a SubscriberConfirm instead of Link
	Names       []string `json:"names,omitempty"` // the components to confirm, or of SubscriberManage the confirmed ones; none: all
}

// Dashboard identifies the dashboard that a message belongs to.
type Dashboard struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	URL      string `json:"url"`
	Timezone string `json:"timezone,omitempty"` // IANA; empty: UTC
	Locale   string `json:"locale,omitempty"`   // BCP 47; empty: en
}
