package app

import "context"

// DeliveriesResult is the progress of the messages about an event.
type DeliveriesResult struct {
	Deliveries Deliveries `json:"deliveries"`
}

// Deliveries counts messages by what became of them.
type Deliveries struct {
	Counts
	Channels DeliveryChannels `json:"channels"`
}

// Counts counts messages.
type Counts struct {
	Planned    int `json:"planned"`
	Delivered  int `json:"delivered"`
	Retrying   int `json:"retrying"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"`
	Suppressed int `json:"suppressed"`
}

// Waiting returns how many messages have neither arrived nor ended.
func (c Counts) Waiting() int {
	return max(0, c.Planned-c.Delivered-c.Failed-c.Skipped-c.Suppressed)
}

// DeliveryChannels are the Counts of each channel.
type DeliveryChannels map[string]Counts

// EventDeliveries returns the progress of the messages about an event.
func (c *Caller) EventDeliveries(ctx context.Context, id string) (DeliveriesResult, error) {
	return call[DeliveriesResult](ctx, c, request{service: delivery, method: "GET", path: eventPath(id) + "/deliveries"})
}

// AudienceQuery describes a message about an event: about its components, or about those of a new event.
type AudienceQuery struct {
	ComponentIDs []string `json:"componentIds,omitempty"`
	EventID      string   `json:"eventId,omitempty"`
	Kind         string   `json:"kind,omitempty"`
}

// AudienceResult counts the recipients of a message by channel.
type AudienceResult struct {
	Audience Audience `json:"audience"`
}

// Audience counts recipients by channel.
type Audience map[string]Recipients

// Recipients counts the recipients of a channel. With More there are more.
type Recipients struct {
	Recipients int  `json:"recipients"`
	More       bool `json:"more"`
}

// Audience counts to whom a message would be sent now.
func (c *Caller) Audience(ctx context.Context, in AudienceQuery) (AudienceResult, error) {
	return call[AudienceResult](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/audience", body: in})
}
