package channel

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	leastTitle = 16          // characters: with less of it the rest of the text makes room
	remindOnce = time.Minute // how often the log says that the account is refused
)

// Errors of the API that are about the number and will stay (its field code).
const (
	errorNotANumber = 21211
	errorOptedOut   = 21610
	errorNotMobile  = 21614
)

// messagingService is the id of a group of senders, of which the API chooses one.
var messagingService = regexp.MustCompile("^MG[0-9a-fA-F]{32}$")

// sms sends text messages through a Twilio-compatible API. The server is the
// operator's own choice, so no address is forbidden to it and plain HTTP is what the
// setting says.
//
// A text cannot be taken back and costs money, and the API knows no idempotency key. So an
// attempt that ended without an answer is not repeated once the request may have been
// written; it fails. What remains is a process killed between the attempt and its row:
// then the text may be sent twice, as delivery is at least once.
type sms struct {
	timeout    time.Duration
	target     *url.URL
	account    string // user name and password are the account and its token
	token      string
	sender     url.Values // From, or MessagingServiceSid
	transport  *http.Transport
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	log        *slog.Logger
	reminded   atomic.Int64 // when the log last said that the account is refused, Unix time in ns
}

// newSMS makes the channel: with a server the API's, without one the folder's.
func newSMS(o Options) (dispatch.Channel, error) {
	if o.Texts.SMSURL == "" {
		return textFolder{folder(filepath.Join(o.Data, "sms")), o.Log}, nil
	}
	return newSMSServer(o)
}

func newSMSServer(o Options) (*sms, error) {
	base, err := url.Parse(o.Texts.SMSURL)
	if err != nil {
		return nil, errors.New("SMS_URL is not a URL") // the cause would show the token
	}
	token, _ := base.User.Password()
	account := base.User.Username()
	target := (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).
		JoinPath("2010-04-01", "Accounts", url.PathEscape(account), "Messages.json")
	from, sender := o.Texts.From(), url.Values{}
	if messagingService.MatchString(from) {
		sender.Set("MessagingServiceSid", from)
	} else {
		sender.Set("From", from)
	}
	return &sms{
		timeout: o.Timeout, target: target, account: account, token: token, sender: sender,
		tracer:     o.Tracer.Tracer("github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"),
		propagator: o.Propagator, log: o.Log,
		transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: o.Timeout}).DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
			TLSHandshakeTimeout:    o.Timeout,
			MaxIdleConns:           idlePerHost,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
			DisableCompression:     true,
			Protocols:              http1(),
		},
	}, nil
}

func http1() *http.Protocols {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &protocols
}

// Send makes one attempt. The number and the token leave in the request alone.
func (s *sms) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	form := url.Values{"To": {message.To.Address}, "Body": {textOf(message)}}
	for name, value := range s.sender {
		form[name] = value
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ctx, span := s.tracer.Start(ctx, http.MethodPost, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(semconv.HTTPRequestMethodPost, semconv.ServerAddress(s.target.Hostname()))
	}
	var written atomic.Bool
	request, err := http.NewRequestWithContext(watched(ctx, &written), http.MethodPost, s.target.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Again: dispatch.Never}
	}
	request.SetBasicAuth(s.account, s.token)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	s.propagator.Inject(ctx, propagation.HeaderCarrier(request.Header))
	result := s.post(request, &written)
	if span.IsRecording() {
		describe(span, result)
	}
	return result
}

// watched makes ctx tell whether the request may have been written: from when it has a
// connection. The transport takes another one by itself when one that it kept turns out to be closed.
func watched(ctx context.Context, written *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { written.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { written.Store(true) },
	})
}

func (s *sms) post(request *http.Request, written *atomic.Bool) dispatch.Result {
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		result := dispatch.Result{Code: codeOf(request.Context(), err)}
		if written.Load() {
			result.Again = dispatch.Never
		}
		return result
	}
	defer response.Body.Close()
	// The status alone says whether it was accepted; half an answer does as well.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	result := dispatch.Result{
		HTTPStatus: response.StatusCode,
		Code:       dispatch.CodeOf(response.StatusCode),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
	s.judge(request.Context(), &result, body)
	return result
}

// judge says what a refusal is about: the account, which is the operator's to put right, or
// the number, or this request. What the API answers is never about an address as HTTP's 410 is.
func (s *sms) judge(ctx context.Context, result *dispatch.Result, body []byte) {
	status := result.HTTPStatus
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		result.Again = dispatch.AsPlanned
		s.remind(ctx, status)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		result.Code, result.Again = dispatch.CodeClientError, dispatch.Never
		var refusal struct{ Code int }
		if json.Unmarshal(body, &refusal) != nil {
			return
		}
		switch refusal.Code {
		case errorNotANumber, errorOptedOut, errorNotMobile:
			result.Code = dispatch.CodeGone
		}
	}
}

// remind tells the operator that the account is refused, not once a text.
func (s *sms) remind(ctx context.Context, status int) {
	now := time.Now().UnixNano()
	last := s.reminded.Load()
	if (last == 0 || now-last >= int64(remindOnce)) && s.reminded.CompareAndSwap(last, now) {
		s.log.ErrorContext(ctx, "the SMS server refuses the account of SMS_URL; texts wait for their next attempt", "status", status)
	}
}

// textOf is what the publisher wrote, as written, or the channel's own text.
func textOf(message dispatch.Message) string {
	if text := message.Change.Notify[topic.SMS].Text; text != "" {
		return text
	}
	return defaultText(&message.Change.Event, message.To.Dashboard)
}

// defaultText names the dashboard, what happened and where to read on, in one segment.
// Where that needs room the title is cut; where too little would be left of it, the dashboard's
// name goes first, then the link: half a link leads nowhere.
func defaultText(event *topic.Event, dashboard topic.Dashboard) string {
	title := plain(event.Title)
	status := plain(event.Type + " " + event.Status)
	name, link := "", ""
	if dashboard.Name != "" {
		name = plain(dashboard.Name) + ": "
	}
	if dashboard.URL != "" {
		link = " " + eventURL(dashboard.URL, event.ID)
	}
	for _, around := range [][2]string{{name, link}, {"", link}, {name, ""}, {"", ""}} {
		write := func(title string) string { return around[0] + status + ": " + title + around[1] }
		if spare(write(beginning(title))) < 0 {
			continue
		}
		if text, ok := fitted(title, write); ok {
			return text
		}
	}
	return status
}

// beginning is what of a title must be told at least.
func beginning(title string) string {
	if runes := []rune(title); len(runes) > leastTitle {
		return string(runes[:leastTitle]) + "..."
	}
	return title
}

// textFolder writes texts to files where no server is configured, so that a platform
// being tried out shows what it would send.
type textFolder struct {
	folder folder
	log    *slog.Logger
}

// text is such a file.
type text struct {
	To         string `json:"to"`
	From       string `json:"from"`
	Body       string `json:"body"`
	DeliveryID string `json:"deliveryId"`
	EventID    string `json:"eventId"`
}

// Send writes the file of the delivery, the same one over retries.
func (t textFolder) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	content, err := json.MarshalIndent(text{
		To: message.To.Address, Body: textOf(message), DeliveryID: message.DeliveryID, EventID: message.Change.Event.ID,
	}, "", "  ")
	if err == nil {
		err = t.folder.put(message.DeliveryID+".json", append(content, '\n'))
	}
	if err != nil {
		t.log.ErrorContext(ctx, "a text cannot be written to the data folder", "delivery", message.DeliveryID, "error", err)
		return dispatch.Result{Code: codeUnwritten}
	}
	return dispatch.Result{}
}
