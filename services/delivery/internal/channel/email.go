package channel

import (
	"bytes"
	"context"
	"net/mail"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// defaultFrom is the sender where none is configured: mail that stays on this machine.
const defaultFrom = "Bellbuoy <status@localhost>"

// email is mail to a person's address: text and HTML, with a way out in every one.
// What all recipients of a change read alike is rendered once; the link with which one
// unsubscribes is each recipient's own and is put behind it.
type email struct {
	from *mail.Address
	out  outbox
}

// letter is a mail ready to leave.
type letter struct {
	id       string // of the delivery
	from, to string // the envelope's addresses
	body     []byte // as RFC 5322 has it
}

// outbox is where mail leaves: a server, or a folder.
type outbox interface {
	send(ctx context.Context, l letter) dispatch.Result
}

// newEmail is the channel as the operator configured it; the settings were checked when
// they were read, so an error here is one of a caller that did not.
func newEmail(o Options) (email, error) {
	sender := o.Mail.MailFrom
	if sender == "" {
		sender = defaultFrom
	}
	from, err := mail.ParseAddress(sender)
	if err != nil {
		return email{}, err
	}
	if o.Mail.SMTPURL == "" {
		return email{from, mailFolder{files: folder(filepath.Join(o.Data, "mail")), log: o.Log}}, nil
	}
	server, err := url.Parse(o.Mail.SMTPURL)
	if err != nil {
		return email{}, err.(*url.Error).Err // without the URL, which may hold a password
	}
	return email{from, newMailServer(server, o)}, nil
}

// Send makes the mail and hands it on. Its Message-ID is the delivery's id and so the
// same over retries: whoever gets it twice can tell.
func (e email) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	body, err := e.write(message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Again: dispatch.Never}
	}
	return e.out.send(ctx, letter{id: message.DeliveryID, from: e.from.Address, to: message.To.Address, body: body})
}

// write is the mail as it goes over the wire. Subject and names are what users typed:
// they are encoded, and cannot begin another header.
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
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office answers to this
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

// mailSubject is the publisher's, else one that says which dashboard and what happened, up to
// as many characters as a publisher's may have.
func mailSubject(message dispatch.Message) string {
	event := &message.Change.Event
	subject := oneLine(message.Change.Notify[topic.Email].Subject)
	if subject == "" {
		subject = statusName(event.Status) + ": " + oneLine(event.Title)
		if name := oneLine(message.To.Dashboard.Name); name != "" {
			subject = "[" + name + "] " + subject
		}
	}
	if characters := []rune(subject); len(characters) > maxSubject {
		return string(characters[:maxSubject]) + "…"
	}
	return subject
}
