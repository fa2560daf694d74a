package channel

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/mail"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// defaultFrom is the sender of mail to files if no sender is configured.
const defaultFrom = "Bellbuoy <status@localhost>"

// email sends mail with a text and an HTML part. The parts are rendered once for all recipients with the same
// content. Then the recipient's own unsubscribe link is appended.
type email struct {
	from *mail.Address
	send func(ctx context.Context, l letter) dispatch.Result // over the server, or to a folder
}

// letter is a mail to be sent.
type letter struct {
	id       string // of the delivery
	from, to string // the envelope's addresses
	body     []byte // RFC 5322
}

// newEmail returns the channel: with the SMTP server of the settings, or with a folder.
func newEmail(o Options) (email, error) {
	from, err := mail.ParseAddress(cmp.Or(o.Mail.MailFrom, defaultFrom))
	if err != nil {
		return email{}, err
	}
	if o.Mail.SMTPURL == "" {
		out := folder{filepath.Join(o.Data, "mail"), o.Log}
		return email{from, func(ctx context.Context, l letter) dispatch.Result { return out.send(ctx, l.id+".eml", l.body) }}, nil
	}
	server, err := url.Parse(o.Mail.SMTPURL)
	if err != nil {
		return email{}, err.(*url.Error).Err // without the URL, which may hold a password
	}
	return email{from, newMailServer(server, o).send}, nil
}

// Send renders the mail and makes one attempt. The Message-ID contains the delivery's id, so it is the same
// for all retries and receivers can detect a repetition.
func (e email) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	body, err := e.write(message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Again: dispatch.Never}
	}
	result := e.send(ctx, letter{id: message.DeliveryID, from: e.from.Address, to: message.To.Address, body: body})
	if text, _, err := mailParts(message); err == nil {
		result.Sent = dispatch.Sent{
			Text: textKey(message), Body: []byte(text),
			Header: http.Header{"From": {e.from.String()}, "Subject": {mailSubject(message)}, "Message-Id": {message.DeliveryID}},
		}
	}
	return result
}

// write returns the mail. It encodes the subject and the names, which users wrote, so that they cannot add a
// header.
func (e email) write(message dispatch.Message) ([]byte, error) {
	text, html, err := mailParts(message)
	if err != nil {
		return nil, err
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(e.from)
	if err := m.To(message.To.Address); err != nil {
		return nil, err
	}
	m.Subject(mailSubject(message))
	m.SetDateWithValue(message.At.UTC().Truncate(time.Second))
	m.SetMessageIDWithValue(message.DeliveryID + e.from.Address[strings.LastIndexByte(e.from.Address, '@'):])
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: suppresses out-of-office replies
	if manage := message.To.Manage; manage != "" {
		m.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+manage+">")
		m.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click") // RFC 8058
	}
	m.SetBodyString(gomail.TypeTextPlain, text)
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	var out bytes.Buffer
	_, err = m.WriteTo(&out)
	return out.Bytes(), err
}

// mailSubject returns the publisher's subject, or a subject with the dashboard and the headline.
func mailSubject(message dispatch.Message) string {
	if aboutEndpoint(message) {
		return titled(message.To.Dashboard, noticeTitle(message))
	}
	if subject := oneLine(message.Change.Notify[topic.Email].Subject); subject != "" {
		return shortSubject(subject)
	}
	return titled(message.To.Dashboard, headline(&message.Change.EventChange))
}

// titled returns a subject with the dashboard.
func titled(dashboard topic.Dashboard, title string) string {
	if name := oneLine(dashboard.Name); name != "" {
		title = "[" + name + "] " + title
	}
	return shortSubject(title)
}

// shortSubject returns a subject with at most maxSubject characters, the limit of a publisher's subject.
func shortSubject(subject string) string {
	if characters := []rune(subject); len(characters) > maxSubject {
		return string(characters[:maxSubject]) + "…"
	}
	return subject
}
