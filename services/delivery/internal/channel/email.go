package channel

import (
	"bytes"
	"cmp"
	"context"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// defaultFrom is the sender of mail to files if no sender is configured.
const defaultFrom = "Bellbuoy <status@localhost>"

// email sends mail with a text and an HTML part. Recipients with the same content share the rendered and encoded body.
// Only the header and the recipient's own links are written for each.
type email struct {
	from          *mail.Address
	locales       *locale.Locales
	confirmWithin time.Duration
	marks         mailLinks
	send          func(ctx context.Context, l letter) dispatch.Result // over the server, or to a folder
}

// bodyMark is between the text and the body in the cache. Neither has it.
const bodyMark = "\x00\x00"

// letter is a mail to be sent.
type letter struct {
	id       string // id of the delivery
	from, to string // the envelope's addresses
	body     []byte // RFC 5322
}

// newEmail returns the channel: with the SMTP server of the settings, or with a folder.
func newEmail(o Options) (email, error) {
	from, err := mail.ParseAddress(cmp.Or(o.Mail.MailFrom, defaultFrom))
	if err != nil {
		return email{}, err
	}
	e := email{from: from, locales: o.Locales, confirmWithin: o.ConfirmWithin, marks: newMailMarks()}
	if o.Mail.SMTPURL == "" {
		out := folder{filepath.Join(o.Data, mailFolder), o.Log}
		e.send = func(ctx context.Context, l letter) dispatch.Result { return out.send(ctx, l.id+mailFile, l.body) }
		return e, nil
	}
	server, err := url.Parse(o.Mail.SMTPURL)
	if err != nil {
		return email{}, err.(*url.Error).Err // without the URL, which may hold a password
	}
	e.send = newMailServer(server, o).send
	return e, nil
}

// asciiDomain returns the address with its domain in ASCII (RFC 5890). A server without SMTPUTF8 refuses any other domain, and a
// server with SMTPUTF8 finds the same mailbox.
func asciiDomain(address string) string {
	at := strings.LastIndexByte(address, '@') + 1
	domain, err := idna.Lookup.ToASCII(address[at:])
	if err != nil {
		return address
	}
	return address[:at] + domain
}

// Send renders the mail and makes one attempt. The Message-ID contains the delivery's id, so it is the same
// for all retries and receivers can detect a repetition.
func (e email) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	written, err := e.write(ctx, message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Again: dispatch.Never}
	}
	result := e.send(ctx, letter{id: message.DeliveryID, from: e.from.Address, to: written.head.to.Address, body: written.content})
	result.Sent = deliverylog.Sent{Text: written.key, Header: written.head.logged(), Body: []byte(written.text)}
	return result
}

// writtenMail is a mail, and its parts for the log.
type writtenMail struct {
	content            []byte // RFC 5322
	head               mailHead
	key, subject, text string // key is that of mails that differ only in the links
}

// write returns the mail.
func (e email) write(ctx context.Context, message dispatch.Message) (writtenMail, error) {
	to, err := mail.ParseAddress(asciiDomain(message.To.Address))
	if err != nil {
		return writtenMail{}, err
	}
	links := mailLinks{usable(message.To.Manage), usable(message.To.Unsubscribe)}
	written, body, err := e.body(ctx, message, links)
	if err != nil {
		return writtenMail{}, err
	}
	written.head = mailHead{
		from: e.from.String(), to: &mail.Address{Address: to.Address}, subject: written.subject, at: message.At,
		id:          message.DeliveryID + e.from.Address[strings.LastIndexByte(e.from.Address, '@'):],
		unsubscribe: links.unsubscribe,
	}
	var out bytes.Buffer
	out.Grow(len(body) + 1<<10 + 4*(len(links.manage)+len(links.unsubscribe)))
	written.head.write(&out)
	personal(&out, body, links)
	written.content = out.Bytes()
	return written, nil
}

// body returns the body of the mail with marks, and the parts for the log.
func (e email) body(ctx context.Context, message dispatch.Message, links mailLinks) (writtenMail, []byte, error) {
	l := localeOf(e.locales, message)
	if !ofEvent(message) {
		text, err := e.noticeText(ctx, l, message)
		if err != nil {
			return writtenMail{}, nil, err
		}
		body, err := sharedBody(text, mailLinks{})
		return writtenMail{key: wordsKey(l, message), subject: text.subject, text: text.plain}, body, err
	}
	marks := e.marks.of(links)
	key := strings.Join([]string{wordsKey(l, message), marks.manage, marks.unsubscribe}, " ")
	shared, err := message.Change.Rendered("mail "+key, func() ([]byte, error) {
		text, err := eventText(ctx, l, message, marks)
		if err != nil {
			return nil, err
		}
		body, err := sharedBody(text, marks)
		plain := strings.ReplaceAll(text.plain, "\x00", "")
		return slices.Concat([]byte(text.subject), []byte("\n"), []byte(plain), []byte(bodyMark), body), err
	})
	subject, rest, _ := bytes.Cut(shared, []byte("\n"))
	plain, body, _ := bytes.Cut(rest, []byte(bodyMark))
	return writtenMail{key: key, subject: string(subject), text: e.marks.replace(string(plain), links)}, body, err
}
