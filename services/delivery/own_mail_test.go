package delivery_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// testMail asks for a test mail and returns the status and the id of the delivery, or the error.
func (s *service) testMail(t testing.TB, by passport.Passport) (status int, id, failure string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/app/notifications/email/test", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(passport.Header, sign(by))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var out struct{ DeliveryID, Error string }
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, out.DeliveryID, out.Error
}

// A test mail arrives at the address that the member has now. Neither the log of the service nor that of deliveries has
// the address or the password of the mail server.
func TestATestMailArrivesAtTheOwnAddressOfTheMember(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{mechanisms: []string{"PLAIN"}, insecure: true})
	c := w.config()
	c.LogLevel = "debug"
	c.SMTPURL, c.MailFrom = office.url("smtp", mailUser+":"+mailPassword+"@"), "status@bellbuoy.test"
	identity := w.member(&c)
	by := session(organization, passport.RoleSubscriber)
	identity.member(by.User, "ada@example.com")
	s := w.start(c)
	status, id, failure := s.testMail(t, by)
	if status != http.StatusAccepted {
		t.Fatalf("status %d: %s", status, failure)
	}
	var row deliverylog.Delivery
	apitest.Eventually(t, "the mail to be sent", func() bool {
		rows := w.rows(id)
		if len(rows) == 1 {
			row = rows[0]
		}
		return row.EndedAt != nil
	})
	if row.Status != deliverylog.StatusDelivered || row.EventKind != topic.MemberTest || row.EventID != "" || row.ReplayOf != "" || row.Service != topic.Identity {
		t.Errorf("row %+v", row)
	}
	mails, _, _ := office.got()
	if len(mails) != 1 || mails[0].to[0] != "ada@example.com" || mails[0].header.Get("Subject") != "[Acme] Your mail works" {
		t.Errorf("mails %+v", mails)
	}
	logs, _ := s.list(t, topic.Email, nil)
	if len(logs) != 1 || logs[0].DeliveryID != id {
		t.Fatalf("logs %+v", logs)
	}
	_, text := s.log(t, logs[0])
	for _, private := range []string{"ada@example.com", mailPassword} {
		if strings.Contains(text+s.logs.String(), private) {
			t.Errorf("%q is in a log: %s", private, text)
		}
	}
}

// Requests at the same time send no more test mails than the limit allows.
func TestTestMailsAtTheSameTimeDoNotExceedTheLimit(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	c := w.config()
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	identity := w.member(&c)
	by := session(organization, passport.RoleEvent)
	identity.member(by.User, mailAddress)
	s := w.start(c)
	var mu sync.Mutex
	statuses, ids := map[int]int{}, map[string]bool{}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			status, id, _ := s.testMail(t, by)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
			ids[id] = true
		})
	}
	group.Wait()
	// A full hour may begin during the test. Then ten mails are allowed.
	if sent := statuses[http.StatusAccepted]; sent != 5 && sent != 10 || statuses[http.StatusTooManyRequests] != 20-sent || len(ids) != sent+1 {
		t.Errorf("statuses %v, %d ids", statuses, len(ids))
	}
}

// Without a mail server nothing is sent, and the error names the setting.
func TestWithoutAMailServerATestMailIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	w.member(&c)
	s := w.start(c)
	status, _, failure := s.testMail(t, session(organization, passport.RoleAdmin))
	if status != http.StatusConflict || !strings.Contains(failure, "SMTP_URL") {
		t.Errorf("status %d: %s", status, failure)
	}
}

// The log of a refused mail has the reply of the server, without the address.
func TestTheLogOfARefusedMailShowsTheReply(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{recipient: replies(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "<" + mailAddress + "> is not welcome"})})
	c := w.config()
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	identity := w.member(&c)
	by := session(organization, passport.RoleAdmin)
	identity.member(by.User, mailAddress)
	s := w.start(c)
	_, id, _ := s.testMail(t, by)
	apitest.Eventually(t, "the refusal", func() bool { rows := w.rows(id); return len(rows) == 1 && rows[0].EndedAt != nil })
	logs, _ := s.list(t, topic.Email, nil)
	if _, text := s.log(t, logs[0]); !strings.Contains(text, `"body":"550 5.7.1 <***> is not welcome"`) || strings.Contains(text, mailAddress) {
		t.Errorf("the log is %s", text)
	}
}
