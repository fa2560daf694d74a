package main_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A member adds a subscriber, changes it, and deletes it, without script. The App interface shows each step, and the mails
// arrive.
func TestAMemberKeepsSubscribersWithoutScript(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	ada, of := welcomed(t, p, base)
	mails := "/subscribers/email"
	ada.open(mails, http.StatusOK).expect(mails, "Nobody has subscribed by mail yet.", "Mail (not set up)")
	ada.open(mails+"/new", http.StatusOK).fill(mails+"/new", typed("address", "grace"), http.StatusUnprocessableEntity).expect(mails+"/new", "There is a problem")
	api := ada.choice("components", "API")
	ada.fill(mails+"/new", typed("address", "grace@example.com", "scope", "some", "components", api), http.StatusOK)
	at := strings.TrimPrefix(ada.at.Path, "/console")
	ada.expect(at, "grace@example.com is added. The owner is asked for a confirmation.", "Gets no messages", "The owner has not confirmed.")
	mailsTo := func(count int) {
		t.Helper()
		eventually(t, 30*time.Second, "the mail", func() error {
			found := 0
			for _, mail := range letters(t, dataFolder(p)) {
				if mail.to == "grace@example.com" {
					found++
				}
			}
			if found < count {
				return errors.New("there are fewer")
			}
			return nil
		})
	}
	mailsTo(1)
	ada.fill(at+"/resend", nil, http.StatusOK).expect(at, "A new confirmation is on its way.")
	mailsTo(2)
	now := func() (s struct {
		Subscriber struct {
			ComponentIDs              []string
			Confirmed, Paused, Locked bool
			Locale                    string
		}
	}) {
		t.Helper()
		got := send(t, http.MethodGet, base+"/app"+at, of.app(), nil).expect(t, http.StatusOK)
		if err := json.Unmarshal(got.body, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ada.open(at+"/confirm", http.StatusOK).fill(at+"/confirm", nil, http.StatusOK).expect(at, "grace@example.com is confirmed.", "Gets messages by mail")
	ada.fill(at+"/pause", nil, http.StatusOK).expect(at, "Messages are paused.")
	ada.fill(at+"/lock", nil, http.StatusOK).expect(at, "grace@example.com is locked.")
	ada.fill(at, typed("scope", "all", "locale", "de"), http.StatusOK).expect(at, "Saved.")
	if s := now().Subscriber; s.ComponentIDs != nil || !s.Confirmed || !s.Paused || !s.Locked || s.Locale != "de" {
		t.Errorf("the subscriber is %+v", s)
	}
	ada.open(mails+"?state=paused&q=GRACE", http.StatusOK).expect(mails, "grace@example.com", "all components", "Locked")
	ada.open(mails+"?state=suppressed", http.StatusOK).expect(mails, "No subscriber matches.")
	ada.open(at, http.StatusOK).fill(at+"/resume", nil, http.StatusOK).expect(at, "Gets messages by mail")
	ada.open(mails+"/new", http.StatusOK).fill(mails+"/new", typed("address", "Grace@example.com"), http.StatusUnprocessableEntity).expect(mails+"/new", "already has a subscriber")
	ada.open("/subscribers/sms/"+strings.TrimPrefix(at, mails+"/"), http.StatusNotFound)
	ada.open(at+"/delete", http.StatusOK).fill(at+"/delete", nil, http.StatusOK).expect(mails, "grace@example.com is deleted.", "Nobody has subscribed")

	texts := "/subscribers/sms"
	ada.open(texts+"/new", http.StatusOK).fill(texts+"/new", typed("address", "0151 1"), http.StatusUnprocessableEntity).expect(texts+"/new", "There is a problem")
	ada.fill(texts+"/new", typed("address", "+49 151 12345678", "confirmed", "on"), http.StatusOK)
	ada.expect(strings.TrimPrefix(ada.at.Path, "/console"), "+4915112345678 is added.", "Gets messages by SMS")
}
