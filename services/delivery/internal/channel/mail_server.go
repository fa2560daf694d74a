package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	mailConnections = 16               // at once, to one server
	mailIdle        = 15 * time.Second // less than servers wait for the next mail
)

// What mail servers say, beside dispatch.CodeGone.
const (
	codeMailLater   = dispatch.Code("smtp_4xx") // it asks to come again
	codeMailRefused = dispatch.Code("smtp_5xx") // it will not take this mail, now or later
	// codeNoSession is a server that refused to talk to the platform at all, its credentials
	// or its sender: that is about the server, not about the mail, so the mail waits.
	codeNoSession = dispatch.Code("smtp_session")
)

// Refusals of this side to go on.
var (
	errNoTLS  = errors.New("tls: the mail server offers no STARTTLS, and credentials go over no open connection")
	errNoAuth = errors.New("the mail server offers no way to log in that is known here")
)

// mailServer is the operator's SMTP server. It is who the operator says, so its
// address is not judged as a receiver's is.
type mailServer struct {
	host, address string
	implicit      bool // TLS from the first byte (smtps)
	account       *url.Userinfo
	loopback      bool
	hello         string
	tls           *tls.Config
	timeout       time.Duration
	log           *slog.Logger
	tracer        trace.Tracer

	slots chan struct{} // one for each connection in use
	mu    sync.Mutex
	idle  []*mailSession // the last used last
}

// mailSession is a connection that has said hello and logged in.
type mailSession struct {
	conn   net.Conn
	client *smtp.Client
	reused bool
	timer  *time.Timer // ends it when nobody needs it
}

func newMailServer(u *url.URL, o Options) *mailServer {
	port := u.Port()
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	hello, err := os.Hostname()
	if err != nil || strings.ContainsAny(hello, " \r\n") || hello == "" {
		hello = "localhost"
	}
	address, err := netip.ParseAddr(u.Hostname())
	return &mailServer{
		host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), port), implicit: u.Scheme == "smtps", account: u.User,
		loopback: u.Hostname() == "localhost" || err == nil && address.IsLoopback(),
		hello:    hello, timeout: o.Timeout, log: o.Log,
		tls:    &tls.Config{ServerName: u.Hostname(), RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		tracer: o.Tracer.Tracer("github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"),
		slots:  make(chan struct{}, mailConnections),
	}
}

// send makes one attempt within the time limit. Its span knows the server, not the recipient.
func (s *mailServer) send(ctx context.Context, l letter) dispatch.Result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ctx, span := s.tracer.Start(ctx, "SMTP", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(semconv.ServerAddress(s.host)))
	defer span.End()
	code := s.attempt(ctx, l)
	if code != "" {
		span.SetAttributes(attribute.String("error.type", string(code)))
		span.SetStatus(codes.Error, string(code))
	}
	result := dispatch.Result{Code: code}
	if code == codeMailRefused {
		result.Again = dispatch.Never
	}
	return result
}

// attempt waits for a connection to be free, for half the time: what has not begun by then is no
// attempt, and the other half is the mail's.
func (s *mailServer) attempt(ctx context.Context, l letter) dispatch.Code {
	patience := time.NewTimer(s.timeout / 2)
	defer patience.Stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return s.transmit(ctx, l)
	case <-patience.C:
		return dispatch.CodeHeld
	case <-ctx.Done():
		return dispatch.CodeTimeout
	}
}

// transmit sends over a kept connection, and over a new one if the server has left that in
// the meantime: before it took the mail's sender nothing can have been sent.
func (s *mailServer) transmit(ctx context.Context, l letter) dispatch.Code {
	for {
		session, err := s.connect(ctx)
		if err != nil {
			return s.noSession(ctx, err)
		}
		stop := session.during(ctx)
		err = session.client.Mail("<" + l.from + ">")
		if session.reused && left(err) && ctx.Err() == nil {
			stop()
			session.conn.Close()
			continue
		}
		code := replyCode
		if err == nil {
			err = session.deliver(l)
		} else {
			code = s.noSession // the sender is refused, or this platform: no word about the recipient
		}
		if err != nil && !session.reset(err) || !stop() {
			session.conn.Close()
		} else {
			s.keep(session)
		}
		return code(ctx, err)
	}
}

// left reports a connection that the server has given up.
func left(err error) bool {
	var reply *textproto.Error
	return err != nil && (!errors.As(err, &reply) || reply.Code == 421)
}

// deliver sends what follows the sender.
func (m *mailSession) deliver(l letter) error {
	if err := m.client.Rcpt("<" + l.to + ">"); err != nil {
		return err
	}
	w, err := m.client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(l.body); err != nil {
		return err
	}
	return w.Close()
}

// reset makes the connection good for another mail after a refusal.
func (m *mailSession) reset(err error) bool {
	return !left(err) && m.client.Reset() == nil
}

// during bounds what is done on the connection by ctx; the function it returns reports
// whether the connection outlived it.
func (m *mailSession) during(ctx context.Context) func() bool {
	deadline, _ := ctx.Deadline()
	_ = m.conn.SetDeadline(deadline) // a closed connection is noticed by the next command
	return context.AfterFunc(ctx, func() { m.conn.Close() })
}

// connect takes a kept connection, or makes one.
func (s *mailServer) connect(ctx context.Context) (*mailSession, error) {
	s.mu.Lock()
	for n := len(s.idle); n > 0; n = len(s.idle) {
		session := s.idle[n-1]
		s.idle = s.idle[:n-1]
		if session.timer.Stop() {
			s.mu.Unlock()
			session.reused = true
			return session, nil
		}
	}
	s.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	session := &mailSession{conn: conn}
	stop := session.during(ctx)
	err = s.open(ctx, session)
	if !stop() || err != nil {
		conn.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	return session, nil
}

// open says hello, secures the connection and logs in.
func (s *mailServer) open(ctx context.Context, session *mailSession) error {
	conn := session.conn
	if s.implicit {
		secure := tls.Client(conn, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secure
	}
	client, err := smtp.NewClient(conn, s.host)
	if err != nil {
		return err
	}
	session.client = client
	if err := client.Hello(s.hello); err != nil {
		return err
	}
	if offered, _ := client.Extension("STARTTLS"); offered && !s.implicit {
		if err := client.StartTLS(s.tls); err != nil {
			return err
		}
	} else if !s.implicit && s.account != nil && !s.loopback {
		return errNoTLS
	}
	if s.account == nil {
		return nil
	}
	return s.login(client)
}

func (s *mailServer) login(client *smtp.Client) error {
	user := s.account.Username()
	password, _ := s.account.Password()
	_, offered := client.Extension("AUTH")
	for _, mechanism := range strings.Fields(offered) {
		switch strings.ToUpper(mechanism) {
		case "PLAIN":
			return client.Auth(smtp.PlainAuth("", user, password, s.host, s.loopback))
		case "LOGIN":
			return client.Auth(smtp.LoginAuth(user, password, s.host, s.loopback))
		}
	}
	return errNoAuth
}

// keep holds the connection ready for the next mail, and closes it when none comes.
func (s *mailServer) keep(session *mailSession) {
	_ = session.conn.SetDeadline(time.Time{}) // a closed connection is noticed by the next command
	s.mu.Lock()
	defer s.mu.Unlock()
	session.timer = time.AfterFunc(mailIdle, func() { s.drop(session) })
	s.idle = append(s.idle, session)
}

func (s *mailServer) drop(session *mailSession) {
	s.mu.Lock()
	for i, kept := range s.idle {
		if kept == session {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	session.conn.Close()
}

// noSession says why there is no connection to send over.
func (s *mailServer) noSession(ctx context.Context, err error) dispatch.Code {
	code := codeOf(ctx, err)
	var reply *textproto.Error
	if errors.As(err, &reply) || errors.Is(err, errNoAuth) {
		code = codeNoSession
	}
	s.log.WarnContext(ctx, "the mail server cannot be used", "host", s.host, "code", code)
	return code
}

// replyCode is the code of a server's reply to a mail (RFC 5321, 4.2.1); empty for success.
func replyCode(ctx context.Context, err error) dispatch.Code {
	var reply *textproto.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &reply):
		return codeOf(ctx, err)
	case reply.Code == 550 && unknownMailbox(reply.Msg):
		return dispatch.CodeGone
	case reply.Code >= 500:
		return codeMailRefused
	default:
		return codeMailLater
	}
}

// unknownMailbox reports an enhanced status that says there is no such recipient
// (RFC 3463, 3.2; 5.1.7 and 5.1.8 are about the sender).
func unknownMailbox(text string) bool {
	status, _, _ := strings.Cut(text, " ")
	return strings.HasPrefix(status, "5.1.") && status != "5.1.7" && status != "5.1.8"
}
