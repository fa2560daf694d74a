// Package topic is the contract of what the services say to each other through
// Kafka: the topics, and the messages in them as JSON. A message never holds a
// secret, a recipient's address or a tokenised URL; those are resolved right
// before sending.
package topic

import (
	"strconv"
	"time"
)

// Message is a message of one of the topics. A store saves it in the same write as the record
// whose change it reports, and publishes it afterwards.
type Message interface {
	Topic() string
	Key() string // messages of one key are published in order
}

// Topic names.
const (
	EventChanges     = "event-changes"     // key: event; events -> delivery
	ComponentChanges = "component-changes" // key: component; events -> subscribers, integrations
	Deliveries       = "deliveries"        // key: bucket; delivery plans -> delivery sends
	DeliveryOutcomes = "delivery-outcomes" // key: recipient; delivery -> integrations, subscribers
)

// Buckets is how many groups destinations are divided into; the topic of
// deliveries has a partition for each, so this is also how far delivery scales out.
const Buckets = 48

// Kind names what happened to an event, as receivers are told.
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
	EndpointTest          Kind = "endpoint.test"
)

// Kinds lists every kind a receiver may choose, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		IncidentCreated, IncidentUpdated, IncidentResolved, IncidentReopened, IncidentPostMortem,
		MaintenanceScheduled, MaintenanceReschedule, MaintenanceReminder, MaintenanceStarted,
		MaintenanceUpdated, MaintenanceCompleted, MaintenanceReopened, EndpointTest,
	}
}

// EventChange tells that an event was created, changed or deleted, with all that
// receivers are told of it: what is sent is what was true at the change.
type EventChange struct {
	ID           string    `json:"id"`   // uuid v7, the same however often it is published
	Kind         Kind      `json:"kind"` //
	Organization string    `json:"organization"`
	OccurredAt   time.Time `json:"occurredAt"`
	Sequence     int64     `json:"sequence"` // grows with every change of the event
	Event        Event     `json:"event"`
	Entry        *Entry    `json:"entry,omitempty"` // the timeline entry that came with it
	Notify       Notify    `json:"notify"`          // whom to tell; nobody when empty
}

// Event is an event as of a change. Times are UTC with milliseconds.
type Event struct {
	ID               string      `json:"id"`
	LegacyID         int64       `json:"legacyId"`
	Type             string      `json:"type"` // incident or maintenance
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
	StartAt          time.Time   `json:"startAt"`
	EndAt            *time.Time  `json:"endAt,omitempty"`
	ScheduledStartAt *time.Time  `json:"scheduledStartAt,omitempty"`
	ScheduledEndAt   *time.Time  `json:"scheduledEndAt,omitempty"`
	Components       []Component `json:"components"` // those that may be told about
}

// Component is an affected component and the dashboards that show it.
type Component struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Group      string   `json:"group"`
	Impact     string   `json:"impact"`
	Dashboards []string `json:"dashboards"`
}

// Entry is a timeline entry.
type Entry struct {
	StatusID  string    `json:"statusId"`
	Status    string    `json:"status"`
	Timestamp time.Time `json:"timestamp"`
	Text      string    `json:"text"`
	HTML      string    `json:"html"`
}

// Notify holds an element for every channel to be told, keyed by channel.
type Notify map[Channel]Wording

// Wording is what the publisher wants said on one channel; zero values mean the
// channel's own text.
type Wording struct {
	Subject   string  `json:"subject,omitempty"`   // email
	Text      string  `json:"text,omitempty"`      // sms, microblog
	Message   string  `json:"message,omitempty"`   // chats
	Details   bool    `json:"details,omitempty"`   // chats: all of the event
	Color     string  `json:"color,omitempty"`     // teams: # and 3 or 6 hex digits
	Endpoints []int64 `json:"endpoints,omitempty"` // only these endpoints' legacy ids; empty: all concerned
}

// Topic implements topic.Message.
func (EventChange) Topic() string { return EventChanges }

// Key keeps the changes of one event in order.
func (c EventChange) Key() string { return c.Event.ID }

// ComponentDeleted tells that a component is gone, so that what refers to it goes too.
type ComponentDeleted struct {
	Organization string    `json:"organization"`
	ComponentID  string    `json:"componentId"`
	LegacyID     int64     `json:"legacyId"`
	OccurredAt   time.Time `json:"occurredAt"`
}

// Topic implements topic.Message.
func (ComponentDeleted) Topic() string { return ComponentChanges }

// Key keeps the changes of one component in order.
func (c ComponentDeleted) Key() string { return c.ComponentID }

// Shard is a part of one change's work: recipients of one bucket and channel.
type Shard struct {
	ID           string   `json:"id"` // uuid v5 of change, channel, bucket and page: planning again makes the same
	ChangeID     string   `json:"changeId"`
	Organization string   `json:"organization"`
	Channel      Channel  `json:"channel"`
	Bucket       int      `json:"bucket"`
	Recipients   []string `json:"recipients"` // ids, at most 256
}

// Topic implements topic.Message.
func (Shard) Topic() string { return Deliveries }

// Key is the bucket, which is also the partition's number.
func (s Shard) Key() string { return strconv.Itoa(s.Bucket) }

// Result is how a delivery ended.
type Result string

const (
	Delivered  Result = "delivered"
	Failed     Result = "failed"
	Skipped    Result = "skipped"
	Suppressed Result = "suppressed"
)

// Outcome tells the owner of a recipient how a delivery ended, once per delivery
// but possibly told again: receivers of it deduplicate by DeliveryID.
type Outcome struct {
	DeliveryID   string    `json:"deliveryId"`
	Organization string    `json:"organization"`
	Channel      Channel   `json:"channel"`
	Recipient    string    `json:"recipient"`
	URLHash      string    `json:"urlHash,omitempty"` // of an endpoint: what the last attempt went to
	EventID      string    `json:"eventId"`
	Result       Result    `json:"result"`
	Attempts     int       `json:"attempts"`
	HTTPStatus   int       `json:"httpStatus,omitempty"`
	ErrorCode    string    `json:"errorCode,omitempty"`
	Gone         bool      `json:"gone,omitempty"` // the receiver said it will never accept again
	At           time.Time `json:"at"`
}

// Topic implements topic.Message.
func (Outcome) Topic() string { return DeliveryOutcomes }

// Key keeps the outcomes of one recipient in order.
func (o Outcome) Key() string { return o.Recipient }
