package delivery_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	mailUser     = "platform"
	mailPassword = "password-of-the-mail-account"
	mailAddress  = "mara.kowalski@example.com"
	mailManage   = "https://status.test/public/unsubscribe?token=of-the-recipient"
)

// posted is a mail at the server.
type posted struct {
	from      string
	to        []string
	header    mail.Header
	body      string
	user      string // who logged in, and how
	mechanism string
	secure    bool
}

// postOffice is a mail server with replies from the test.
type postOffice struct {
	t        *testing.T
	listener net.Listener
	sender, recipient,
	content func(attempt int) error // the replies to MAIL, to RCPT and to the mail; nil accepts all
	receives   func(to string) error // the reply to RCPT by address
	mechanisms []string              // for login; none: no login is required
	address    string                // empty: a free port
	implicit   bool                  // TLS from the first byte, as smtps has it
	insecure   bool                  // logins are taken without TLS

	mu          sync.Mutex
	connections []net.Conn
	attempts    int
	refused     int // logins
	mails       []posted
}

// newPostOffice starts a server on the loopback address. With a certificate it offers STARTTLS or uses TLS.
func newPostOffice(t *testing.T, o *postOffice, certificates ...tls.Certificate) *postOffice {
	t.Helper()
	listener, err := net.Listen("tcp", cmp.Or(o.address, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	o.t, o.listener = t, listener
	server := smtp.NewServer(o)
	server.Domain = "mail.test"
	server.AllowInsecureAuth = o.insecure
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if len(certificates) > 0 {
		server.TLSConfig = &tls.Config{Certificates: certificates}
	}
	var door net.Listener = o
	if o.implicit {
		door = tls.NewListener(o, server.TLSConfig)
	}
	var ended sync.WaitGroup
	ended.Go(func() { _ = server.Serve(door) })
	t.Cleanup(func() {
		server.Close()
		ended.Wait()
	})
	return o
}

// Accept implements net.Listener: it counts the connections.
func (o *postOffice) Accept() (net.Conn, error) {
	conn, err := o.listener.Accept()
	if err == nil {
		o.mu.Lock()
		o.connections = append(o.connections, conn)
		o.mu.Unlock()
	}
	return conn, err
}

func (o *postOffice) Close() error   { return o.listener.Close() }
func (o *postOffice) Addr() net.Addr { return o.listener.Addr() }

// url returns the setting for this server. account may be empty.
func (o *postOffice) url(scheme, account string) string {
	_, port, err := net.SplitHostPort(o.listener.Addr().String())
	if err != nil {
		o.t.Fatal(err)
	}
	return scheme + "://" + account + "localhost:" + port
}

func (o *postOffice) got() (mails []posted, connections, refused int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]posted(nil), o.mails...), len(o.connections), o.refused
}

// NewSession implements smtp.Backend.
func (o *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, secure := c.TLSConnectionState()
	return &clerk{office: o, mail: posted{secure: secure}}, nil
}

// clerk serves one connection.
type clerk struct {
	office  *postOffice
	mail    posted
	attempt int
}

func (c *clerk) Reset()        { c.mail.from, c.mail.to = "", nil }
func (c *clerk) Logout() error { return nil }

func (c *clerk) AuthMechanisms() []string { return c.office.mechanisms }

func (c *clerk) Auth(mechanism string) (sasl.Server, error) {
	c.mail.mechanism = mechanism
	switch mechanism {
	case "PLAIN":
		return sasl.NewPlainServer(func(_, user, password string) error { return c.check(user, password) }), nil
	case "LOGIN":
		return &login{check: c.check}, nil
	}
	return nil, smtp.ErrAuthUnknownMechanism
}

func (c *clerk) check(user, password string) error {
	if user != mailUser || password != mailPassword {
		c.office.mu.Lock()
		c.office.refused++
		c.office.mu.Unlock()
		return smtp.ErrAuthFailed
	}
	c.mail.user = user
	return nil
}

// login is the mechanism LOGIN.
type login struct {
	check   func(user, password string) error
	answers []string
	asked   int
}

// Next implements sasl.Server.
func (l *login) Next(answer []byte) (question []byte, done bool, err error) {
	if l.asked > 0 {
		l.answers = append(l.answers, string(answer))
	}
	l.asked++
	switch len(l.answers) {
	case 0:
		return []byte("Username:"), false, nil
	case 1:
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.answers[0], l.answers[1])
}

func (c *clerk) Mail(from string, _ *smtp.MailOptions) error {
	if c.office.mechanisms != nil && c.mail.user == "" {
		return smtp.ErrAuthRequired
	}
	c.mail.from = from
	c.office.mu.Lock()
	c.office.attempts++
	c.attempt = c.office.attempts
	c.office.mu.Unlock()
	if c.office.sender != nil {
		return c.office.sender(c.attempt)
	}
	return nil
}

func (c *clerk) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.mail.to = append(c.mail.to, to)
	if c.office.receives != nil {
		return c.office.receives(to)
	}
	if c.office.recipient != nil {
		return c.office.recipient(c.attempt)
	}
	return nil
}

func (c *clerk) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	message, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		c.office.t.Errorf("%v in %s", err, content)
		return err
	}
	body, err := io.ReadAll(message.Body)
	if err != nil {
		return err
	}
	got := c.mail
	got.header, got.body = message.Header, string(body)
	c.office.mu.Lock()
	c.office.mails = append(c.office.mails, got)
	c.office.mu.Unlock()
	if c.office.content != nil {
		return c.office.content(c.attempt)
	}
	return nil
}

// replies returns the n-th reply for the n-th attempt, and the last one for all later attempts.
func replies(all ...error) func(int) error {
	return func(attempt int) error { return all[min(attempt, len(all))-1] }
}

// reply returns the error for a reply such as "550 5.1.1 No such user".
func reply(code int, status smtp.EnhancedCode) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: status, Message: "said by the test to <" + mailAddress + ">"}
}

// refuses always replies with the enhanced status.
func refuses(code, class, subject, detail int) func(int) error {
	return replies(reply(code, smtp.EnhancedCode{class, subject, detail}))
}

// reader returns a mail subscriber.
func reader(id string) topic.Destination {
	return topic.Destination{
		ID: id, Channel: topic.Email, Address: mailAddress, Unsubscribe: mailManage,
		Dashboard: topic.Dashboard{ID: dashboardID, Name: "Status", URL: "https://status.test/d/main"},
	}
}

// mailing starts a service that sends through the server at the URL.
func (w *world) mailing(url string, settings ...func(*delivery.Config)) *service {
	w.t.Helper()
	c := w.config()
	c.LogLevel = "debug"
	c.SMTPURL, c.MailFrom = url, "Störung <status@bellbuoy.test>"
	for _, set := range settings {
		set(&c)
	}
	w.person(&c, reader("p1"))
	return w.start(c)
}

// mail sends a mail through the service and returns its row.
func (w *world) mail(s *service, set ...func(*topic.EventChange)) (deliverylog.Delivery, topic.Outcome) {
	w.t.Helper()
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {}}
	for _, change := range set {
		change(&sent)
	}
	w.publish(sent, nil)
	row := w.ended(sent.ID, "p1")[0]
	outcome := w.outcomes.of(w.t, row.ID)
	logged := fmt.Sprintf("%+v %+v %s", row, outcome, s.logs)
	for _, private := range []string{mailPassword, mailAddress, "of-the-recipient"} {
		if strings.Contains(logged, private) {
			w.t.Errorf("%q is in a row, an outcome or a log: %s", private, logged)
		}
	}
	return row, outcome
}

func TestTheReplyOfAMailServerDecidesTheResult(t *testing.T) {
	t.Parallel()
	none := smtp.EnhancedCodeNotSet
	for name, x := range map[string]struct {
		recipient, content func(int) error
		status             deliverylog.Status
		code               deliverylog.Code
		times, mails       int
	}{
		"250":                       {nil, nil, deliverylog.StatusDelivered, "", 1, 1},
		"451, then 250":             {nil, replies(reply(451, none), nil), deliverylog.StatusDelivered, "", 2, 2},
		"421, then 250":             {nil, replies(reply(421, none), nil), deliverylog.StatusDelivered, "", 2, 2},
		"451 for good":              {nil, replies(reply(451, none)), deliverylog.StatusFailed, "smtp_4xx", 3, 3},
		"450 of the recipient":      {replies(reply(450, smtp.EnhancedCode{4, 2, 0}), nil), nil, deliverylog.StatusDelivered, "", 2, 1},
		"554":                       {nil, replies(reply(554, none)), deliverylog.StatusFailed, "smtp_5xx", 1, 1},
		"550 5.1.1":                 {refuses(550, 5, 1, 1), nil, deliverylog.StatusFailed, deliverylog.CodeGone, 1, 0},
		"550 5.1.1 after the mail":  {nil, refuses(550, 5, 1, 1), deliverylog.StatusFailed, deliverylog.CodeGone, 1, 1},
		"553 5.1.3":                 {refuses(553, 5, 1, 3), nil, deliverylog.StatusFailed, deliverylog.CodeGone, 1, 0},
		"556 5.1.10":                {refuses(556, 5, 1, 10), nil, deliverylog.StatusFailed, deliverylog.CodeGone, 1, 0},
		"550 5.2.1":                 {refuses(550, 5, 2, 1), nil, deliverylog.StatusFailed, deliverylog.CodeBounce, 1, 0},
		"550 5.2.1 after the mail":  {nil, refuses(550, 5, 2, 1), deliverylog.StatusFailed, deliverylog.CodeBounce, 1, 1},
		"550 of the recipient":      {replies(reply(550, smtp.NoEnhancedCode)), nil, deliverylog.StatusFailed, deliverylog.CodeBounce, 1, 0},
		"551 of the recipient":      {replies(reply(551, smtp.NoEnhancedCode)), nil, deliverylog.StatusFailed, deliverylog.CodeBounce, 1, 0},
		"550 5.0.0 of it":           {refuses(550, 5, 0, 0), nil, deliverylog.StatusFailed, deliverylog.CodeBounce, 1, 0},
		"550 of the mail":           {nil, replies(reply(550, smtp.NoEnhancedCode)), deliverylog.StatusFailed, "smtp_5xx", 1, 1},
		"554 of the recipient":      {replies(reply(554, none)), nil, deliverylog.StatusFailed, "smtp_5xx", 1, 0},
		"552 5.2.2 is a full box":   {refuses(552, 5, 2, 2), nil, deliverylog.StatusFailed, "smtp_5xx", 1, 0},
		"552 5.2.3 is a long mail":  {nil, refuses(552, 5, 2, 3), deliverylog.StatusFailed, "smtp_5xx", 1, 1},
		"550 5.7.1 is not about it": {refuses(550, 5, 7, 1), nil, deliverylog.StatusFailed, "smtp_5xx", 1, 0},
		"550 5.4.1 is a route":      {refuses(550, 5, 4, 1), nil, deliverylog.StatusFailed, "smtp_5xx", 1, 0},
		"530 of the account":        {replies(reply(530, smtp.EnhancedCode{5, 7, 0}), nil), nil, deliverylog.StatusDelivered, "", 2, 1},
		"535 after the mail":        {nil, replies(reply(535, smtp.EnhancedCode{5, 7, 8}), nil), deliverylog.StatusDelivered, "", 2, 2},
		"553 5.1.8 of the sender":   {replies(reply(553, smtp.EnhancedCode{5, 1, 8}), nil), nil, deliverylog.StatusDelivered, "", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			office := newPostOffice(t, &postOffice{recipient: x.recipient, content: x.content})
			row, outcome := w.mail(w.mailing(office.url("smtp", "")))
			if row.Status != x.status || row.ErrorCode != x.code || len(row.Attempts) != x.times || outcome.Gone != (x.code == deliverylog.CodeGone) {
				t.Errorf("row %+v, outcome %+v", row, outcome)
			}
			mails, _, _ := office.got()
			if len(mails) != x.mails {
				t.Fatalf("%d mails arrived", len(mails))
			}
			for _, m := range mails {
				if m.from != "status@bellbuoy.test" || len(m.to) != 1 || m.to[0] != mailAddress || m.header.Get("Message-Id") != "<"+row.ID+"@bellbuoy.test>" ||
					m.header.Get("To") != "<"+mailAddress+">" || m.header.Get("From") != "=?utf-8?q?St=C3=B6rung?= <status@bellbuoy.test>" ||
					m.header.Get("Subject") != "[Status] Investigating: Logins fail" || m.header.Get("Auto-Submitted") != "auto-generated" ||
					m.header.Get("List-Unsubscribe") != "<"+mailManage+">" || m.header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
					t.Errorf("the mail is %+v", m)
				}
			}
		})
	}
}

// A server without SMTPUTF8 takes ASCII only.
func TestTheDomainOfAnAddressIsSentInASCII(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	c := w.config()
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	person := reader("p1")
	person.Address = "Mara@Bücher.example"
	w.person(&c, person)
	row, _ := w.mail(w.start(c))
	const to = "Mara@xn--bcher-kva.example"
	if mails, _, _ := office.got(); len(mails) != 1 || !slices.Equal(mails[0].to, []string{to}) || mails[0].header.Get("To") != "<"+to+">" {
		t.Errorf("mails %+v, row %+v", mails, row)
	}
}

func TestMailIsSentWithTheLoginThatTheServerOffers(t *testing.T) {
	t.Parallel()
	const localhost, elsewhere = "localhost", "0.0.0.0" // which is this machine too, but no loopback address
	plain, login := []string{"PLAIN"}, []string{"LOGIN"}
	for name, x := range map[string]struct {
		scheme      string
		mechanisms  []string
		certificate string // its host; none: no TLS
		host        string
		password    string
		code        deliverylog.Code
		refused     int
	}{
		"PLAIN over STARTTLS":           {"smtp", plain, localhost, localhost, mailPassword, "", 0},
		"PLAIN over smtps":              {"smtps", plain, localhost, localhost, mailPassword, "", 0},
		"LOGIN over STARTTLS":           {"smtp", login, localhost, localhost, mailPassword, "", 0},
		"LOGIN over smtps":              {"smtps", login, localhost, localhost, mailPassword, "", 0},
		"whichever is known":            {"smtp", []string{"CRAM-MD5", "LOGIN"}, localhost, localhost, mailPassword, "", 0},
		"none is known":                 {"smtp", []string{"CRAM-MD5"}, localhost, localhost, mailPassword, "smtp_session", 0},
		"another password":              {"smtp", plain, localhost, localhost, "another-password", "smtp_session", 3},
		"another password by LOGIN":     {"smtps", login, localhost, localhost, "another-password", "smtp_session", 3},
		"a certificate of mail.test":    {"smtp", plain, "mail.test", localhost, mailPassword, deliverylog.CodeTLS, 0},
		"smtps with that certificate":   {"smtps", plain, "mail.test", localhost, mailPassword, deliverylog.CodeTLS, 0},
		"smtps to a server without TLS": {"smtps", plain, "", localhost, mailPassword, deliverylog.CodeTLS, 0},
		"PLAIN on the loopback":         {"smtp", plain, "", localhost, mailPassword, "", 0},
		"LOGIN on the loopback":         {"smtp", login, "", localhost, mailPassword, "", 0},
		"PLAIN in the clear":            {"smtp", plain, "", elsewhere, mailPassword, deliverylog.CodeTLS, 0},
		"LOGIN in the clear":            {"smtp", login, "", elsewhere, mailPassword, deliverylog.CodeTLS, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var certificates []tls.Certificate
			if x.certificate != "" {
				certificates = append(certificates, w.authorities.issue(t, x.certificate))
			}
			office := newPostOffice(t, &postOffice{
				mechanisms: x.mechanisms, insecure: x.certificate == "", implicit: x.scheme == "smtps" && x.certificate != "",
			}, certificates...)
			s := w.mailing(strings.Replace(office.url(x.scheme, mailUser+":"+x.password+"@"), localhost, x.host, 1))
			row, outcome := w.mail(s)
			mails, _, refused := office.got()
			if row.ErrorCode != x.code || outcome.Gone || refused != x.refused || strings.Contains(s.logs.String(), x.password) {
				t.Errorf("%d logins refused, row %+v, log %s", refused, row, s.logs)
			}
			if x.code == "" {
				if len(mails) != 1 || mails[0].secure != (x.certificate != "") || mails[0].user != mailUser ||
					mails[0].mechanism != x.mechanisms[len(x.mechanisms)-1] || row.Status != deliverylog.StatusDelivered {
					t.Errorf("mails %+v, row %+v", mails, row)
				}
			} else if len(mails) != 0 || row.Status != deliverylog.StatusFailed || len(row.Attempts) != 3 {
				t.Errorf("mails %+v, row %+v", mails, row)
			}
		})
	}
}

// If the server offers STARTTLS, it is used even without an account.
func TestAWrongCertificateIsRefusedWithoutAnAccountToo(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{}, newAuthority(t).issue(t, "localhost"))
	row, _ := w.mail(w.mailing(office.url("smtp", "")))
	if mails, _, _ := office.got(); len(mails) != 0 || row.ErrorCode != deliverylog.CodeTLS {
		t.Errorf("mails %+v, row %+v", mails, row)
	}
}

// A refusal of the sender is an error of the settings. The recipient is not gone.
func TestARefusedSenderDoesNotSuppressTheRecipient(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{sender: replies(reply(550, smtp.EnhancedCode{5, 1, 1}), reply(530, smtp.EnhancedCode{5, 7, 0}), nil)})
	s := w.mailing(office.url("smtp", ""))
	row, outcome := w.mail(s)
	if logged := s.logs.String(); strings.Count(logged, "The mail server cannot be used") != 2 || !strings.Contains(logged, `"reply":550`) || !strings.Contains(logged, "An outage is over.") {
		t.Errorf("the log must have one line about the refusals and one about their end: %s", logged)
	}
	if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 3 || row.Attempts[0].ErrorCode != "smtp_session" || row.Attempts[1].ErrorCode != "smtp_session" || outcome.Gone {
		t.Errorf("row %+v, outcome %+v", row, outcome)
	}
}

// A server that sends nothing causes a timeout and a retry.
func TestAMailServerThatHangsCausesATimeoutAndARetry(t *testing.T) {
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	s := w.mailing(fmt.Sprintf("smtp://127.0.0.1:%d", port), func(c *delivery.Config) { c.Timeout = 300 * time.Millisecond })
	row, outcome := w.mail(s)
	if row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeTimeout || len(row.Attempts) != 3 || outcome.Gone {
		t.Errorf("row %+v, outcome %+v", row, outcome)
	}
}

// Mails share a connection. If the server has closed it, the same attempt uses a new one.
func TestMailsShareAConnectionUntilTheServerClosesIt(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{content: func(attempt int) error {
		if attempt == 2 {
			return reply(554, smtp.EnhancedCodeNotSet)
		}
		return nil
	}})
	s := w.mailing(office.url("smtp", ""))
	for n, want := range []deliverylog.Status{deliverylog.StatusDelivered, deliverylog.StatusFailed, deliverylog.StatusDelivered} {
		if row, _ := w.mail(s); row.Status != want || len(row.Attempts) != 1 {
			t.Errorf("mail %d: row %+v", n+1, row)
		}
	}
	if _, connections, _ := office.got(); connections != 1 {
		t.Errorf("three mails, one of them refused, took %d connections", connections)
	}
	office.mu.Lock()
	err := office.connections[0].Close()
	office.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	row, _ := w.mail(s)
	if _, connections, _ := office.got(); row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 || connections != 2 {
		t.Errorf("%d connections, row %+v", connections, row)
	}
}

// Text from a user cannot add a header or a recipient.
func TestUsersCannotAddAHeaderOrARecipientToAMail(t *testing.T) {
	const evil = "x\r\nBcc: evil@example.com\r\n\r\nfree text"
	for name, set := range map[string]func(*topic.EventChange){
		"title":   func(c *topic.EventChange) { c.Event.Title = evil },
		"subject": func(c *topic.EventChange) { c.Notify[topic.Email] = topic.Wording{Subject: evil} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			office := newPostOffice(t, &postOffice{})
			w.mail(w.mailing(office.url("smtp", "")), set)
			mails, _, _ := office.got()
			if len(mails) != 1 {
				t.Fatalf("%d mails arrived", len(mails))
			}
			m := mails[0]
			if len(m.to) != 1 || m.to[0] != mailAddress || m.header["Bcc"] != nil || m.header["Cc"] != nil || len(m.header["To"]) != 1 ||
				!strings.HasSuffix(m.header.Get("Subject"), "x Bcc: evil@example.com free text") || !strings.HasPrefix(m.header.Get("Content-Type"), "multipart/alternative") {
				t.Errorf("the mail is %+v", m)
			}
		})
	}
}

// A publisher's subject of 250 characters arrives complete in every script.
func TestASubjectOf250CharactersArrivesCompleteInEveryScript(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	longest := strings.Repeat("Störung €😀", 25)
	s := w.mailing(office.url("smtp", ""))
	for _, subject := range []string{longest, longest + "!"} {
		w.mail(s, func(c *topic.EventChange) { c.Notify[topic.Email] = topic.Wording{Subject: subject} })
	}
	mails, _, _ := office.got()
	for i, want := range []string{longest, strings.TrimSuffix(longest, "😀") + "…"} {
		got, err := new(mime.WordDecoder).DecodeHeader(mails[i].header.Get("Subject"))
		if err != nil || got != want {
			t.Errorf("%v: the subject is %q, want %q", err, got, want)
		}
	}
}

// readers adds mail subscribers, each with its own link.
func (w *world) readers(people *integrations, ids ...string) {
	for _, id := range ids {
		to := people.add(id, "")
		to.Channel, to.Address, to.Unsubscribe = topic.Email, id+"@example.com", mailManage+id
	}
}

// Recipients whose check takes long, and refused ones, do not delay the others.
func TestSlowAndRefusedRecipientsOfMailDoNotDelayOthers(t *testing.T) {
	const slow, refused, others = 12, 40, 200
	w := newWorld(t)
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	office := newPostOffice(t, &postOffice{receives: func(to string) error {
		switch {
		case strings.HasPrefix(to, "slow"):
			<-answer
		case strings.HasPrefix(to, "refused"):
			return reply(550, smtp.EnhancedCode{5, 1, 1})
		}
		return nil
	}})
	c := w.config()
	c.Timeout = 10 * time.Minute
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	people := w.person(&c, reader("first"))
	numbered := func(name string, n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("%s-%d", name, i))
		}
		return ids
	}
	late, fast, gone := numbered("slow", slow), numbered("fast", others), numbered("refused", refused)
	w.readers(people, slices.Concat(late, gone, fast)...)
	w.start(c)
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {}}
	w.publish(sent, nil)
	for _, row := range w.ended(sent.ID, fast...) {
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
	}
	for _, row := range w.ended(sent.ID, gone...) {
		if row.ErrorCode != deliverylog.CodeGone || len(row.Attempts) != 1 {
			t.Errorf("row %+v", row)
		}
	}
	for _, row := range w.rows(deliveries(sent.ID, late)...) {
		if row.EndedAt != nil || len(row.Attempts) > 0 {
			t.Errorf("the others waited for a slow recipient: %+v", row)
		}
	}
	release()
	for _, row := range w.ended(sent.ID, late...) {
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
	}
}

// The mail server hangs, and more mails than slots would wait for it. Webhooks do not wait for them, because mails that get no
// connection soon wait as rows. No attempt times out here.
func TestMailsThatWaitForTheServerDoNotDelayWebhooks(t *testing.T) {
	const n, fewHeld = 1400, 1000 // there are at most 128 + 1,024 slots
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("hook", "https://hooks.test/hook")
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	office := newPostOffice(t, &postOffice{recipient: func(int) error { <-answer; return nil }})
	c := w.config(time.Hour)
	c.Timeout = 10 * time.Minute
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("p%d", i)
	}
	w.readers(w.person(&c, reader("first")), ids...)
	w.start(c)
	mails := change(newEvent(), 1)
	mails.Notify = topic.Notify{topic.Email: {}}
	w.publish(mails, nil)
	a := w.archive()
	defer a.close()
	apitest.Eventually(t, "mails to wait as rows", func() bool {
		held := a.rows(deliveries(mails.ID, ids)...)
		return len(held) >= fewHeld && held[0].ErrorCode == deliverylog.CodeHeld && len(held[0].Attempts) == 0
	})
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "hook")
	if len(hooks.got()) != 1 {
		t.Errorf("%d webhooks arrived", len(hooks.got()))
	}
	release() // so that the stop does not wait for attempts
}

// A restart of the server in the middle loses no mail: before and after it, each recipient has got its mail.
func TestARestartOfTheMailServerLosesNoMail(t *testing.T) {
	const n = 300
	w := newWorld(t)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("p%d", i)
	}
	reached, resume := make(chan struct{}), make(chan struct{})
	var mails atomic.Int64
	office := newPostOffice(t, &postOffice{address: apitest.FreeAddress(t), receives: func(string) error {
		if mails.Add(1) == n/3 {
			close(reached)
			<-resume
		}
		return nil
	}})
	c := w.config(slices.Repeat([]time.Duration{time.Second}, 60)...) // more than pass until the server listens again
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	people := w.person(&c, reader("first"))
	w.readers(people, ids...)
	w.start(c)
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {}}
	w.publish(sent, nil)
	<-reached
	office.mu.Lock()
	office.listener.Close() // new connections are refused, and those in use are reset
	for _, conn := range office.connections {
		if tcp, isTCP := conn.(*net.TCPConn); isTCP {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
	office.mu.Unlock()
	close(resume)
	apitest.Eventually(t, "an attempt without a server", func() bool {
		return slices.ContainsFunc(w.rows(deliveries(sent.ID, ids)...), func(row deliverylog.Delivery) bool { return row.ErrorCode == deliverylog.CodeConnect })
	})
	again := newPostOffice(t, &postOffice{address: office.address})
	for _, row := range w.ended(sent.ID, ids...) {
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
	}
	got := make(map[string]int)
	for _, o := range []*postOffice{office, again} {
		all, _, _ := o.got()
		for _, m := range all {
			got[m.to[0]]++
		}
	}
	twice := 0
	for _, id := range ids {
		switch got[id+"@example.com"] {
		case 0:
			t.Errorf("%s got no mail", id)
		case 1:
		default:
			twice++
		}
	}
	if twice > 20 { // at most those whose reply was lost, one for each connection
		t.Errorf("%d recipients got the mail more than once", twice)
	}
}

// A mail that gets no connection in time has no attempt, so that a slow server does not make it fail.
func TestAMailWithoutAConnectionInTimeHasNoAttempt(t *testing.T) {
	t.Parallel()
	const n, connections = 40, 20
	w := newWorld(t)
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	office := newPostOffice(t, &postOffice{recipient: func(int) error { <-answer; return nil }})
	c := w.config(50*time.Millisecond, 50*time.Millisecond)
	c.Timeout = 5 * time.Second
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	ids := make([]string, n)
	var people *integrations
	for i := range ids {
		ids[i] = fmt.Sprintf("p%d", i)
		if i == 0 {
			people = w.person(&c, reader(ids[i]))
			continue
		}
		to := people.add(ids[i], "")
		to.Channel, to.Address = topic.Email, fmt.Sprintf("p%d@example.com", i)
	}
	w.start(c)
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {}}
	w.publish(sent, nil)
	rows := deliveries(sent.ID, ids)
	apitest.Eventually(t, "those without a connection to be put off", func() bool { return len(w.rows(rows...)) >= n-connections })
	release()
	timeouts := 0
	for _, row := range w.ended(sent.ID, ids...) {
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
		for _, attempt := range row.Attempts[:len(row.Attempts)-1] {
			if attempt.ErrorCode != deliverylog.CodeTimeout {
				t.Errorf("row %+v", row)
			}
			timeouts++
		}
	}
	if timeouts > connections {
		t.Errorf("%d attempts failed of a server that had %d", timeouts, connections)
	}
}
