package main_test

import (
	"io"
	"net"
	"testing"

	"github.com/emersion/go-smtp"
)

// mailSink is an SMTP server in the process of the test. It accepts a mail if take returns no error.
type mailSink struct {
	take func(to string, text []byte) error
}

// startMailSink starts the server and returns the settings of the platform. The server calls take for several mails at the
// same time.
func startMailSink(t testing.TB, take func(to string, text []byte) error) (env []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(&mailSink{take})
	server.Domain = "mail.test"
	go server.Serve(listener) // returns an error when it is closed
	t.Cleanup(func() { server.Close() })
	return []string{"SMTP_URL=smtp://" + listener.Addr().String(), "MAIL_FROM=status@status.test"}
}

// NewSession implements smtp.Backend.
func (s *mailSink) NewSession(*smtp.Conn) (smtp.Session, error) { return &sinkSession{sink: s}, nil }

type sinkSession struct {
	sink *mailSink
	to   string
}

func (s *sinkSession) Reset()                               {}
func (s *sinkSession) Logout() error                        { return nil }
func (s *sinkSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *sinkSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *sinkSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return s.sink.take(s.to, text)
}
