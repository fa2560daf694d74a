// Package peer holds the synchronous calls between services: the whole list of
// them, their shapes, and the client that makes them. Everything else between
// services goes through an outbox and Kafka.
//
//	gateway                 -> identity       whose key is this
//	identity                -> events         an organization is born with a dashboard
//	integrations, subscribers -> events       which dashboards and components are there
//	delivery                -> integrations, subscribers   who is concerned; where do they live
//
// They are synchronous where the caller must read its own writes: subscribe to a
// component made one call ago, pause an endpoint and nothing more is sent. A call
// carries a passport of the Peer surface for the organization named in its path,
// and the caller's trace. Errors come back as the fault they left as.
package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	timeout   = 5 * time.Second
	maxAnswer = 16 << 20
)

// Client calls one service.
type Client struct {
	base    string
	service string
	caller  string
	signer  *passport.Signer
	http    *http.Client
}

// Options say who calls and how.
type Options struct {
	Caller     string // the calling service's name
	Signer     *passport.Signer
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator
}

// NewClient makes the client of the service at base, an http URL.
func NewClient(service, base string, o Options) *Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
	}
	return &Client{
		base: base, service: service, caller: o.Caller, signer: o.Signer,
		http: &http.Client{
			Timeout: timeout,
			Transport: otelhttp.NewTransport(transport,
				otelhttp.WithTracerProvider(o.Tracer), otelhttp.WithPropagators(o.Propagator)),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Refusal is how a service tells another of a fault; package web writes it on
// the Peer surface.
type Refusal struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Field   string     `json:"field,omitempty"`
}

// call sends in to the path and decodes the answer into out, if out is not nil.
func (c *Client) call(ctx context.Context, organization, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "a request to %s could not be written", c.service)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(fault.Internal, err, "a request to %s could not be made", c.service)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(passport.Header, c.signer.Sign(passport.Passport{
		Audience: c.service, Surface: passport.Peer, Organization: organization, Caller: c.caller,
	}))
	response, err := c.http.Do(request)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Canceled
		}
		return fault.Wrap(fault.Unavailable, err, "A part of the platform cannot be reached; try again shortly.")
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "A part of the platform broke off its answer; try again shortly.")
	}
	if response.StatusCode >= http.StatusBadRequest {
		return refusal(response.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fault.Wrap(fault.Internal, err, "the answer of %s could not be read", c.service)
	}
	return nil
}

func refusal(status int, answer []byte) error {
	var r Refusal
	if json.Unmarshal(answer, &r) == nil && r.Kind != "" {
		return &fault.Error{Kind: r.Kind, Message: r.Message, Field: r.Field}
	}
	if status >= http.StatusInternalServerError {
		return fault.New(fault.Unavailable, "A part of the platform is not ready; try again shortly.")
	}
	return fault.New(fault.Internal, "a service answered %d", status)
}

func organizationPath(organization, rest string) string {
	return Prefix + "/organizations/" + url.PathEscape(organization) + rest
}

// Prefix is where services answer peers.
const Prefix = "/internal/v1"
