package topic

// RecipientQuery asks a service for those of its recipients that a change concerns.
type RecipientQuery struct {
	Kind       Kind     `json:"kind"`
	Channel    Channel  `json:"channel"`
	Components []string `json:"components"` // ids of the affected components that messages may name
	// Dashboards contains, by the id of each component, the dashboards that show the component. Only subscribers uses
	// Dashboards. If it is nil, subscribers asks events.
	Dashboards map[string][]string `json:"dashboards,omitempty"`
	// AllOf has the ids of the dashboards of an event without components. The change concerns all recipients of these
	// dashboards. Components is empty then.
	AllOf     []string `json:"allOf,omitempty"`
	Endpoints []int64  `json:"endpoints,omitempty"` // legacy ids of the endpoints to which the query is limited; empty: no limit
	After     string   `json:"after,omitempty"`     // Next of the previous page; empty: the first page
	Limit     int      `json:"limit"`               // at most MaxPage
}

const (
	// MaxPage is the largest Limit of a RecipientQuery. Delivery splits a page into a Shard for each bucket, so a shard of a
	// full page has about 208 recipients. Smaller pages would make smaller shards, which cost more per delivery.
	MaxPage = 10_000
	// MaxRecipients is the maximum number of ids in a ResolveQuery or a VersionQuery.
	MaxRecipients = 5000
)

// Recipient is an endpoint or a subscriber. It never contains an address.
type Recipient struct {
	ID string `json:"id"`
	// Destination is a digest of the thing to which the receiver's rate limit applies: the URL, the address or the
	// chat space. Recipients that share a limit have the same digest, so they are in the same bucket.
	Destination string `json:"destination"`
}

// RecipientPage is one page of recipients. The pages of one query are parts of one list with a fixed order.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients"`
	Next       string      `json:"next,omitempty"` // empty on the last page
}

// RecipientCount is the number of recipients to which a message would be sent.
type RecipientCount struct {
	Recipients int  `json:"recipients"` // at most the Limit of the query
	More       bool `json:"more"`       // there are more than Recipients
}

// ResolveQuery asks a service for the destinations of recipients. The destination depends on Kind: a message about an
// event is sent to an endpoint's URL, a mail about the endpoint to its management address.
type ResolveQuery struct {
	Kind    Kind     `json:"kind"`
	Channel Channel  `json:"channel"`
	IDs     []string `json:"ids"` // at most MaxRecipients
}

// VersionQuery asks a service whether the destinations of an organization's recipients may have changed.
type VersionQuery struct {
	Dashboards []string `json:"dashboards"` // ids, at most MaxRecipients
}

// RecipientsVersion is the response to a VersionQuery. If a caller first asks for the version and then resolves a
// destination, the destination is current until the version changes. The Dashboard of the destination may change
// without a new version.
type RecipientsVersion struct {
	Version    int64       `json:"version"`
	Dashboards []Dashboard `json:"dashboards"` // those dashboards of the query that exist
}

// RecipientState says whether messages may be sent to a recipient.
type RecipientState string

// The states of a recipient. Delivery asks for the state right before it sends.
const (
	RecipientActive      RecipientState = "active"
	RecipientPaused      RecipientState = "paused"
	RecipientSuppressed  RecipientState = "suppressed"
	RecipientUnconfirmed RecipientState = "unconfirmed" // its subscription is not confirmed
	RecipientGone        RecipientState = "gone"        // deleted, or no longer subscribed
)

// Destination is a resolved recipient: its state and the data to reach it. It contains secrets. Delivery never logs
// or stores it, and never publishes it to Kafka.
type Destination struct {
	ID         string         `json:"id"`
	Channel    Channel        `json:"channel"`
	State      RecipientState `json:"state"`
	Dashboard  Dashboard      `json:"dashboard"`
	Components []string       `json:"components"` // ids of the components that the recipient has subscribed to; nil: all components of the dashboard
	URL        string         `json:"url,omitempty"`
	URLHash    string         `json:"urlHash,omitempty"`
	URLDisplay string         `json:"urlDisplay,omitempty"`
	Paced      string         `json:"paced,omitempty"`    // the digest in Recipient.Destination
	Secrets    []string       `json:"secrets,omitempty"`  // signing secrets of a webhook, the newest first
	Format     Format         `json:"format,omitempty"`   // format of a webhook; empty: FormatBellbuoy
	Template   string         `json:"template,omitempty"` // a Template as JSON, with FormatTemplate only
	// MinIntervalMs is the minimum time between two messages to the URL of a webhook: the largest value of the
	// organization's verified webhooks with this URL. 0: none.
	MinIntervalMs int    `json:"minIntervalMs,omitempty"`
	Address       string `json:"address,omitempty"` // mail address or phone number
	Locale        string `json:"locale,omitempty"`  // locale of the subscriber, BCP 47; empty: that of the dashboard
	// Unsubscribe is the URL that unsubscribes with one click (RFC 8058). Manage is the URL of the page on which the
	// subscriber changes the subscription. Both apply to one dashboard.
	Unsubscribe string   `json:"unsubscribe,omitempty"`
	Manage      string   `json:"manage,omitempty"`
	Link        string   `json:"link,omitempty"`  // URL for a notice: it confirms a subscription, verifies or shows an endpoint, or lets a member choose a password
	Code        string   `json:"code,omitempty"`  // six digits that confirm the subscription; a SubscriberConfirm contains them instead of Link
	Names       []string `json:"names,omitempty"` // names of the components to confirm, or for a SubscriberManage of the confirmed components; empty: all components. For a member: the user name
}

// Template is the request to a webhook whose owner has composed it. It contains secrets.
type Template struct {
	Method   string            `json:"method"`
	IDInPath bool              `json:"idInPath"` // the delivery's id is appended to the path
	Headers  map[string]string `json:"headers"`
	Secrets  map[string]string `json:"secrets"` // by the names in the body
	Body     string            `json:"body"`    // template of package bodytemplate
}

// Dashboard identifies the dashboard that a message belongs to.
type Dashboard struct {
	ID       string `json:"id"`
	PublicID string `json:"publicId,omitempty"` // the id that FormatStatuspage shows; empty: ID
	Name     string `json:"name"`
	URL      string `json:"url"`
	Timezone string `json:"timezone,omitempty"` // IANA; empty: UTC
	Locale   string `json:"locale,omitempty"`   // BCP 47; empty: en
}
