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

// ServiceSetup is a service with the call that returns its state.
type ServiceSetup struct {
	Name string
	Read func(*Caller, context.Context) (ServiceStateResult, error)
}

// ServiceSetups returns the services behind the console.
func ServiceSetups() []ServiceSetup {
	return []ServiceSetup{
		{identity, (*Caller).IdentitySetup}, {events, (*Caller).EventsSetup}, {subscribers, (*Caller).SubscribersSetup},
		{integrations, (*Caller).IntegrationsSetup}, {delivery, (*Caller).DeliverySetup},
	}
}

func setupOf(ctx context.Context, c *Caller, service string) (ServiceStateResult, error) {
	return call[ServiceStateResult](ctx, c, request{service: service, method: "GET", path: "/app/setup/" + service})
}

// IdentitySetup returns the state of identity.
func (c *Caller) IdentitySetup(ctx context.Context) (ServiceStateResult, error) {
	return setupOf(ctx, c, identity)
}

// EventsSetup returns the state of events.
func (c *Caller) EventsSetup(ctx context.Context) (ServiceStateResult, error) {
	return setupOf(ctx, c, events)
}

// SubscribersSetup returns the state of subscribers.
func (c *Caller) SubscribersSetup(ctx context.Context) (ServiceStateResult, error) {
	return setupOf(ctx, c, subscribers)
}

// IntegrationsSetup returns the state of integrations.
func (c *Caller) IntegrationsSetup(ctx context.Context) (ServiceStateResult, error) {
	return setupOf(ctx, c, integrations)
}

// DeliverySetup returns the state of delivery.
func (c *Caller) DeliverySetup(ctx context.Context) (ServiceStateResult, error) {
	return setupOf(ctx, c, delivery)
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
