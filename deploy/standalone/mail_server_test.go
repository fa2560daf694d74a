package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// Environment variables that make this binary a mail server: the address of the server, and the file of its journal.
const (
	mailServerMark  = "BELLBUOY_TEST_MAIL_SERVER"
	mailJournalMark = "BELLBUOY_TEST_MAIL_JOURNAL"
)

// slowMailbox is the time that the server takes for a recipient whose address begins with slow.
const slowMailbox = 300 * time.Millisecond

// mailed is a line of the journal: a mail that the server accepted, or a recipient that it refused.
type mailed struct {
	To          string `json:"to"`
	Refused     int    `json:"refused,omitempty"`
	ID          string `json:"id,omitempty"`
	Unsubscribe string `json:"unsubscribe,omitempty"`
	OneClick    string `json:"oneClick,omitempty"`
	Subject     string `json:"subject,omitempty"`
}

// mailServer is an SMTP server in a separate process. It writes each reply to the journal before it sends the reply, so
// the journal is complete whenever the server is killed. The first part of an address decides the reply: "gone" 550
// 5.1.1, "closed" 550 5.2.1, "full" 552, "later" 451 to the first try of each mail, "slow" success after a pause,
// everything else success.
type mailServer struct {
	mu      sync.Mutex
	journal *os.File
	later   map[string]bool // addresses that got a 451
}

// serveMail runs the server until the process ends.
func serveMail(address, journal string) error {
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	server := smtp.NewServer(&mailServer{journal: file, later: map[string]bool{}})
	server.Addr, server.Domain = address, "mail.test"
	return server.ListenAndServe()
}

func (s *mailServer) write(line mailed) error {
	content, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = s.journal.Write(append(content, '\n'))
	return err
}

// NewSession implements smtp.Backend.
func (s *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &mailSession{server: s}, nil
}

type mailSession struct {
	server *mailServer
	to     string
}

func (m *mailSession) Reset()                               {}
func (m *mailSession) Logout() error                        { return nil }
func (m *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.to = to
	kind, _, _ := strings.Cut(to, "-")
	switch kind {
	case "gone":
		return m.refuse(550, smtp.EnhancedCode{5, 1, 1}, "no such mailbox")
	case "closed":
		return m.refuse(550, smtp.EnhancedCode{5, 2, 1}, "the mailbox is closed")
	case "full":
		return m.refuse(552, smtp.EnhancedCode{5, 2, 2}, "the mailbox is full")
	case "later":
		m.server.mu.Lock()
		again := m.server.later[to]
		m.server.later[to] = !again
		m.server.mu.Unlock()
		if !again {
			return m.refuse(451, smtp.EnhancedCode{4, 2, 1}, "try again later")
		}
	case "slow":
		<-time.After(slowMailbox) // the pause of a slow mailbox
	}
	return nil
}

func (m *mailSession) refuse(code int, status smtp.EnhancedCode, text string) error {
	if err := m.server.write(mailed{To: m.to, Refused: code}); err != nil {
		return err
	}
	return &smtp.SMTPError{Code: code, EnhancedCode: status, Message: text}
}

func (m *mailSession) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, message.Body); err != nil {
		return err
	}
	return m.server.write(mailed{To: m.to, ID: message.Header.Get("Message-ID"), Subject: message.Header.Get("Subject"),
		Unsubscribe: message.Header.Get("List-Unsubscribe"), OneClick: message.Header.Get("List-Unsubscribe-Post")})
}

// mailbox is the mail server under test, together with the content of its journal.
type mailbox struct {
	*process
	address string

	file     *bufio.Reader
	rest     string
	accepted map[string][]mailed // accepted mails by address
	refused  map[string][]int
	total    int // number of accepted mails
}

// startMailServer starts the server and returns it with the settings of the platform.
func startMailServer(t testing.TB) (*mailbox, []string) {
	t.Helper()
	address, journal := apitest.FreeAddress(t), t.TempDir()+"/journal"
	m := &mailbox{process: newProcess(t, "mail server", "", mailServerMark+"="+address, mailJournalMark+"="+journal),
		address: address, accepted: map[string][]mailed{}, refused: map[string][]int{}}
	m.binary = os.Args[0]
	m.start()
	eventually(t, 30*time.Second, "the mail server", func() error { _, err := os.Stat(journal); return err })
	file, err := os.Open(journal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	m.file = bufio.NewReader(file)
	return m, []string{"SMTP_URL=smtp://" + address, "MAIL_FROM=status@status.test"}
}

// read reads the new lines of the journal.
func (m *mailbox) read() {
	m.t.Helper()
	for {
		text, err := m.file.ReadString('\n')
		m.rest += text
		if err == io.EOF {
			return
		}
		if err != nil {
			m.t.Fatal(err)
		}
		var line mailed
		if err := json.Unmarshal([]byte(m.rest), &line); err != nil {
			m.t.Fatalf("%q: %v", m.rest, err)
		}
		m.rest = ""
		if line.Refused > 0 {
			m.refused[line.To] = append(m.refused[line.To], line.Refused)
			continue
		}
		m.accepted[line.To] = append(m.accepted[line.To], line)
		m.total++
	}
}

// await waits until the server has accepted this number of mails. It fails the test if no mail is accepted for a
// minute.
func (m *mailbox) await(mails int) {
	m.t.Helper()
	for m.read(); m.total < mails; {
		before := m.total
		eventually(m.t, time.Minute, fmt.Sprintf("%d mails", mails), func() error {
			if m.read(); m.total == before {
				return fmt.Errorf("%d have come", before)
			}
			return nil
		})
	}
}
