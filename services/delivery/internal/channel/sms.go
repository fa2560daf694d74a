package channel

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
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
)

const (
	leastTitle = 16          // characters of the title that every text contains
	remindOnce = time.Minute // between two log lines about a refused account
)

// Permanent errors of the API about the number (its field code).
const (
	errorNotANumber = 21211
	errorOptedOut   = 21610
	errorNotMobile  = 21614
)

// messagingService matches the id of a group of senders. The API chooses one of them.
var messagingService = regexp.MustCompile("^MG[0-9a-fA-F]{32}$")

// sms sends text messages through a Twilio-compatible API. The operator chooses the server, so every address
// and plain HTTP are allowed.
//
// A text costs money and cannot be recalled, and the API has no idempotency key. So an attempt without a
// response fails, without a retry, if the request may have been written. A text can be sent twice only if the
// process is killed between the attempt and the storing of its row, because delivery is at least once.
type sms struct {
	tracing
	target    *url.URL
	account   string // the user name; token is the password
	token     string
	sender    url.Values // From, or MessagingServiceSid
	transport *http.Transport
	log       *slog.Logger
	reminded  atomic.Int64 // time of the last log line about a refused account, in Unix ns
}

// newSMS returns the channel: with the API of the settings, or with a folder.
func newSMS(o Options) (dispatch.Channel, error) {
	if o.Texts.SMSURL == "" {
		return textFolder{folder{filepath.Join(o.Data, "sms"), o.Log}}, nil
	}
	return newSMSServer(o)
}

func newSMSServer(o Options) (*sms, error) {
	base, err := url.Parse(o.Texts.SMSURL)
	if err != nil {
		return nil, errors.New("SMS_URL is not a URL") // without the cause, which contains the token
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
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &sms{
		tracing: newTracing(o), target: target, account: account, token: token, sender: sender, log: o.Log,
		transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: o.Timeout}).DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
			TLSHandshakeTimeout:    o.Timeout,
			MaxIdleConns:           idlePerHost,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
			DisableCompression:     true,
			Protocols:              &protocols,
		},
	}, nil
}

// Send makes one attempt. Only the request contains the number and the token.
func (s *sms) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	form := url.Values{"To": {message.To.Address}, "Body": {textOf(message)}}
	maps.Copy(form, s.sender)
	return s.traced(ctx, http.MethodPost, s.target.Hostname(), func(ctx context.Context) dispatch.Result {
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
		return s.post(request, &written)
	})
}

// watched returns ctx with a trace that sets written while the request has a connection, so that it may have
// been written. The transport takes another connection if a kept one turns out to be closed.
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
	// The status decides. A part of the body is enough for its error code.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	result := resultOf(response)
	s.refine(request.Context(), &result, body)
	return result
}

// refine adapts the result of a refusal: of the account, which the operator can fix, of the number, or of this
// request. The API never uses the status 410 for a number.
func (s *sms) refine(ctx context.Context, result *dispatch.Result, body []byte) {
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

// remind logs that the account is refused, at most once in remindOnce.
func (s *sms) remind(ctx context.Context, status int) {
	now := time.Now().UnixNano()
	last := s.reminded.Load()
	if (last == 0 || now-last >= int64(remindOnce)) && s.reminded.CompareAndSwap(last, now) {
		s.log.ErrorContext(ctx, "The SMS server refuses the account of SMS_URL. Texts wait for their next attempt.", "status", status)
	}
}

// textOf returns the publisher's text, or a default text.
func textOf(message dispatch.Message) string {
	if text := message.Change.Notify[topic.SMS].Text; text != "" {
		return text
	}
	return defaultText(&message.Change.Event, message.To.Dashboard)
}

// defaultText returns the dashboard's name, the status, the title and the link, in one segment. If they do not
// fit, it shortens the title to at least leastTitle characters. If they still do not fit, it omits the
// dashboard's name, then the link, then both.
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

// beginning returns the shortest form of a title.
func beginning(title string) string {
	if runes := []rune(title); len(runes) > leastTitle {
		return string(runes[:leastTitle]) + "..."
	}
	return title
}

// textFolder writes texts to files.
type textFolder struct{ folder }

// text is the content of a file.
type text struct {
	To         string `json:"to"`
	From       string `json:"from"`
	Body       string `json:"body"`
	DeliveryID string `json:"deliveryId"`
	EventID    string `json:"eventId"`
}

// Send writes the file of the delivery.
func (f textFolder) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	content, err := json.MarshalIndent(text{
		To: message.To.Address, Body: textOf(message), DeliveryID: message.DeliveryID, EventID: message.Change.Event.ID,
	}, "", "  ")
	if err != nil {
		return dispatch.Result{Code: codeUnwritten}
	}
	return f.send(ctx, message.DeliveryID+".json", append(content, '\n'))
}
