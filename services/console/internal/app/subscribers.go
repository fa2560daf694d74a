package app

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

const (
	subscribers = "subscribers"

	subscribersPath = "/app/subscribers/"
)

// Channel is a channel whose subscribers have an address.
type Channel string

const (
	Email    Channel = "email"
	SMS      Channel = "sms"
	WhatsApp Channel = "whatsapp"
)

// AddressChannels returns all channels whose subscribers have an address.
func AddressChannels() []Channel { return []Channel{Email, SMS, WhatsApp} }

// Subscribers is a page of a list of subscribers.
type Subscribers struct {
	Subscribers []Subscriber `json:"subscribers"`
	NextToken   *string      `json:"nextToken"`
}

// Subscriber is an address that gets messages about a dashboard.
type Subscriber struct {
	ID               string     `json:"id"`
	DashboardID      string     `json:"dashboardId"`
	Email            string     `json:"email"`
	Phone            string     `json:"phone"`
	ComponentIDs     Choice     `json:"componentIds"`
	Confirmed        bool       `json:"confirmed"`
	PartlyConfirmed  bool       `json:"partlyConfirmed"`
	ConfirmedAt      *time.Time `json:"confirmedAt"`
	Paused           bool       `json:"paused"`
	Locked           bool       `json:"locked"`
	Suppressed       bool       `json:"suppressed"`
	SuppressedReason string     `json:"suppressedReason"`
	Locale           string     `json:"locale"`
	Source           string     `json:"source"`
	CreatedAt        time.Time  `json:"createdAt"`
}

// Address returns the mail address or the phone number of the subscriber.
func (s Subscriber) Address() string { return s.Email + s.Phone }

// Subscribers lists the subscribers of a channel that match the query, in the order of their addresses.
func (c *Caller) Subscribers(ctx context.Context, channel Channel, query url.Values) (Subscribers, error) {
	return call[Subscribers](ctx, c, request{service: subscribers, method: "GET", path: subscribersPath + string(channel), query: query})
}

// SubscriberCountsResult counts subscribers by state.
type SubscriberCountsResult struct {
	Counts SubscriberCounts `json:"counts"`
}

// SubscriberCounts counts subscribers by state. A subscriber can be in several states.
type SubscriberCounts struct {
	Total        int `json:"total"`
	Confirmed    int `json:"confirmed"`
	Unconfirmed  int `json:"unconfirmed"`
	Paused       int `json:"paused"`
	Suppressed   int `json:"suppressed"`
	Unsubscribed int `json:"unsubscribed"` // suppressed with the reason unsubscribed
}

// SubscriberCounts counts the subscribers of a channel: all, or those of the dashboard if dashboard is not empty.
func (c *Caller) SubscriberCounts(ctx context.Context, channel Channel, dashboard string) (SubscriberCountsResult, error) {
	query := url.Values{}
	if dashboard != "" {
		query.Set("dashboardId", dashboard)
	}
	return call[SubscriberCountsResult](ctx, c, request{service: subscribers, method: "GET", path: subscribersPath + string(channel) + "/counts", query: query})
}

// SubscriberResult is one subscriber.
type SubscriberResult struct {
	Subscriber Subscriber `json:"subscriber"`
}

func subscriberPath(channel Channel, id string) string {
	return subscribersPath + string(channel) + "/" + url.PathEscape(id)
}

// Subscriber returns a subscriber.
func (c *Caller) Subscriber(ctx context.Context, channel Channel, id string) (SubscriberResult, error) {
	return call[SubscriberResult](ctx, c, request{service: subscribers, method: "GET", path: subscriberPath(channel, id)})
}

// Choice contains the ids of the components that a subscriber has chosen. Nil means all, also future ones.
type Choice []string

// MarshalJSON implements json.Marshaler.
func (c Choice) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	return json.Marshal([]string(c))
}

// NewSubscriber is a subscriber to create, without the address.
type NewSubscriber struct {
	DashboardID  string   `json:"dashboardId"`
	ComponentIDs Choice   `json:"componentIds"`
	Confirmed    bool     `json:"confirmed"`
	Paused       bool     `json:"paused"`
	Locked       bool     `json:"locked"`
	Locale       Nullable `json:"locale"`
}

// AddSubscriber creates a subscriber with an address.
func (c *Caller) AddSubscriber(ctx context.Context, channel Channel, address string, in NewSubscriber) (SubscriberResult, error) {
	body := struct {
		NewSubscriber
		Email string `json:"email,omitempty"`
		Phone string `json:"phone,omitempty"`
	}{NewSubscriber: in}
	if channel == Email {
		body.Email = address
	} else {
		body.Phone = address
	}
	return call[SubscriberResult](ctx, c, request{service: subscribers, method: "POST", path: subscribersPath + string(channel), body: body})
}

// SubscriberChange is a change of a subscriber. A member that is nil is not changed.
type SubscriberChange struct {
	ComponentIDs *Choice   `json:"componentIds,omitempty"`
	Confirmed    *bool     `json:"confirmed,omitempty"`
	Paused       *bool     `json:"paused,omitempty"`
	Locked       *bool     `json:"locked,omitempty"`
	Locale       *Nullable `json:"locale,omitempty"`
	Suppressed   *bool     `json:"suppressed,omitempty"`
}

// ChangeSubscriber changes a subscriber.
func (c *Caller) ChangeSubscriber(ctx context.Context, channel Channel, id string, in SubscriberChange) (SubscriberResult, error) {
	return call[SubscriberResult](ctx, c, request{service: subscribers, method: "PATCH", path: subscriberPath(channel, id), body: in})
}

// DeleteSubscriber deletes a subscriber.
func (c *Caller) DeleteSubscriber(ctx context.Context, channel Channel, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: subscribers, method: "DELETE", path: subscriberPath(channel, id)})
}

// Resent names the delivery of a message.
type Resent struct {
	DeliveryID string `json:"deliveryId"`
}

// ResendConfirmation sends the owner of the address another message to confirm the subscription.
func (c *Caller) ResendConfirmation(ctx context.Context, channel Channel, id string) (Resent, error) {
	return call[Resent](ctx, c, request{service: subscribers, method: "POST", path: subscriberPath(channel, id) + "/resend-confirmation"})
}

// ImportRow is a row of an import. If the address already has a subscriber, a nil member is not changed.
type ImportRow struct {
	Address      string    `json:"-"`
	ComponentIDs *Choice   `json:"componentIds,omitempty"`
	Confirmed    *bool     `json:"confirmed,omitempty"`
	Locale       *Nullable `json:"locale,omitempty"`
}

// Import is rows to import for a dashboard.
type Import struct {
	DashboardID       string      `json:"dashboardId"`
	SendConfirmations bool        `json:"sendConfirmations"`
	Force             bool        `json:"force"`
	DryRun            bool        `json:"dryRun"`
	Rows              []ImportRow `json:"-"`
}

// ImportResults are the results of the rows of an import, in order.
type ImportResults struct {
	Results []ImportResult `json:"results"`
}

// ImportResult is the result of a row: created, updated or refused.
type ImportResult struct {
	Status string `json:"status"`
	Error  string `json:"error"`
}

// ImportSubscribers imports rows. With DryRun, it only returns what an import would do.
func (c *Caller) ImportSubscribers(ctx context.Context, channel Channel, in Import) (ImportResults, error) {
	type mailRow struct {
		Email string `json:"email"`
		ImportRow
	}
	type phoneRow struct {
		Phone string `json:"phone"`
		ImportRow
	}
	rows := make([]any, len(in.Rows))
	for i, row := range in.Rows {
		if rows[i] = (phoneRow{row.Address, row}); channel == Email {
			rows[i] = mailRow{row.Address, row}
		}
	}
	body := struct {
		Import
		Rows []any `json:"rows"`
	}{in, rows}
	return call[ImportResults](ctx, c, request{service: subscribers, method: "POST", path: subscribersPath + string(channel) + "/import", body: body})
}
