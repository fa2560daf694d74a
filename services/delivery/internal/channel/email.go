package channel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
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

// defaultFrom is the sender if MailFrom is not set. MailFrom is required with an SMTP server, so only mail that is written to
// files has defaultFrom.
const defaultFrom = "Bellbuoy <status@localhost>"

// email sends mail with a text and an HTML part. Recipients with the same content share the rendered and encoded body.
// Only the header and the recipient's own links are written for each recipient.
type email struct {
	from          *mail.Address
	locales       *locale.Locales
	confirmWithin time.Duration
	mark          string                                              // random end of each mark, so that no text of a publisher contains a mark
	send          func(ctx context.Context, l letter) dispatch.Result // sends to the server, or writes a file
	hidden        []string                                            // parts of the operator's account that no log may show
}

// letter is a mail to be sent.
type letter struct {
	id           string // id of the delivery
	organization string
	from, to     string           // the envelope's addresses
	content      []byte           // RFC 5322
	sent         deliverylog.Sent // the request that the log shows
	fresh        func() bool      // dispatch.Message.Fresh
}

// newEmail returns the channel. It sends to the SMTP server of the settings. Without a server it writes files.
func newEmail(o Options) (email, error) {
	from, err := mail.ParseAddress(cmp.Or(o.Mail.MailFrom, defaultFrom))
	if err != nil {
		return email{}, err
	}
	e := email{from: from, locales: o.Locales, confirmWithin: o.ConfirmWithin, mark: rand.Text()}
	if o.Mail.SMTPURL == "" {
		out := folder{filepath.Join(o.Data, mailFolder), o.Log}
		e.send = func(ctx context.Context, l letter) dispatch.Result { return out.send(ctx, l.id+mailFile, l.content) }
		return e, nil
	}
	server, err := url.Parse(o.Mail.SMTPURL)
	if err != nil {
		return email{}, err.(*url.Error).Err // without the URL, which may hold a password
	}
	e.send = newMailServer(server, o).send
	password, _ := server.User.Password()
	e.hidden = slices.Clip([]string{password})
	return e, nil
}

// asciiDomain returns the address with its domain in ASCII (RFC 5890). A server without SMTPUTF8 accepts only such
// domains. A server with SMTPUTF8 delivers both forms to the same mailbox.
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
	l, err := e.write(ctx, message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Final: true}
	}
	result := e.send(ctx, l)
	result.Sent = l.sent
	result.Sent.Hidden = append(e.hidden, l.to) // the reply of a server may contain the password or the address
	return result
}

// write returns the mail. The log shows the subject without encoding.
func (e email) write(ctx context.Context, message dispatch.Message) (letter, error) {
	to, err := mail.ParseAddress(asciiDomain(message.To.Address))
	if err != nil {
		return letter{}, err
	}
	links := mailLinks{usable(message.To.Manage), usable(message.To.Unsubscribe)}
	key, shared, err := e.shared(ctx, message, links)
	if err != nil {
		return letter{}, err
	}
	id := message.DeliveryID + e.from.Address[strings.LastIndexByte(e.from.Address, '@'):]
	var out bytes.Buffer
	out.Grow(shared.size() + 1<<10 + 4*(len(links.manage)+len(links.unsubscribe)))
	header := make(http.Header)
	for _, field := range mailHeader(e.from.String(), to.Address, shared.subject, id, links.unsubscribe, message.At) {
		out.WriteString(field[0] + ": " + field[1] + "\r\n")
		header[http.CanonicalHeaderKey(field[0])] = []string{field[1]}
	}
	header["Subject"] = []string{shared.subject}
	shared.write(&out, links)
	plain := strings.NewReplacer(manageMark+e.mark, links.manage, unsubscribeMark+e.mark, links.unsubscribe, "\x00", "").Replace(shared.plain)
	return letter{message.DeliveryID, message.Change.Organization, e.from.Address, to.Address, out.Bytes(), deliverylog.Sent{Text: key, Header: header, Body: []byte(plain)}, message.Fresh}, nil
}

// shared returns the part of the mail that recipients with the same key share. Two recipients have the same key if the
// content is the same for both and both have the same kinds of links. A notice has only one recipient, so its mail is not
// cached.
func (e email) shared(ctx context.Context, message dispatch.Message, links mailLinks) (key string, shared sharedMail, err error) {
	l := localeOf(e.locales, message)
	if !ofEvent(message) {
		text, err := e.noticeText(ctx, l, message)
		return wordsKey(l, message), newSharedMail(text, e.mark), err
	}
	var marks mailLinks
	if links.manage != "" {
		marks.manage = manageMark + e.mark
	}
	if links.unsubscribe != "" {
		marks.unsubscribe = unsubscribeMark + e.mark
	}
	key = strings.Join([]string{wordsKey(l, message), marks.manage, marks.unsubscribe}, " ")
	shared, err = dispatch.Rendered(message.Change, "mail "+key, sharedMail.size, func() (sharedMail, error) {
		text, err := eventText(ctx, l, message, marks)
		return newSharedMail(text, e.mark), err
	})
	return key, shared, err
}
