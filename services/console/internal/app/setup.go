package app

import (
	"context"
	"time"
)

// ServiceStateResult has the state of a service.
type ServiceStateResult struct {
	Service ServiceState `json:"service"`
}

// ServiceState says whether a service and its engines work.
type ServiceState struct {
	Version      string        `json:"version"`
	Database     DatabaseState `json:"database"`
	Kafka        EngineState   `json:"kafka"`
	Outbox       *OutboxState  `json:"outbox"`
	LastBackupAt *time.Time    `json:"lastBackupAt"`
}

// DatabaseState says whether the service can reach its database.
type DatabaseState struct {
	EngineState
	Engine string `json:"engine"`
}

// EngineState says whether the service can reach an engine.
type EngineState struct {
	Reachable bool `json:"reachable"`
}

// OutboxState describes the messages that wait for Kafka.
type OutboxState struct {
	Messages int        `json:"messages"`
	More     bool       `json:"more"`
	OldestAt *time.Time `json:"oldestAt"`
}

// Service is a service that the console calls.
type Service string

// Services returns the services that the console calls.
func Services() []Service {
	return []Service{identity, events, subscribers, integrations, delivery}
}

// ServiceSetup returns the state of a service.
func (c *Caller) ServiceSetup(ctx context.Context, of Service) (ServiceStateResult, error) {
	return call[ServiceStateResult](ctx, c, request{service: string(of), method: "GET", path: "/app/setup/" + string(of)})
}

// TestSent names the delivery of a test message.
type TestSent struct {
	DeliveryID string `json:"deliveryId"`
}

// TestPhone is the number for a test message.
type TestPhone struct {
	Phone string `json:"phone"`
}

// TestMail sends a test mail to the member's own address.
func (c *Caller) TestMail(ctx context.Context) (TestSent, error) {
	return call[TestSent](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/email/test"})
}

// TestSMS sends a test message to a phone.
func (c *Caller) TestSMS(ctx context.Context, in TestPhone) (TestSent, error) {
	return call[TestSent](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/sms/test", body: in})
}

// TestWhatsApp sends a test message to a phone by WhatsApp.
func (c *Caller) TestWhatsApp(ctx context.Context, in TestPhone) (TestSent, error) {
	return call[TestSent](ctx, c, request{service: delivery, method: "POST", path: "/app/notifications/whatsapp/test", body: in})
}
