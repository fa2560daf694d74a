package channel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const mailIdle = 15 * time.Second // time after which an idle connection is closed; servers wait longer for the next mail

var (
	errNoTLS  = errors.New("tls: the mail server offers no STARTTLS, and credentials must not be sent without it")
	errNoAuth = errors.New("the mail server offers no known way to log in")
)

// mailServer is the operator's SMTP server. Every address is allowed, because the operator chooses it.
type mailServer struct {
	tracing
	host, address string
	implicit      bool // TLS from the first byte (smtps)
	account       *url.Userinfo
	loopback      bool
	hello         string        // the name in EHLO
	timeout       time.Duration // time limit of an attempt
	tls           *tls.Config
	outages       *failurelog.Log
	down          failurelog.Cause

	queue *mailQueue
	mu    sync.Mutex
	idle  []*mailSession // the most recently used is last; may contain closed sessions
}

// mailSession is a connection after EHLO and login.
type mailSession struct {
	conn   net.Conn
	client *smtp.Client
	reused bool
	timer  *time.Timer // closes an idle connection
}

func newMailServer(u *url.URL, o Options) *mailServer {
	port := cmp.Or(u.Port(), map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme])
	hello, err := os.Hostname()
	if err != nil || strings.ContainsAny(hello, " \r\n") || hello == "" {
		hello = "localhost"
	}
	address, err := netip.ParseAddr(u.Hostname())
	return &mailServer{
		host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), port), implicit: u.Scheme == "smtps", account: u.User,
		loopback: u.Hostname() == "localhost" || err == nil && address.IsLoopback(),
		hello:    hello, outages: failurelog.New(o.Log), down: failurelog.Cause{Message: "The mail server cannot be used. Mail waits for its next attempt.", Of: u.Hostname()},
		tls:     &tls.Config{ServerName: u.Hostname(), RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		tracing: newTracing(o), timeout: o.Timeout, queue: newMailQueue(),
	}
}

// send makes one attempt.
func (s *mailServer) send(ctx context.Context, l letter) dispatch.Result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.traced(ctx, "SMTP", s.host, func(ctx context.Context) dispatch.Result { return s.attempt(ctx, l) })
}

// attempt waits at most half of the time limit for a free connection. It makes no attempt and returns deliverylog.CodeHeld if
// no connection is free by then, if enough other mails wait, if the mail may no longer be sent, or if less than a quarter of
// the time limit remains for the mail.
func (s *mailServer) attempt(ctx context.Context, l letter) dispatch.Result {
	waiting, cancel := context.WithTimeout(ctx, s.timeout/2)
	defer cancel()
	slot, turn := s.queue.acquire(waiting, l.organization)
	switch {
	case slot == nil && ctx.Err() != nil:
		return dispatch.Result{Code: deliverylog.CodeTimeout}
	case slot == nil:
		return dispatch.Result{Code: deliverylog.CodeHeld, RetryAfter: turn}
	}
	defer slot.Release()
	slot.Start() // a mail that takes longer than slowMail moves to a slow slot
	start := time.Now()
	if deadline, limited := ctx.Deadline(); !l.fresh() || limited && time.Until(deadline) < s.timeout/4 {
		return dispatch.Result{Code: deliverylog.CodeHeld}
	}
	code, err := s.transmit(ctx, l)
	s.queue.record(time.Since(start))
	result := dispatch.Result{Code: code, Received: replyOf(err)}
	if code == codeMailRefused || code == deliverylog.CodeBounce {
		result.Final = true
	}
	return result
}

// transmit sends the mail over an idle or a new connection. If the server has closed an idle connection, transmit tries
// the next one. This cannot send the mail twice, because the server has not accepted the sender yet.
func (s *mailServer) transmit(ctx context.Context, l letter) (deliverylog.Code, error) {
	for {
		session, err := s.connect(ctx)
		if err != nil {
			return s.noSession(ctx, err), err
		}
		stop := session.during(ctx)
		err = session.client.Mail("<" + l.from + ">")
		if session.reused && serverClosed(err) && ctx.Err() == nil {
			stop()
			session.conn.Close()
			continue
		}
		code := s.replied
		if err == nil {
			err = session.deliver(l)
		} else {
			code = s.noSession // the server refused the sender or this client, not the recipient
		}
		if err != nil && (serverClosed(err) || session.client.Reset() != nil) || !stop() {
			session.conn.Close()
		} else {
			s.keep(session)
		}
		return code(ctx, err), err
	}
}

// serverClosed reports whether err means that the server has closed the connection: an error that is no reply, or the
// reply 421.
func serverClosed(err error) bool {
	var reply *textproto.Error
	return err != nil && (!errors.As(err, &reply) || reply.Code == 421)
}

// deliver sends the recipient and the mail. The error of a refused recipient is a refusedRecipient.
func (m *mailSession) deliver(l letter) error {
	if err := m.client.Rcpt("<" + l.to + ">"); err != nil {
		return refusedRecipient{err}
	}
	w, err := m.client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(l.content); err != nil {
		return err
	}
	return w.Close()
}

// during closes the connection when ctx ends. The returned function cancels this. It returns false if ctx has ended, so
// that the connection is closed or is being closed.
func (m *mailSession) during(ctx context.Context) func() bool {
	deadline, _ := ctx.Deadline()
	_ = m.conn.SetDeadline(deadline) // after an error the next command fails
	return context.AfterFunc(ctx, func() { m.conn.Close() })
}

// connect returns an idle connection, or opens one.
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
	var conn net.Conn
	var err error
	if s.implicit {
		conn, err = (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	}
	if err != nil {
		return nil, err
	}
	session := &mailSession{conn: conn}
	stop := session.during(ctx)
	err = s.open(session)
	if !stop() || err != nil {
		conn.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	return session, nil
}

// open sends EHLO, uses STARTTLS if the server offers it, and logs in if the operator has set an account. It returns errNoTLS
// if the credentials would be sent without TLS to a server that is not on this machine.
func (s *mailServer) open(session *mailSession) error {
	client, err := smtp.NewClient(session.conn, s.host)
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

// keep adds the connection to the idle ones, and closes it after mailIdle.
func (s *mailServer) keep(session *mailSession) {
	_ = session.conn.SetDeadline(time.Time{}) // after an error the next command fails
	s.mu.Lock()
	defer s.mu.Unlock()
	session.timer = time.AfterFunc(mailIdle, func() { session.conn.Close() })
	s.idle = append(s.idle, session)
}

// noSession logs a failure that happened before the server accepted the sender, and returns its code.
func (s *mailServer) noSession(ctx context.Context, err error) deliverylog.Code {
	code := codeOf(ctx, err)
	var reply *textproto.Error
	if errors.As(err, &reply) || errors.Is(err, errNoAuth) {
		code = codeNoSession
	}
	s.logOutage(ctx, code, err)
	return code
}

// replied returns the code of a failure after the server accepted the sender, and "" for success. It logs the code
// codeNoSession, and after a success the end of the outage.
func (s *mailServer) replied(ctx context.Context, err error) deliverylog.Code {
	code := replyCode(ctx, err)
	switch code {
	case codeNoSession:
		s.logOutage(ctx, code, err)
	case "":
		s.outages.Over(ctx, s.down)
	}
	return code
}

// logOutage logs the code, and the number of the reply if there is a reply. It does not log the text of a reply, which may
// name an address.
func (s *mailServer) logOutage(ctx context.Context, code deliverylog.Code, err error) {
	number := 0
	var reply *textproto.Error
	if errors.As(err, &reply) {
		number = reply.Code
	}
	s.outages.Failed(ctx, s.down, errors.New(string(code)), "reply", number)
}
