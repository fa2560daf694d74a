// Package topic declares the data that services exchange: the Kafka topics and their messages, and the
// recipients that delivery requests from other services. A Kafka message never contains a secret or a URL
// with a token. Only audit entries contain a recipient's address. Delivery resolves addresses right before it sends.
package topic

import (
	"strconv"
	"time"
)

// Message is a message of one of the topics. A store writes it together with the record whose change it reports, and
// publishes it afterwards.
type Message interface {
	Topic() string
	Key() string // messages of one key are published in order
}

// Placed is a Message that chooses its partition. For other messages the key determines the partition.
type Placed interface {
	Message
	Partition() int
}

// Topic names.
const (
	EventChanges     = "event-changes"     // key: event; events -> delivery
	ComponentChanges = "component-changes" // key: component; events -> subscribers, integrations
	DashboardChanges = "dashboard-changes" // key: dashboard; events -> subscribers, integrations
	Deliveries       = "deliveries"        // key: bucket; delivery (plan) -> delivery (send)
	DeliveryOutcomes = "delivery-outcomes" // key: bucket; delivery -> integrations, subscribers
	Audit            = "audit"             // key: record; every service with records -> identity
	Notices          = "notices"           // key: recipient; integrations, subscribers, identity -> delivery
)

// Buckets is the number of groups of destinations. The topic Deliveries has one partition per bucket, so at most this
// number of processes can share the deliveries.
const Buckets = 48

// Kind is the subject of a message. Messages to receivers contain it.
type Kind string

const (
	IncidentCreated       Kind = "incident.created"
	IncidentUpdated       Kind = "incident.updated"
	IncidentResolved      Kind = "incident.resolved"
	IncidentReopened      Kind = "incident.reopened"
	IncidentPostMortem    Kind = "incident.post_mortem_published"
	MaintenanceScheduled  Kind = "maintenance.scheduled"
	MaintenanceReschedule Kind = "maintenance.rescheduled"
	MaintenanceReminder   Kind = "maintenance.reminder"
	MaintenanceStarted    Kind = "maintenance.started"
	MaintenanceUpdated    Kind = "maintenance.updated"
	MaintenanceCompleted  Kind = "maintenance.completed"
	MaintenanceReopened   Kind = "maintenance.reopened"

	// Kinds of a Notice.
	EndpointTest       Kind = "endpoint.test"
	EndpointVerify     Kind = "endpoint.verify"     // mail with the link that verifies a visitor's endpoint
	EndpointManage     Kind = "endpoint.manage"     // mail with the link to the page of a visitor's endpoint
	EndpointFailing    Kind = "endpoint.failing"    // mail after ALERT_AFTER failures
	EndpointSuppressed Kind = "endpoint.suppressed" // mail after a suppression
	InboundSilent      Kind = "inbound.silent"      // mail that a signing key is not used any more
	SubscriberConfirm  Kind = "subscriber.confirm"  // message with the link or code that confirms a subscription
	SubscriberManage   Kind = "subscriber.manage"   // message with the link to the page of a subscription

	// Kinds of a Notice to a member. All are mails, except a MemberTest by SMS or WhatsApp.
	MemberInvitation     Kind = "member.invitation"      // with the link to choose the first password
	MemberForgotten      Kind = "member.forgotten"       // with the link to choose another password
	MemberPassword       Kind = "member.password"        // the password was changed
	MemberAddress        Kind = "member.address"         // the address was changed; also sent to the former address
	MemberKey            Kind = "member.key"             // a key was created
	MemberTOTPAdded      Kind = "member.totp_added"      // an authenticator app was added
	MemberTOTPRemoved    Kind = "member.totp_removed"    // the authenticator app was removed
	MemberRecoveryCodes  Kind = "member.recovery_codes"  // there are new recovery codes
	MemberPasskeyAdded   Kind = "member.passkey_added"   // a passkey was added
	MemberPasskeyRemoved Kind = "member.passkey_removed" // a passkey was removed
	MemberReset          Kind = "member.reset"           // an admin removed the second factors
	MemberSignOn         Kind = "member.sign_on"         // the member can sign in by single sign-on
	MemberTest           Kind = "member.test"            // the member tests a channel
)

// Kinds returns every kind that an endpoint may choose, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		IncidentCreated, IncidentUpdated, IncidentResolved, IncidentReopened, IncidentPostMortem,
		MaintenanceScheduled, MaintenanceReschedule, MaintenanceReminder, MaintenanceStarted,
		MaintenanceUpdated, MaintenanceCompleted, MaintenanceReopened,
	}
}

// MemberKinds returns every kind of a Notice to a member.
func MemberKinds() []Kind {
	return []Kind{
		MemberInvitation, MemberForgotten, MemberPassword, MemberAddress, MemberKey, MemberTOTPAdded, MemberTOTPRemoved,
		MemberRecoveryCodes, MemberPasskeyAdded, MemberPasskeyRemoved, MemberReset, MemberSignOn, MemberTest,
	}
}

// EventChange reports that an event was created, changed or deleted. It contains all data of the event that messages
// need, in the state right after the change.
type EventChange struct {
	ID           string    `json:"id"` // UUID v7, the same for every publication
	Kind         Kind      `json:"kind"`
	Organization string    `json:"organization"`
	OccurredAt   time.Time `json:"occurredAt"`
	Sequence     int64     `json:"sequence"` // increases with every message about the event
	Event        Event     `json:"event"`
	Entry        *Entry    `json:"entry,omitempty"` // the timeline entry of the change
	Notify       Notify    `json:"notify"`          // the channels to notify; empty: none
	Silence      Silence   `json:"silence,omitempty"`
}

// Silence says why nobody is notified of a change that could have a message. It is empty for a change that notifies a
// channel, and for a change that never has a message, such as a note, a correction or a deletion.
type Silence string

// The reasons of a Silence.
const (
	SilentRequest    Silence = "notify_off"        // the request chose no channel; for the scheduler, the last request that chose channels for the scheduler chose none
	SilentDraft      Silence = "draft"             // the event is a draft
	SilentBackdated  Silence = "backdated"         // by default nobody is notified of an event that began long ago, or of an entry about a time long ago
	SilentLegacy     Silence = "legacy"            // by default a write on the legacy interface notifies nobody
	SilentLate       Silence = "late_reminder"     // the planned start has passed before the reminder
	SilentComponents Silence = "components_hidden" // messages may name none of the components, or the dashboards of an event without components were deleted
)

// Event is an event in the state right after a change. Times are in UTC with milliseconds.
type Event struct {
	ID               string      `json:"id"`
	LegacyID         int64       `json:"legacyId"`
	PublicID         string      `json:"publicId,omitempty"` // the id that FormatStatuspage shows; empty: ID
	Type             string      `json:"type"`               // incident or maintenance
	Title            string      `json:"title"`
	DescriptionText  string      `json:"descriptionText"`
	DescriptionHTML  string      `json:"descriptionHtml"`
	ImpactText       string      `json:"impactText,omitempty"`
	ImpactHTML       string      `json:"impactHtml,omitempty"`
	CoordinatorText  string      `json:"coordinatorText,omitempty"`
	CoordinatorHTML  string      `json:"coordinatorHtml,omitempty"`
	Status           string      `json:"status"`
	PreviousStatus   string      `json:"previousStatus,omitempty"`
	Severity         string      `json:"severity,omitempty"`
	CreatedAt        time.Time   `json:"createdAt,omitzero"`
	StartAt          time.Time   `json:"startAt"`
	EndAt            *time.Time  `json:"endAt,omitempty"`
	ScheduledStartAt *time.Time  `json:"scheduledStartAt,omitempty"`
	ScheduledEndAt   *time.Time  `json:"scheduledEndAt,omitempty"`
	Hidden           bool        `json:"hidden,omitempty"` // dashboards do not show the event, so messages have no link
	Components       []Component `json:"components"`       // the affected components that messages may name
	// Dashboards has the ids of the dashboards of an event without components. Such an event concerns all recipients of
	// these dashboards.
	Dashboards []string `json:"dashboards,omitempty"`
	// Places has the id of each dashboard of the components once. Component.PlacedOn has indexes in Places. Only the
	// result of Compact has both.
	Places []string `json:"places,omitempty"`
}

// EventState is the part of an event's current state that messages may show. It decides whether a message about an
// earlier change is still sent.
type EventState struct {
	Type       string    `json:"type,omitempty"` // incident or maintenance
	CreatedAt  time.Time `json:"createdAt,omitzero"`
	Published  bool      `json:"published"`  // false: the event is a draft, about which nobody is notified
	Components []string  `json:"components"` // ids of the affected components that messages may name
	// Dashboards contains, by the id of each component, the dashboards that show the component. Nil: unknown.
	Dashboards map[string][]string `json:"dashboards"`
	// ShownOn has the ids of the dashboards that show the event: the dashboards of its Components, or the dashboards of
	// the event if it has no components. Nil: unknown.
	ShownOn []string `json:"shownOn"`
}

// Component is an affected component and the dashboards that show it.
type Component struct {
	ID         string   `json:"id"`
	PublicID   string   `json:"publicId,omitempty"` // the id that FormatStatuspage shows; empty: ID
	Name       string   `json:"name"`
	Group      string   `json:"group"`
	Impact     string   `json:"impact"`
	Worst      string   `json:"worst,omitempty"`  // the worst impact during the whole event
	Hidden     bool     `json:"hidden,omitempty"` // dashboards do not show the component
	Dashboards []string `json:"dashboards"`
	PlacedOn   []int    `json:"placedOn,omitempty"` // indexes in Event.Places, in place of Dashboards; see Compact
}

// Entry is a timeline entry.
type Entry struct {
	StatusID  string    `json:"statusId"`
	PublicID  string    `json:"publicId,omitempty"` // the id that FormatStatuspage shows; empty: StatusID
	Status    string    `json:"status"`
	Timestamp time.Time `json:"timestamp"`
	Text      string    `json:"text"`
	HTML      string    `json:"html"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	// Impacts are the changes of the impacts on Event.Components.
	Impacts []ImpactChange `json:"impacts,omitempty"`
}

// ImpactChange is the change of the impact on a component.
type ImpactChange struct {
	ComponentID string `json:"componentId"`
	Before      string `json:"before"`
	Impact      string `json:"impact"`
}

// PageStatus is the state of a dashboard, in the words of the read interface of Statuspage.
type PageStatus struct {
	Indicator   string `json:"indicator"` // none, minor, major, critical or maintenance
	Description string `json:"description"`
}

// Notify contains the channels to notify, each with its Wording.
type Notify map[Channel]Wording

// Wording is the publisher's text for one channel. For a zero field the channel uses its own text.
type Wording struct {
	Subject   string  `json:"subject,omitempty"`   // email
	Text      string  `json:"text,omitempty"`      // sms, microblog
	Message   string  `json:"message,omitempty"`   // chats
	Details   bool    `json:"details,omitempty"`   // chats: show all fields of the event
	Color     string  `json:"color,omitempty"`     // teams: # and 3 or 6 hex digits
	Endpoints []int64 `json:"endpoints,omitempty"` // legacy ids of the only endpoints to notify; empty: all endpoints that the change concerns
	// SkippedAs is the channel whose delivery is logged as skipped if the change concerns no recipient; empty: none.
	SkippedAs Channel `json:"skippedAs,omitempty"`
}

// Topic implements topic.Message.
func (EventChange) Topic() string { return EventChanges }

// Key returns the id of the event, so that its changes are consumed in order.
func (c EventChange) Key() string { return c.Event.ID }

// ComponentDeleted reports that a component was deleted, so that services delete their references.
type ComponentDeleted struct {
	Organization string    `json:"organization"`
	ComponentID  string    `json:"componentId"`
	LegacyID     int64     `json:"legacyId"`
	OccurredAt   time.Time `json:"occurredAt"`
}

// Topic implements topic.Message.
func (ComponentDeleted) Topic() string { return ComponentChanges }

// Key returns the id of the component, so that its changes are consumed in order.
func (c ComponentDeleted) Key() string { return c.ComponentID }

// DashboardDeleted reports that a dashboard was deleted, so that services delete their records of it.
type DashboardDeleted struct {
	Organization string    `json:"organization"`
	DashboardID  string    `json:"dashboardId"`
	OccurredAt   time.Time `json:"occurredAt"`
}

// Topic implements topic.Message.
func (DashboardDeleted) Topic() string { return DashboardChanges }

// Key returns the id of the dashboard, so that its changes are consumed in order.
func (d DashboardDeleted) Key() string { return d.DashboardID }

// Shard is a group of recipients of one change, in one bucket and on one channel.
type Shard struct {
	ID           string           `json:"id"` // derived from the change, channel, bucket and page, so that it is the same if the shard is planned again
	ChangeID     string           `json:"changeId"`
	Organization string           `json:"organization"`
	Channel      Channel          `json:"channel"`
	Service      RecipientService `json:"keeper,omitempty"` // the Service of a Notice; empty: the service of the channel
	Bucket       int              `json:"bucket"`
	Recipients   []string         `json:"recipients"` // ids, at most 256
	// Replay is the id of a stored delivery that a user wants to send: a replay or a test mail. The shard then has one recipient.
	Replay string `json:"replay,omitempty"`
}

// Topic implements topic.Message.
func (Shard) Topic() string { return Deliveries }

// Key returns the bucket.
func (s Shard) Key() string { return strconv.Itoa(s.Bucket) }

// Partition implements Placed.
func (s Shard) Partition() int { return s.Bucket }

// Result is the result of a delivery.
type Result string

const (
	Delivered  Result = "delivered"
	Failed     Result = "failed"
	Skipped    Result = "skipped"
	Suppressed Result = "suppressed"
)

// Outcome reports the result of a delivery to the service that stores the recipient. It may be published more than
// once, so consumers deduplicate by DeliveryID.
//
// An outcome with Successes reports deliveries of one change that succeeded at the first attempt. Its DeliveryID,
// Recipient, URLHash, HTTPStatus and At are empty. The function Each converts it to one outcome per delivery.
type Outcome struct {
	Bucket       int       `json:"bucket"` // bucket of the destination
	DeliveryID   string    `json:"deliveryId"`
	Organization string    `json:"organization"`
	Channel      Channel   `json:"channel"`
	Recipient    string    `json:"recipient"`
	URLHash      string    `json:"urlHash,omitempty"` // hash of the URL of the last attempt
	EventID      string    `json:"eventId"`
	EventKind    Kind      `json:"eventKind"`
	Result       Result    `json:"result"`
	Attempts     int       `json:"attempts"`
	HTTPStatus   int       `json:"httpStatus,omitempty"`
	ErrorCode    string    `json:"errorCode,omitempty"`
	Gone         bool      `json:"gone,omitempty"` // the receiver will never accept a message again
	At           time.Time `json:"at"`
	Successes    []Success `json:"successes,omitempty"`
}

// Success is one of the deliveries in Outcome.Successes.
type Success struct {
	DeliveryID string    `json:"deliveryId"`
	Recipient  string    `json:"recipient"`
	URLHash    string    `json:"urlHash,omitempty"`
	HTTPStatus int       `json:"httpStatus,omitempty"`
	At         time.Time `json:"at"`
}

// Each returns outcomes with one delivery each, in the order of outcomes.
func Each(outcomes []Outcome) []Outcome {
	out := make([]Outcome, 0, len(outcomes))
	for _, o := range outcomes {
		out = append(out, o.each()...)
	}
	return out
}

func (o Outcome) each() []Outcome {
	if len(o.Successes) == 0 {
		return []Outcome{o}
	}
	out := make([]Outcome, len(o.Successes))
	for i, s := range o.Successes {
		one := o
		one.Successes = nil
		one.DeliveryID, one.Recipient, one.URLHash, one.HTTPStatus, one.At = s.DeliveryID, s.Recipient, s.URLHash, s.HTTPStatus, s.At
		out[i] = one
	}
	return out
}

// Topic implements topic.Message.
func (Outcome) Topic() string { return DeliveryOutcomes }

// Key returns the bucket, so that the outcomes of one recipient are consumed in order. A recipient is always in the
// same bucket, unless its URL or address changes.
func (o Outcome) Key() string { return strconv.Itoa(o.Bucket) }
