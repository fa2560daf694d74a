// Package channel contains the channels and the table of channels. A channel renders the message and makes one attempt.
// Package dispatch decides when to make an attempt.
//
// Decisions: Attempts use HTTP/1.1 with reused connections, because a hanging HTTP/2 connection would delay all
// deliveries that share it. Requests run in the delivery's own goroutine (libs/wire), because the goroutines of
// net/http would use half of a delivery's processor time. No redirect is followed. The IP address is checked when the
// socket connects, after the name was resolved, so that changing DNS records cannot bypass the check.
package channel

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options are the settings and dependencies of channels.
type Options struct {
	Timeout       time.Duration   // time limit of one attempt
	Resolve       egress.Resolve  // DELIVERY_RESOLVE
	Roots         *x509.CertPool  // nil: the system's
	Mail          boot.Mail       // the mail server
	Texts         boot.Texts      // the account for SMS and WhatsApp
	Data          string          // data folder; without a server, mail and texts are written to files below it
	Locales       *locale.Locales // words and templates
	ConfirmWithin time.Duration   // CONFIRM_WITHIN; messages say until when the recipient can confirm
	Status        PageStatus      // requests the state of a dashboard
	Log           *slog.Logger
	Tracer        trace.TracerProvider
	Propagator    propagation.TextMapPropagator
}

// Table returns the implementations of the channels. It returns an error if a channel whose recipients a service stores
// has no implementation.
func Table(o Options) (map[topic.Channel]dispatch.Channel, error) {
	caller := newCaller(o, idleTimeout, dialEndpoint(o))
	texts, chats, err := newTexts(o)
	if err != nil {
		return nil, err
	}
	mail, err := newEmail(o)
	if err != nil {
		return nil, err
	}
	table := map[topic.Channel]dispatch.Channel{
		topic.Webhook:  newWebhook(caller, o),
		topic.Email:    mail,
		topic.SMS:      texts,
		topic.WhatsApp: chats,
	}
	addChats(table, caller, o)
	return table, complete(table)
}

// complete returns an error if a channel whose recipients a service stores has no implementation.
func complete(table map[topic.Channel]dispatch.Channel) error {
	for _, registered := range topic.Channels() {
		if _, found := table[registered.Channel]; !found && registered.Service != topic.Nobody {
			return fmt.Errorf("the channel %q has no implementation in package channel", registered.Channel)
		}
	}
	return nil
}
