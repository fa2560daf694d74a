package topic

import "time"

// InboundMessage is a message of a monitoring tool with a valid signature. It is about one problem. ExternalID is the
// tool's id of the problem.
type InboundMessage struct {
	ID        string `json:"id"`        // webhook-id
	KeyID     string `json:"keyId"`     // id of the signing key
	KeyName   string `json:"keyName"`   // shown as the author of the changes
	IP        string `json:"ip"`        // address of the client
	RequestID string `json:"requestId"` // id of the client's request

	Action          string            `json:"action"` // trigger, update or resolve
	ExternalID      string            `json:"externalId"`
	Title           string            `json:"title"`
	Description     string            `json:"description"`
	Message         *string           `json:"message"`
	Status          string            `json:"status"`
	Severity        *string           `json:"severity"`        // empty: none; nil: not sent
	DefaultSeverity string            `json:"defaultSeverity"` // severity of a new event if none is sent
	Components      []string          `json:"components"`      // ids or external references
	Named           *ComponentName    `json:"named,omitempty"` // identifies the component if the organization does not know an id or reference in Components
	Impact          string            `json:"impact"`
	Timestamp       *time.Time        `json:"timestamp"`
	Publish         bool              `json:"publish"`
	Notify          *map[Channel]bool `json:"notify"` // nil: the default
	// ReceivedAt is the time at which the problem, or its end, was first reported. It is set if the message has waited
	// before it is applied. nil: now. Whether the message notifies anybody by default depends on the time between
	// Timestamp and ReceivedAt.
	ReceivedAt *time.Time `json:"receivedAt,omitempty"`

	Check bool `json:"check,omitempty"` // the message is checked and not applied
}

// ComponentName identifies a component that is the only one with its name in its group.
type ComponentName struct {
	Group string `json:"group"`
	Name  string `json:"name"`
}

// InboundResult is the effect of a message: created, updated, resolved, reopened or ignored.
type InboundResult struct {
	Result  string `json:"result"`
	EventID string `json:"eventId"`
}
