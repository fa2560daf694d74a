package channel

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	remindOnce = time.Minute // minimum time between two log lines about a refused account
	maxHold    = time.Hour   // limit for a pause that the provider asks for
	// Deliveries that wait for the end of a pause wake one after the other, turnGap apart. If a turn would be later
	// than longestTurn after the end of the pause, the turns start again at the end of the pause.
	turnGap     = 20 * time.Millisecond
	longestTurn = 10 * time.Minute
)

// errUnsent is joined to the error of a failed dial. It means that the request was not sent.
var errUnsent = errors.New("the request was not sent")

// messagingService matches the id of a Messaging Service, a group of senders from which the API chooses the sender.
var messagingService = regexp.MustCompile("^MG[0-9a-fA-F]{32}$")

// account is an account of a Twilio-compatible API, for SMS and WhatsApp. The operator chooses the server, so every address
// and plain HTTP are allowed.
//
// A failed attempt is retried only if the request was not sent, or the response is a redirect, 429 or 503. If the connection
// breaks before the response, or the server responds with another status of 400 or more, the delivery fails without a retry,
// because the message may have been sent or would be refused again.
type account struct {
	*caller
	pause
	target   *url.URL
	login    string   // the header Authorization
	hidden   []string // parts of the operator's account that no log may show
	sender   string
	log      *slog.Logger
	reminded atomic.Int64 // time of the last log line about a refused account, in Unix ns
}

// newAccount returns the account of SMS_URL.
func newAccount(o Options) (*account, error) {
	base, err := url.Parse(o.Texts.SMSURL)
	if err != nil {
		return nil, errors.New("SMS_URL is not a URL") // without the cause, which contains the token
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if base.Scheme == "https" {
		dialer = &tls.Dialer{Config: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}}
	}
	address := net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), base.Scheme))
	a := &account{log: o.Log, sender: o.Texts.From(), caller: newCaller(o, idleTextTimeout, func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, errors.Join(err, errUnsent)
		}
		return conn, nil
	})}
	a.target = (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).
		JoinPath("2010-04-01", "Accounts", url.PathEscape(base.User.Username()), "Messages.json")
	token, _ := base.User.Password()
	a.hidden = []string{a.target.Path, base.User.Username(), token}
	a.login = "Basic " + base64.StdEncoding.EncodeToString([]byte(base.User.Username()+":"+token))
	return a, nil
}

// Bucket implements dispatch.Shared.
func (a *account) Bucket() string { return "account of SMS_URL" }

// sendText makes one attempt. The number and the token are in the request, and not in the logged request.
func (a *account) sendText(ctx context.Context, message dispatch.Message, key string, t text) dispatch.Result {
	form, shown := url.Values{"Body": {t.Body}}, t.Body
	if t.ContentSid != "" {
		form, shown = url.Values{"ContentSid": {t.ContentSid}, "ContentVariables": {t.ContentVariables}}, t.ContentVariables
	}
	form.Set("To", t.To)
	if messagingService.MatchString(a.sender) {
		form.Set("MessagingServiceSid", a.sender)
	} else {
		form.Set("From", strings.TrimSuffix(t.To, message.To.Address)+a.sender) // with the prefix of the channel's addresses
	}
	return a.post(ctx, form, deliverylog.Sent{Text: key, Body: []byte(shown)})
}

// post makes one attempt. The log contains shown instead of the form.
func (a *account) post(ctx context.Context, form url.Values, shown deliverylog.Sent) dispatch.Result {
	if wait := a.Hold(time.Now()); wait > 0 { // the response to a concurrent request has just started a pause
		return dispatch.Result{Code: deliverylog.CodeHeld, RetryAfter: wait}
	}
	header := http.Header{
		"Authorization": {a.login},
		"Content-Type":  {"application/x-www-form-urlencoded"},
		"Accept":        {"application/json"},
	}
	return a.traced(ctx, http.MethodPost, a.target.Hostname(), func(ctx context.Context) dispatch.Result {
		result, content, err := a.exchange(ctx, http.MethodPost, a.target, header, []byte(form.Encode()), false)
		if err != nil && !errors.Is(err, errUnsent) {
			result.Final = true
		}
		a.refine(ctx, &result, content)
		result.Sent.Text, result.Sent.Body, result.Sent.Hidden = shown.Text, shown.Body, a.hidden
		return result
	})
}

// refine sets result.Code and result.Final of a refused request by the status and body of the response. A 429 or 503 with a
// Retry-After starts a pause.
func (a *account) refine(ctx context.Context, result *dispatch.Result, body []byte) {
	switch status := result.HTTPStatus; {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		a.begin(result.RetryAfter, time.Now())
	case status >= 500:
		result.Final = true
	case status >= 400:
		result.Code, result.Final = refusal(body), true
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			result.Code = deliverylog.CodeClientError
			a.remind(ctx, status)
		}
	}
}

// refusal returns the code for the JSON member "code" in the body of the response to a refused request. CodeGone and
// CodeOptedOut mean that the number accepts no later message. The status 410 of an account does not mean that, unlike in
// dispatch.CodeOf.
func refusal(body []byte) deliverylog.Code {
	var refused struct{ Code int }
	if json.Unmarshal(body, &refused) != nil {
		return deliverylog.CodeClientError
	}
	switch refused.Code {
	case 21211, // not a valid number
		21614, // not a mobile number
		63003: // WhatsApp: the address is inactive or invalid
		return deliverylog.CodeGone
	case 21610, // the recipient has replied STOP
		63014, // WhatsApp: the recipient has blocked the sender
		63033: // the former code for the same
		return deliverylog.CodeOptedOut
	}
	return deliverylog.CodeClientError
}

// remind logs that the server refuses the account. It does so at most once in remindOnce.
func (a *account) remind(ctx context.Context, status int) {
	now := time.Now().UnixNano()
	last := a.reminded.Load()
	if (last == 0 || now-last >= int64(remindOnce)) && a.reminded.CompareAndSwap(last, now) {
		a.log.ErrorContext(ctx, "The server of SMS_URL refuses the account. Texts fail until SMS_URL is correct. Replay them from the delivery log.", "status", status)
	}
}

// pause stores until when the provider wants no requests.
type pause struct {
	mu    sync.Mutex
	until time.Time
	turns dispatch.Turns // assigns each wait of Hold its own end
}

// begin starts a pause, or extends the current one.
func (p *pause) begin(asked time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := now.Add(min(asked, maxHold)); until.After(p.until) {
		p.until = until
	}
}

// Hold implements dispatch.Account.
func (p *pause) Hold(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.until) {
		return 0
	}
	turn := p.turns.Turn(p.until, turnGap)
	if turn.Sub(p.until) > longestTurn {
		p.turns = dispatch.Turns{}
		turn = p.turns.Turn(p.until, turnGap)
	}
	return turn.Sub(now)
}
