package main_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// An incident reaches one of several recipients. For each of the others, the page says why, without script. A message that
// failed is sent again from there, and arrives.
func TestAMemberFindsWhySomebodyGotNothingWithoutScript(t *testing.T) {
	t.Parallel()
	_, mailEnv := startMailServer(t)
	servers, env := startReceivers(t, receiverHost)
	var works atomic.Bool
	servers[receiverHost].Answer = func(r receiver.Request) int {
		switch {
		case strings.Contains(r.Path, "closed"):
			return http.StatusGone
		case works.Load():
			return http.StatusOK
		}
		return http.StatusInternalServerError
	}
	p, base := started(t, slices.Concat(mailEnv, env, []string{"DELIVERY_RETRY_SCHEDULE=20ms"})...)
	ada, of := welcomed(t, p, base)
	a := actor{t, of}
	ada.open("/events/new", http.StatusOK)
	api, website := ada.choice("components", "API"), ada.choice("components", "Website")
	for address, more := range map[string]map[string]any{
		"reader@example.com": {"confirmed": true}, "paused@example.com": {"confirmed": true, "paused": true}, "unconfirmed@example.com": {},
		"website@example.com": {"confirmed": true, "componentIds": []string{website}},
	} {
		more["dashboardId"], more["email"] = of.DashboardID, address
		send(t, http.MethodPost, base+"/app/subscribers/email", of.app(), more).expect(t, http.StatusCreated)
	}
	failing, closed := a.hook(outbounds()[0], servers, api, "failing"), a.hook(outbounds()[0], servers, api, "closed")
	closed.tell("The address is gone")
	closed.until("suppressed", func(v hookView) bool { return v.Suppressed })

	ada.open("/events/new?component="+api, http.StatusOK).fill("/events/new", typed("title", "Requests fail", "message", "We look into it."), http.StatusOK)
	event := ada.path()
	id := strings.TrimPrefix(event, "/events/")
	failing.logged(id, "failed", "retrying")
	closed.logged(id, "suppressed")

	why := "/deliveries/why"
	asks := func(address string, texts ...string) {
		t.Helper()
		eventually(t, 30*time.Second, "why "+address+" got nothing", func() error {
			ada.open(event, http.StatusOK)
			ada.open(ada.link(why+`\?event=[^"]+`), http.StatusOK).fill(why, typed("address", address), http.StatusOK)
			for _, text := range texts {
				if !strings.Contains(ada.words(), text) {
					return errors.New(ada.words())
				}
			}
			return nil
		})
		if ada.expect(why, "About Requests fail", "Incident created"); strings.Contains(ada.at.RawQuery, "example") {
			t.Errorf("the address of the page names the person: %s", ada.at)
		}
	}
	asks("reader@example.com", "reader@example.com got the message", "The message was delivered.")
	asks("paused@example.com", "paused@example.com did not get the message", "The subscription is paused.")
	ada.open(ada.link(`/subscribers/email/[0-9a-f-]{36}`), http.StatusOK).expect(ada.path(), "paused@example.com", "Messages are paused.")
	asks("unconfirmed@example.com", "The subscription is not confirmed.")
	asks("website@example.com", "The subscription includes none of the components of the event.")
	asks("nobody@example.com", "There is no subscriber with this address now.", "Add a subscriber")
	ada.fill(why, typed("address", "nobody"), http.StatusUnprocessableEntity).expect(why, "There is a problem", "Mail address")

	// A link names the event and the endpoint, and shows the result at once.
	ada.open(why+"?kind=webhook&event="+id+"&endpoint="+closed.hash, http.StatusOK).expect(why, "did not get the message", "Messages to this recipient are suppressed, so this one was not sent.", "because the receiver said that the address no longer exists")
	ada.open(ada.link(`/integrations/webhook/`+closed.hash+`/[0-9a-f-]{36}`), http.StatusOK).expect(ada.path(), "The URL is suppressed.")
	link := why + "?kind=webhook&event=" + id + "&endpoint=" + failing.hash
	ada.open(link, http.StatusOK).expect(why, "did not get the message", "The last of 2 attempts failed: the receiver had an error.", "2 attempts")
	ada.open(ada.link(`/deliveries/webhook/[0-9a-f-]{36}/[^"/]+`), http.StatusOK).expect(ada.path(), "The receiver has an error.", "Open the endpoint")
	ada.open(link, http.StatusOK)
	works.Store(true)
	replay := ada.link(`/deliveries/webhook/[0-9a-f-]{36}/[^"/]+/replay`)
	ada.open(replay, http.StatusOK).fill(replay, nil, http.StatusOK)
	failing.got("Requests fail", 1+2)
	ada.sees(link, "got the message").expect(why, "Sent again", "Delivered")

	ada.open(why+"?event="+strings.Repeat("0", 8)+id[8:], http.StatusNotFound)
	ada.open(event+"/failed", http.StatusOK).expect(event+"/failed", "Why did somebody get nothing?")
}
