// Package app is the console's client of the App interface. It calls only declared operations, for the member whom the
// gateway has found by the session, or for a visitor of the sign-in pages.
//
// Decision: the client is written by hand. A page needs few members of a response. Unknown members are ignored, so
// that services and console of different versions work together during an upgrade. A test compares every call with the
// OpenAPI document.
package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const (
	timeout     = 8 * time.Second // time limit of a call, including its retry
	maxResponse = 16 << 20
)

// Client calls the services.
type Client struct {
	services map[string]string
	signer   *passport.Signer
	http     *http.Client
}

// New returns a client. services has the base URL of each service by name.
func New(services map[string]string, signer *passport.Signer, process boot.Process) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.MaxIdleConnsPerHost = nil, 64
	return &Client{services: services, signer: signer, http: &http.Client{
		Transport: otelhttp.NewTransport(withoutQuery{transport},
			otelhttp.WithTracerProvider(process.Tracer), otelhttp.WithPropagators(process.Propagator)),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// withoutQuery removes the query from the URL in the span of a request. The query may have the address of a person.
type withoutQuery struct{ http.RoundTripper }

func (t withoutQuery) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.RawQuery != "" {
		shown := *r.URL
		shown.RawQuery = ""
		trace.SpanFromContext(r.Context()).SetAttributes(attribute.String("url.full", shown.String()))
	}
	return t.RoundTripper.RoundTrip(r)
}

// Caller makes calls for the sender of one request to the console.
type Caller struct {
	client    *Client
	passport  passport.Passport
	requestID string
	userAgent string
}

// For returns the Caller for a request with this passport and these headers.
func (c *Client) For(p passport.Passport, header http.Header) *Caller {
	return &Caller{client: c, passport: p, requestID: header.Get("X-Request-Id"), userAgent: header.Get("User-Agent")}
}

// Lasting returns a copy of c for a download that lasts longer than a passport is valid: each call gets a new passport.
// The gateway has checked the member at the beginning of the download. The page limits the time of the download.
func Lasting(c *Caller) *Caller {
	lasting := *c
	lasting.passport.Expires = 0
	return &lasting
}

// Error is an error response of the App interface, or the error of a call without a complete response.
type Error struct {
	Status  int
	Service string // name of the called service; empty: none was called
	Field   string // member of the body that the error is about; empty: none
	Message string
	Again   bool          // the member must sign in again first
	Wait    time.Duration // time after which a repeated call may succeed; 0: unknown
	Cause   error         // why there is no complete response; nil if there is one
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return fmt.Sprintf("%d %s", e.Status, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// Unavailable reports whether there was no complete response, or the service is not ready.
func (e *Error) Unavailable() bool { return e != nil && e.Status >= http.StatusBadGateway }

// As returns the Error in the chain of err, or nil.
func As(err error) *Error {
	found, _ := errors.AsType[*Error](err)
	return found
}

// request is a call of an operation.
type request struct {
	service, method, path string
	query                 url.Values
	version               int64 // version that the record must have; 0: any
	body                  any
}

// call sends the request and returns the decoded response. It retries a GET once if the service is unavailable.
func call[T any](ctx context.Context, c *Caller, r request) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	content, err := c.send(ctx, r)
	if err != nil && r.method == http.MethodGet && ctx.Err() == nil && repeatable(err) {
		content, err = c.send(ctx, r)
	}
	if err != nil || len(content) == 0 {
		return out, err
	}
	if err := json.Unmarshal(content, &out); err != nil {
		return out, fmt.Errorf("decode the response to %s %s: %w", r.method, r.path, err)
	}
	return out, nil
}

// repeatable reports whether a GET with this error may succeed when it is repeated.
func repeatable(err error) bool {
	return As(err).Unavailable()
}

func (c *Caller) send(ctx context.Context, r request) ([]byte, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", r.method, r.path, err)
		}
		body = bytes.NewReader(text)
	}
	address := c.client.services[r.service] + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	out, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", r.method, r.path, err)
	}
	c.setHeader(out.Header, r)
	response, err := c.client.http.Do(out)
	if err != nil {
		// The address in a url.Error may name people, so it must not get into a log.
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err
		}
		return nil, &Error{Status: http.StatusServiceUnavailable, Service: r.service, Message: "A part of the platform cannot be reached.", Cause: err}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, &Error{Status: http.StatusServiceUnavailable, Service: r.service, Message: "A part of the platform sent an incomplete response.", Cause: err}
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, refusal(r.service, response, content)
	}
	return content, nil
}

func (c *Caller) setHeader(header http.Header, r request) {
	p := c.passport
	p.Audience, p.Surface, p.Caller = r.service, passport.App, string(passport.Console)
	header.Set(passport.Header, c.client.signer.Sign(p))
	header.Set("Accept", "application/json")
	header.Set("User-Agent", c.userAgent)
	if r.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if c.requestID != "" {
		header.Set("X-Request-Id", c.requestID)
	}
	if r.version > 0 {
		header.Set("If-Match", etag.Version(r.version))
	}
}

// memberForm matches an error text that begins with the path of a member. The last part of the path may be a quoted key.
var memberForm = regexp.MustCompile(`(?s)^([a-z][A-Za-z0-9_.\[\]]*(?:\["(?:[^"\\]|\\.)*"\])?): (.*)$`)

// refusal returns the error that a response describes.
func refusal(service string, response *http.Response, content []byte) *Error {
	var body struct{ Error string }
	_ = json.Unmarshal(content, &body) // without a text, the status says enough
	err := &Error{Status: response.StatusCode, Service: service, Message: body.Error, Again: response.Header.Get(web.SignInHeader) == web.SignInAgain}
	if found := memberForm.FindStringSubmatch(body.Error); found != nil {
		err.Field, err.Message = found[1], found[2]
	}
	if seconds, failed := strconv.Atoi(response.Header.Get("Retry-After")); failed == nil {
		err.Wait = time.Duration(seconds) * time.Second
	}
	return err
}
