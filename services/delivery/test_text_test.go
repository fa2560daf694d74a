package delivery_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// testText asks for a test message to a phone and returns the status and the id of the delivery, or the error.
func (s *service) testText(t testing.TB, by passport.Passport, kind topic.Channel, number string) (status int, id, failure string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/app/notifications/"+string(kind)+"/test", strings.NewReader(`{"phone": "`+number+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(passport.Header, sign(by))
	request.Header.Set("Content-Type", "application/json")
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

// A test message arrives at the number that was typed, also for a member without a mail address. Neither the log of the
// service nor that of deliveries has the number. A refusal is not repeated, and the log shows the server's response.
func TestATestMessageArrivesAtTheNumberThatWasTyped(t *testing.T) {
	w := newWorld(t)
	phones := newSMSAPI(t, inTurn(acceptSMS, acceptSMS, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"code": 21610, "message": "` + r.PostFormValue("To") + ` has replied STOP"}`))
	}))
	server := httptest.NewServer(phones)
	t.Cleanup(server.Close)
	c := w.config()
	c.LogLevel = "debug"
	c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
	identity := w.member(&c)
	by := session(organization, passport.RoleAdmin)
	identity.member(by.User, "")
	s := w.start(c)
	for i, of := range []struct {
		kind   topic.Channel
		to     string
		status deliverylog.Status
	}{
		{topic.SMS, smsNumber, deliverylog.StatusDelivered}, {topic.WhatsApp, "whatsapp:" + smsNumber, deliverylog.StatusDelivered}, {topic.SMS, smsNumber, deliverylog.StatusFailed},
	} {
		status, id, failure := s.testText(t, by, of.kind, "+49 151 12345678")
		if status != http.StatusAccepted {
			t.Fatalf("status %d: %s", status, failure)
		}
		var row deliverylog.Delivery
		apitest.Eventually(t, "the message to be sent", func() bool {
			rows := w.rows(id)
			if len(rows) == 1 {
				row = rows[0]
			}
			return row.EndedAt != nil
		})
		if row.Status != of.status || row.EventKind != topic.MemberTest || len(row.Attempts) != 1 {
			t.Errorf("row %+v", row)
		}
		forms := phones.got()
		if len(forms) != i+1 || forms[i].Get("To") != of.to || forms[i].Get("Body") != "Acme: Test message. Messages arrive at this number." {
			t.Errorf("forms %v", forms)
		}
		logs, _ := s.list(t, of.kind, nil)
		_, text := s.log(t, logs[0])
		if strings.Contains(text+s.logs.String(), smsNumber[1:]) || strings.Contains(text+s.logs.String(), smsToken) {
			t.Errorf("the number or the token is in a log: %s", text)
		}
		if refused := of.status == deliverylog.StatusFailed; refused != strings.Contains(text, "*** has replied STOP") {
			t.Errorf("log %s", text)
		}
	}
}

// Five members of an organization share its limit. Another organization has its own.
func TestTestMessagesOfAnOrganizationAreLimited(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(newSMSAPI(t, nil))
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
	identity := w.member(&c)
	s := w.start(c)
	statuses := map[int]int{}
	send := func(owner string, times int) {
		by := session(owner, passport.RoleAdmin)
		identity.member(by.User, mailAddress)
		for range times {
			status, _, _ := s.testText(t, by, topic.SMS, smsNumber)
			statuses[status]++
		}
	}
	for range 5 {
		send(organization, 4)
	}
	send(organization, 1)
	send(newEvent(), 1)
	// A full hour may begin during the test. Then more messages are allowed.
	if sent := statuses[http.StatusAccepted]; sent != 21 && sent != 22 || statuses[http.StatusTooManyRequests] != 22-sent {
		t.Errorf("statuses %v", statuses)
	}
}

// Without an account nothing is sent, and the error names the setting.
func TestWithoutAnAccountATestMessageIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	w.member(&c)
	s := w.start(c)
	for _, kind := range []topic.Channel{topic.SMS, topic.WhatsApp} {
		if status, _, failure := s.testText(t, session(organization, passport.RoleAdmin), kind, smsNumber); status != http.StatusConflict || !strings.Contains(failure, "SMS_URL") {
			t.Errorf("%s: status %d: %s", kind, status, failure)
		}
	}
}
