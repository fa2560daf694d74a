package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// mostMailsInFlight is the number of connections to a mail server. If the server is killed, it may have accepted one
// mail on each connection without a reply.
const mostMailsInFlight = 16

// subscribe creates confirmed subscriptions of the addresses to the service through the legacy interface.
func (a actor) subscribe(service string, addresses []string) {
	a.t.Helper()
	work := make(chan string)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for address := range work {
				var made struct {
					URI string `json:"resource_uri"`
				}
				got, err := try(a.t.Context(), http.MethodPost, a.BaseURL+"/api/v1/email/", a.legacy(), map[string]any{"email": address})
				if err == nil && got.status == http.StatusCreated {
					got.into(a.t, &made)
					got, err = try(a.t.Context(), http.MethodPost, a.BaseURL+"/api/v1/subscribers/email/", a.legacy(),
						map[string]any{"email": made.URI, "service": service, "confirmed": true})
				}
				if err != nil || got.status != http.StatusCreated {
					a.t.Errorf("%s is not subscribed: %d %s, %v", address, got.status, got.body, err)
				}
			}
		})
	}
	for _, address := range addresses {
		work <- address
	}
	close(work)
	group.Wait()
	if a.t.Failed() {
		a.t.FailNow()
	}
}

// mailKind returns the kind of the nth recipient: 2 % have no mailbox, 1 % a closed and 1 % a full mailbox, 2 % get a
// temporary refusal (451) first, 1 % are slow.
func mailKind(n int) string {
	switch n % 100 {
	case 7, 57:
		return "gone"
	case 23:
		return "full"
	case 66:
		return "closed"
	case 31, 81:
		return "later"
	case 42:
		return "slow"
	}
	return "ann"
}

// refusedMailbox reports whether the mail server always refuses the address.
func refusedMailbox(address string) bool {
	kind, _, _ := strings.Cut(address, "-")
	return kind == "gone" || kind == "closed" || kind == "full"
}

// One incident is mailed to 10,000 recipients (fewer in the short form) over SMTP. Each mail has its own link. The mail
// server refuses some recipients, is slow for some, and is killed in the middle.
func TestMailReachesEachRecipientOnceWhileTheServerDies(t *testing.T) {
	t.Parallel()
	n := setting(t, "MAILS", 400, 10_000)
	server, env := startMailServer(t)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "LEGACY_RATE_PER_HOUR=1000000", "APP_RATE_PER_MINUTE=1000000",
		"DELIVERY_RETRY_SCHEDULE=500ms,1s,1s,2s,4s,8s,8s")...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, _ := a.service("Checkout")
	addresses, kinds := make([]string, n), map[string]int{}
	for i := range addresses {
		addresses[i] = fmt.Sprintf("%s-%05d@example.com", mailKind(i), i)
		kinds[mailKind(i)]++
	}
	began := time.Now()
	a.subscribe(service, addresses)
	t.Logf("%d subscribed in %v: %v", n, time.Since(began).Round(time.Millisecond), kinds)
	reachable := n - kinds["gone"] - kinds["closed"] - kinds["full"]

	tell := func(method, url string, change map[string]any) string {
		t.Helper()
		change["notifications"] = map[string]any{"email": map[string]any{"enabled": true}}
		var made struct {
			URI string `json:"resource_uri"`
		}
		got := send(t, method, url, a.legacy(), change)
		if got.status >= http.StatusMultipleChoices {
			t.Fatalf("%d %s", got.status, got.body)
		}
		got.into(t, &made)
		return made.URI
	}
	began = time.Now()
	event := tell(http.MethodPost, base+"/api/v1/event/list/", incident(service, "Checkout is slow"))
	server.await(reachable / 2)
	server.kill()
	server.start()
	server.complete(addresses)
	took := time.Since(began)

	// Each recipient got one mail. Only mails that were accepted right before the kill may have been sent twice.
	links, repeated := map[string]string{}, 0
	for _, address := range addresses {
		mails := server.accepted[address]
		if refusedMailbox(address) {
			if len(mails) > 0 || len(server.refused[address]) == 0 {
				t.Errorf("%s got %d mails and %v", address, len(mails), server.refused[address])
			}
			continue
		}
		repeated += len(mails) - 1
		for _, mail := range mails {
			if mail != mails[0] || mail.OneClick != "List-Unsubscribe=One-Click" || !strings.HasPrefix(mail.Unsubscribe, "<"+base+"/public/unsubscribe?token=") {
				t.Errorf("%s got %+v", address, mail)
			}
		}
		if other, taken := links[mails[0].Unsubscribe]; taken {
			t.Errorf("%s and %s have the same link", address, other)
		}
		links[mails[0].Unsubscribe] = address
	}
	t.Logf("%d mails to %d recipients in %v, %d repeated because the server died", server.total, reachable, took.Round(time.Millisecond), repeated)
	if repeated > mostMailsInFlight {
		t.Errorf("%d mails were repeated", repeated)
	}

	// The App interface shows which subscribers are suppressed, and why.
	eventually(t, time.Minute, "the suppressed", func() error {
		reasons := a.suppressed("email")
		if len(reasons) != kinds["gone"]+kinds["closed"] {
			return fmt.Errorf("%d are suppressed: %v", len(reasons), reasons)
		}
		for address, reason := range reasons {
			kind, _, _ := strings.Cut(address, "-")
			if want := map[string]string{"gone": "invalid", "closed": "bounce"}[kind]; reason != want {
				t.Fatalf("%s is suppressed because of %q", address, reason)
			}
		}
		return nil
	})

	// Every tenth recipient unsubscribes by the link. The next mail is sent to all others, but not to suppressed
	// subscribers.
	left := map[string]bool{}
	for i, address := range addresses {
		if mails := server.accepted[address]; i%10 == 3 && len(mails) > 0 {
			unsubscribe(t, http.MethodPost, base, mails[0].Unsubscribe).expect(t, http.StatusOK)
			left[address] = true
		}
	}
	before := map[string]int{}
	var stay []string
	for _, address := range addresses {
		before[address] = len(server.accepted[address])
		if before[address] > 0 && !left[address] {
			stay = append(stay, address)
		}
	}
	refusals := map[string]int{}
	for _, address := range addresses {
		refusals[address] = len(server.refused[address])
	}
	tell(http.MethodPut, base+event, map[string]any{"status": "/api/v1/status/3/"})
	server.complete(stay, before)
	for _, address := range stay {
		if mails := server.accepted[address]; len(mails) != before[address]+1 || mails[len(mails)-1].ID == mails[0].ID {
			t.Errorf("%s got %+v", address, mails)
		}
	}
	for address := range left {
		if len(server.accepted[address]) != before[address] {
			t.Errorf("%s left and got %+v", address, server.accepted[address])
		}
	}
	for address := range a.suppressed("email") {
		if len(server.refused[address]) != refusals[address] {
			t.Errorf("%s is suppressed and was tried again", address)
		}
	}
}

// suppressed returns the reasons for which subscribers of the channel are suppressed, by address.
func (a actor) suppressed(channel string) map[string]string {
	a.t.Helper()
	reasons, next := map[string]string{}, ""
	for {
		var list struct {
			Subscribers []struct{ Email, SuppressedReason string }
			NextToken   *string
		}
		send(a.t, http.MethodGet, a.BaseURL+"/app/subscribers/"+channel+"?state=suppressed&limit=100"+next, a.app(), nil).
			expect(a.t, http.StatusOK).into(a.t, &list)
		for _, subscriber := range list.Subscribers {
			reasons[subscriber.Email] = subscriber.SuppressedReason
		}
		if list.NextToken == nil {
			return reasons
		}
		next = "&nextToken=" + *list.NextToken
	}
}

// complete waits until each address that the server accepts has one more mail than before, and each other address was
// refused.
func (m *mailbox) complete(addresses []string, before ...map[string]int) {
	m.t.Helper()
	missing := func() (left []string) {
		m.read()
		for _, address := range addresses {
			want := 1
			for _, b := range before {
				want += b[address]
			}
			if refused := refusedMailbox(address); refused && len(m.refused[address]) == 0 || !refused && len(m.accepted[address]) < want {
				left = append(left, address)
			}
		}
		return left
	}
	for {
		left := missing()
		if len(left) == 0 {
			return
		}
		eventually(m.t, time.Minute, fmt.Sprintf("mail to %d addresses, such as %s", len(left), left[0]), func() error {
			if len(missing()) == len(left) {
				return fmt.Errorf("none of them has got it")
			}
			return nil
		})
	}
}
