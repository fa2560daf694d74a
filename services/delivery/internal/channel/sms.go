package channel

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
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
	*caller
	target   *url.URL
	login    string     // the header Authorization
	hidden   []string   // of the operator's account
	sender   url.Values // From, or MessagingServiceSid
	log      *slog.Logger
	reminded atomic.Int64 // time of the last log line about a refused account, in Unix ns
}

// errUnsent is a part of the error of a request without a connection.
var errUnsent = errors.New("the request was not sent")

// newSMS returns the channel: with the API of the settings, or with a folder.
func newSMS(o Options) (dispatch.Channel, error) {
	if o.Texts.SMSURL == "" {
		return textFolder{folder{filepath.Join(o.Data, "sms"), o.Log}}, nil
	}
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
	s := &sms{sender: url.Values{}, log: o.Log, caller: newCaller(o, func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, errors.Join(err, errUnsent)
		}
		return conn, nil
	})}
	s.target = (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).
		JoinPath("2010-04-01", "Accounts", url.PathEscape(base.User.Username()), "Messages.json")
	token, _ := base.User.Password()
	s.hidden = []string{s.target.Path, base.User.Username(), token}
	s.login = "Basic " + base64.StdEncoding.EncodeToString([]byte(base.User.Username()+":"+token))
	if from := o.Texts.From(); messagingService.MatchString(from) {
		s.sender.Set("MessagingServiceSid", from)
	} else {
		s.sender.Set("From", from)
	}
	return s, nil
}

// Send makes one attempt. Only the request contains the number and the token.
func (s *sms) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	form := url.Values{"To": {message.To.Address}, "Body": {textOf(message)}}
	maps.Copy(form, s.sender)
	header := http.Header{
		"Authorization": {s.login},
		"Content-Type":  {"application/x-www-form-urlencoded"},
		"Accept":        {"application/json"},
	}
	return s.traced(ctx, http.MethodPost, s.target.Hostname(), func(ctx context.Context) dispatch.Result {
		result, content, err := s.exchange(ctx, s.target, header, []byte(form.Encode()), false)
		if err != nil && !errors.Is(err, errUnsent) {
			result.Again = dispatch.Never
		}
		s.refine(ctx, &result, content)
		result.Sent.Text, result.Sent.Body = textKey(message), []byte(form.Get("Body"))
		result.Sent.Hidden = s.hidden
		return result
	})
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
	return defaultText(&message.Change.EventChange, message.To.Dashboard, message.Components)
}

// defaultText returns the dashboard's name, the status, the title and the link, in one segment. If they do not
// fit, it shortens the title to at least leastTitle characters. If they still do not fit, it omits the
// dashboard's name, then the link, then both.
func defaultText(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) string {
	title := plain(change.Event.Title)
	status := plain(shortStatus(change))
	name, link := "", ""
	if dashboard.Name != "" {
		name = plain(dashboard.Name) + ": "
	}
	if page := eventURL(dashboard, &change.Event, components); page != "" {
		link = " " + page
	}
	for _, around := range [][2]string{{name, link}, {"", link}, {name, ""}, {"", ""}} {
		write := func(title string) string { return around[0] + status + ": " + title + around[1] }
		if text, ok := fitted(title, leastTitle, write); ok {
			return text
		}
	}
	return status
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
	result := f.send(ctx, message.DeliveryID+".json", append(content, '\n'))
	result.Sent = dispatch.Sent{Text: textKey(message), Body: []byte(textOf(message))}
	return result
}
