package dispatch

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Content is the content of the messages of all deliveries with the same ChangeID: a change of an event, or a notice.
type Content struct {
	*topic.EventChange `json:",inline"` // nil: a notice
	Notice             *topic.Notice    `json:"notice,omitempty"`
	// To is the phone number of a test message. The member has typed it, so no service resolves it.
	To string `json:"to,omitempty"`
}

// ChangeID returns the id of the change or the notice, which is the ChangeID of the deliveries.
func (c *Content) ChangeID() string {
	if c.Notice != nil {
		return c.Notice.ID
	}
	return c.ID
}

// At returns when the event changed or the notice was created.
func (c *Content) At() time.Time {
	if c.Notice != nil {
		return c.Notice.OccurredAt
	}
	return c.OccurredAt
}

// change returns the change of the event. For a notice it returns a change with the id of the notice. The event of this
// change is the example event of the notice, or empty if the notice has none.
func (c *Content) change() topic.EventChange {
	n := c.Notice
	if n == nil {
		return *c.EventChange
	}
	example := topic.EventChange{ID: n.ID, Kind: n.Kind, Organization: n.Organization, OccurredAt: n.OccurredAt}
	if n.Event != nil {
		example.Event = *n.Event
	}
	return example
}
