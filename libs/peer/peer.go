// Package peer is the client of all synchronous calls between services:
//
//	gateway                   -> identity        find the credential of a key
//	gateway                   -> events          find the only dashboard of the installation, or the dashboard of a host
//	identity                  -> events          create an organization's first dashboard, and set its plan
//	integrations, subscribers -> events          find dashboards with their frames, and components
//	integrations              -> events          apply a message of a monitoring tool
//	integrations              -> identity        find limits and features of an organization
//	events                    -> identity        find the limits of an organization
//	events                    -> integrations, subscribers   forget a deleted component
//	events                    -> integrations    ask whether a component is the only one of an endpoint
//	delivery                  -> integrations, subscribers   find and resolve recipients, and explain the choice of recipients
//	delivery                  -> subscribers     count the recipients of a message
//	delivery                  -> identity        resolve the recipients of mail to members
//	delivery                  -> integrations    find the version of an organization's recipients
//	delivery                  -> events          find dashboards, components, the state of an event, and the state of a dashboard
//
// All other data between services goes through an outbox and Kafka. These calls are synchronous because a caller must read its own
// writes. For example, a user can subscribe to a component right after its creation. A call has a passport of the Peer
// surface for the organization in its path, if any, and the caller's trace. An error arrives as the fault that the service
// returned.
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
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	timeout     = 5 * time.Second
	maxResponse = 16 << 20
	// maxKeptBuffer is the size of the largest buffer that is returned to the pool, in bytes.
	maxKeptBuffer = 1 << 20
)

// responses is a pool of buffers for responses. Without the pool, these buffers were a tenth of all memory that a
// fan-out allocates.
var responses = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Client calls one service.
type Client struct {
	base    string
	service string
	caller  string
	signer  *passport.Signer
	http    *http.Client
}

// Options are the settings of a Client.
type Options struct {
	Caller     string // the calling service's name
	Signer     *passport.Signer
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator
}

// NewClient returns the client of the service at the URL base.
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

// Refusal is the body of an error response on the Peer surface. Package web writes it.
type Refusal struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Field   string     `json:"field,omitempty"`
}

// call sends in to the path and decodes the response into out, unless out is nil.
func (c *Client) call(ctx context.Context, organization, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "The request to %s cannot be encoded.", c.service)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(fault.Internal, err, "The request to %s cannot be made.", c.service)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(passport.Header, c.signer.Sign(passport.Passport{
		Audience: c.service, Surface: passport.Peer, Organization: organization, Caller: c.caller,
	}))
	packed, is := out.(*destinations)
	if is {
		request.Header.Set("Accept", topic.PackedDestinations)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Canceled
		}
		return fault.Wrap(fault.Unavailable, err, "A part of the platform cannot be reached; try again shortly.")
	}
	defer response.Body.Close()
	buffer := responses.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= maxKeptBuffer {
			buffer.Reset()
			responses.Put(buffer)
		}
	}()
	_, err = buffer.ReadFrom(io.LimitReader(response.Body, maxResponse))
	content := buffer.Bytes() // valid only until the buffer is reused; json.Unmarshal and topic.Unpack copy what they return
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "A part of the platform sent an incomplete response; try again shortly.")
	}
	if response.StatusCode >= http.StatusBadRequest {
		return refusal(response.StatusCode, content)
	}
	if out == nil {
		return nil
	}
	// During an upgrade, a service of another version does not know this form of destinations, and responds with JSON.
	if is && response.Header.Get("Content-Type") == topic.PackedDestinations {
		*packed, err = topic.Unpack(content)
	} else {
		err = json.Unmarshal(content, out)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, err, "The response of %s cannot be decoded.", c.service)
	}
	return nil
}

// call sends in to the path and returns the decoded response.
func call[T any](ctx context.Context, c *Client, organization, method, path string, in any) (out T, err error) {
	err = c.call(ctx, organization, method, path, in, &out)
	return out, err
}

// get returns the decoded response to a GET of a path below that of the organization.
func get[T any](ctx context.Context, c *Client, organization, path string) (T, error) {
	return call[T](ctx, c, organization, http.MethodGet, organizationPath(organization, path), nil)
}

// post sends in to a path below that of the organization and returns the decoded response.
func post[T any](ctx context.Context, c *Client, organization, path string, in any) (T, error) {
	return call[T](ctx, c, organization, http.MethodPost, organizationPath(organization, path), in)
}

// refusal returns the fault that an error response describes.
func refusal(status int, content []byte) error {
	var r Refusal
	if json.Unmarshal(content, &r) == nil && r.Kind != "" {
		return &fault.Error{Kind: r.Kind, Message: r.Message, Field: r.Field}
	}
	if status >= http.StatusInternalServerError {
		return fault.New(fault.Unavailable, "A part of the platform is not ready; try again shortly.")
	}
	return fault.New(fault.Internal, "A service responded with the status %d.", status)
}

func organizationPath(organization, rest string) string {
	return Prefix + "/organizations/" + url.PathEscape(organization) + rest
}

// Prefix is the path prefix of the calls between services.
const Prefix = "/internal/v1"
