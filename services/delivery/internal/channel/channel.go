// Package channel holds the ways to reach a recipient, a file each, and the table of
// those there are. A channel renders what its receivers are told and makes one
// attempt; when and whether to attempt is package dispatch's business.
//
// Decisions: attempts speak HTTP/1.1 over connections that are kept, because one hanging
// HTTP/2 connection would hold up every delivery that shares it, and on the delivery's own goroutine, for
// half of what a delivery costs would be net/http's. Nothing follows a redirect. The address is judged where it is
// dialled, after the name was resolved, so that a name that changes its mind gains nothing.
package channel

import (
	"crypto/x509"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/outward"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options are what channels need of their surroundings.
type Options struct {
	Timeout    time.Duration   // of one attempt
	Resolve    outward.Resolve // hosts that are dialled elsewhere
	Roots      *x509.CertPool  // nil: the system's
	Mail       boot.Mail       // the mail server
	Texts      boot.Texts      // the SMS server
	Data       string          // folder for what there is no server for
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator
}

// Table is every channel of this build. A channel that is not in it is recorded as
// unavailable when somebody asks for it.
func Table(o Options) (map[topic.Channel]dispatch.Channel, error) {
	caller := newCaller(o)
	texts, err := newSMS(o)
	if err != nil {
		return nil, err
	}
	mail, err := newEmail(o)
	if err != nil {
		return nil, err
	}
	return map[topic.Channel]dispatch.Channel{
		topic.Webhook: webhook{caller},
		topic.Teams:   teams{caller},
		topic.Email:   mail,
		topic.SMS:     texts,
	}, nil
}
