package app

import (
	"context"
	"net/url"
	"time"
)

// DeliveriesResult is the progress of the messages about an event.
type DeliveriesResult struct {
	Deliveries Deliveries `json:"deliveries"`
}

// Deliveries counts messages by status, in total and for each channel.
type Deliveries struct {
	Counts
	Channels DeliveryChannels `json:"channels"`
}

// Counts counts messages by status.
type Counts struct {
	Planned    int `json:"planned"`
	Delivered  int `json:"delivered"`
	Retrying   int `json:"retrying"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"`
	Suppressed int `json:"suppressed"`
}

// Waiting returns the number of messages that have no final status yet.
func (c Counts) Waiting() int {
	return max(0, c.Planned-c.Delivered-c.Failed-c.Skipped-c.Suppressed)
}

// DeliveryChannels are the Counts of each channel.
type DeliveryChannels map[string]Counts

// EventDeliveries returns the progress of the messages about an event.
func (c *Caller) EventDeliveries(ctx context.Context, id string) (DeliveriesResult, error) {
	return call[DeliveriesResult](ctx, c, request{service: delivery, method: "GET", path: eventPath(id) + "/deliveries"})
}

// AudienceQuery describes a message about the event EventID, or about a new event. Without ComponentIDs and
// DashboardIDs, those of the event are used.
type AudienceQuery struct {
	ComponentIDs []string `json:"componentIds,omitempty"`
	DashboardIDs []string `json:"dashboardIds,omitempty"` // dashboards of an event without components
	EventID      string   `json:"eventId,omitempty"`
	Kind         string   `json:"kind,omitempty"`
}

// AudienceResult counts the recipients of a message by channel.
type AudienceResult struct {
	Audience Audience `json:"audience"`
}

// Audience counts recipients by channel.
type Audience map[string]Recipients

// Recipients counts the recipients of a channel. If More is set, there are more recipients than counted.
type Recipients struct {
	Recipients int  `json:"recipients"`
	More       bool `json:"more"`
}

// Audience counts the recipients to whom a message would be sent now.
func (c *Caller) Audience(ctx context.Context, in AudienceQuery) (AudienceResult, error) {
	return call[AudienceResult](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/audience", body: in})
}

// DeliveryLogs is a page of the log of a kind of messages.
type DeliveryLogs struct {
	Logs      []DeliveryLog `json:"logs"`
	NextToken *string       `json:"nextToken"`
}

// DeliveryLog is an attempt to deliver a message, or the end of a delivery without an attempt.
type DeliveryLog struct {
	LogID         string     `json:"logId"`
	SentAt        time.Time  `json:"sentAt"`
	DeliveryID    string     `json:"deliveryId"`
	URLHash       string     `json:"urlHash"`
	URLDisplay    string     `json:"urlDisplay"`
	EventID       string     `json:"eventId"`
	EventKind     string     `json:"eventKind"`
	Status        string     `json:"status"`
	Attempt       int        `json:"attempt"`
	MaxAttempts   int        `json:"maxAttempts"`
	HTTPStatus    *int       `json:"httpStatus"`
	DurationMS    *int64     `json:"durationMs"`
	ErrorCode     string     `json:"errorCode"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
	ReplayOf      string     `json:"replayOf"`
}

// DeliveryExchange is a log with the request and the response. Secrets and addresses are masked.
type DeliveryExchange struct {
	DeliveryLog
	Request  *DeliveryRequest  `json:"request"`
	Response *DeliveryResponse `json:"response"`
	Attempts []DeliveryAttempt `json:"attempts"`
}

// DeliveryRequest is the request with which a message was sent.
type DeliveryRequest struct {
	Method     string  `json:"method"`
	URLDisplay string  `json:"urlDisplay"`
	Headers    Headers `json:"headers"`
	Body       string  `json:"body"`
}

// DeliveryResponse is the response of a receiver.
type DeliveryResponse struct {
	HTTPStatus int     `json:"httpStatus"`
	Headers    Headers `json:"headers"`
	Body       string  `json:"body"`
}

// Headers are header fields by name.
type Headers map[string]string

// DeliveryAttempt is an attempt of a delivery.
type DeliveryAttempt struct {
	LogID      string    `json:"logId"`
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	HTTPStatus *int      `json:"httpStatus"`
	ErrorCode  string    `json:"errorCode"`
}

// DeliveryLogResult has a DeliveryExchange.
type DeliveryLogResult struct {
	Log DeliveryExchange `json:"log"`
}

func logsPath(kind string) string { return "/app/notifications/" + url.PathEscape(kind) + "/logs" }

// DeliveryLogs lists the logs that match the query, the newest first.
func (c *Caller) DeliveryLogs(ctx context.Context, kind string, query url.Values) (DeliveryLogs, error) {
	return call[DeliveryLogs](ctx, c, request{service: delivery, method: "GET", path: logsPath(kind), query: query})
}

// DeliveryLog returns the log with the id log and the time sentAt.
func (c *Caller) DeliveryLog(ctx context.Context, kind, log, sentAt string) (DeliveryLogResult, error) {
	query := url.Values{"sentAt": {sentAt}}
	return call[DeliveryLogResult](ctx, c, request{service: delivery, method: "GET", path: logsPath(kind) + "/" + url.PathEscape(log), query: query})
}

// LogTime is the time of a log. The App interface identifies a log by its id and this time.
type LogTime struct {
	SentAt string `json:"sentAt"`
}

// Replayed names the new delivery.
type Replayed struct {
	DeliveryID string `json:"deliveryId"`
}

// Replay sends the message of a log again.
func (c *Caller) Replay(ctx context.Context, kind, log string, in LogTime) (Replayed, error) {
	return call[Replayed](ctx, c, request{service: delivery, method: "POST", path: logsPath(kind) + "/" + url.PathEscape(log) + "/replay", body: in})
}

// ChannelsResult says which channels the operator has set up.
type ChannelsResult struct {
	Channels map[string]ChannelSetup `json:"channels"`
}

// ChannelSetup says whether a channel is set up. If not, Missing names the settings that it lacks.
type ChannelSetup struct {
	Configured bool           `json:"configured"`
	Server     *ChannelServer `json:"server"`
	From       *string        `json:"from"`
	Missing    *string        `json:"missing"`
}

// ChannelServer is the server through which the messages of a channel are sent.
type ChannelServer struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Security string `json:"security"`
}

// Channels says which channels the operator has set up.
func (c *Caller) Channels(ctx context.Context) (ChannelsResult, error) {
	return call[ChannelsResult](ctx, c, request{service: delivery, method: "GET", path: "/app/notifications/channels"})
}

// MessageCounts has the counts of the last 24 hours by channel.
type MessageCounts struct {
	Counts map[string]DayCounts `json:"counts"`
}

// DayCounts counts messages by how they ended. Retrying counts the messages that wait for a retry now.
type DayCounts struct {
	Delivered  int `json:"delivered"`
	Retrying   int `json:"retrying"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"`
	Suppressed int `json:"suppressed"`
}

// MessageCounts counts the messages of the last 24 hours.
func (c *Caller) MessageCounts(ctx context.Context) (MessageCounts, error) {
	return call[MessageCounts](ctx, c, request{service: delivery, method: "GET", path: "/app/notifications/counts"})
}
