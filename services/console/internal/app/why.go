package app

import (
	"context"
	"time"
)

// WhyQuery names an event and a recipient: by Email for the kind email, by Phone for sms and whatsapp, else by URLHash.
type WhyQuery struct {
	EventID string `json:"eventId"`
	Kind    string `json:"kind"`
	Email   string `json:"email,omitempty"`
	Phone   string `json:"phone,omitempty"`
	URLHash string `json:"urlHash,omitempty"`
}

// WhyResult has a Why.
type WhyResult struct {
	Why Why `json:"why"`
}

// Why has the results of the messages to a recipient about an event.
type Why struct {
	Messages []WhyMessage `json:"messages"`
	More     bool         `json:"more"`
	KeptFrom time.Time    `json:"keptFrom"`
	Older    bool         `json:"older"`
}

// WhyMessage is a change of the event, with a result for each dashboard on which the recipient is subscribed.
type WhyMessage struct {
	EventKind  string      `json:"eventKind"`
	OccurredAt time.Time   `json:"occurredAt"`
	Results    []WhyReason `json:"results"`
}

// WhyReason is the result of a message, or the rule by which the message was not sent.
type WhyReason struct {
	DashboardID   string          `json:"dashboardId"`
	RecipientID   string          `json:"recipientId"`
	Status        string          `json:"status"`
	Code          string          `json:"code"`
	Text          string          `json:"text"`
	AsOfToday     bool            `json:"asOfToday"`
	Since         *time.Time      `json:"since"`
	Suppression   *WhySuppression `json:"suppression"`
	Log           *WhyLog         `json:"log"`
	Attempts      int             `json:"attempts"`
	NextAttemptAt *time.Time      `json:"nextAttemptAt"`
	Replays       []WhyLog        `json:"replays"`
}

// WhySuppression says why nothing is sent to the recipient now.
type WhySuppression struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// WhyLog names the newest log of a delivery.
type WhyLog struct {
	LogID  string    `json:"logId"`
	SentAt time.Time `json:"sentAt"`
	Status string    `json:"status"`
}

// ExplainDeliveries says why a recipient got messages about an event, or got none. It changes nothing.
func (c *Caller) ExplainDeliveries(ctx context.Context, in WhyQuery) (WhyResult, error) {
	return call[WhyResult](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/why", body: in})
}
