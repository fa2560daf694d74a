package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// TestKillLosesNothingOfIntegrations kills the platform after failures that cause mail to the management address, after
// a replay, and after requests of visitors.
func TestKillLosesNothingOfIntegrations(t *testing.T) {
	t.Parallel()
	const rounds = 3
	data := filepath.Join(t.TempDir(), "data")
	servers, env := startReceivers(t, receiverHost)
	servers[receiverHost].Answer = func(request receiver.Request) int {
		if strings.HasPrefix(request.Path, "/hooks/failing") {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	}
	p, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data, "APP_RATE_PER_MINUTE=100000",
		"DELIVERY_RETRY_SCHEDULE=20ms", "ALERT_AFTER=1", "SUPPRESS_AFTER=2")...)
	again := func() {
		t.Helper()
		p.kill()
		p.start()
		eventually(t, 30*time.Second, "ready again", ready(base))
	}
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	a.invites()
	kind := outbounds()[0]
	healthy := a.hook(kind, servers, component, "healthy")
	first := healthy.tell("to be replayed")
	delivered := healthy.logged(first, "delivered")[0]
	var replays []string

	for round := range rounds {
		name := func(what string) string { return fmt.Sprintf("%s-%d", what, round) }
		failing := a.hook(kind, servers, component, name("failing"))
		failing.tell(name("first failure"))
		failing.tell(name("second failure"))
		var replay struct{ DeliveryID string }
		send(t, http.MethodPost, base+"/app/notifications/webhook/logs/"+delivered.LogID+"/replay", a.app(), map[string]any{"sentAt": delivered.SentAt}).
			expect(t, http.StatusAccepted).into(t, &replay)
		replays = append(replays, replay.DeliveryID)
		a.asks(kind, name("visitor"), name("visitor")+"@example.com")
		<-time.After(time.Duration(rand.IntN(120)) * time.Millisecond) // a random moment for the kill
		again()

		failing.until("suppression", func(row hookView) bool { return row.Suppressed && row.ConsecutiveFailures == 2 })
		link, browser := linkTo(t, data, name("visitor")+"@example.com", 1), visitor{t: t, base: base}
		browser.do(http.MethodPost, link, nil).expect(t, http.StatusOK)
		again()
		browser.do(http.MethodPost, link, nil).expect(t, http.StatusGone)
		verified := &hook{actor: a, outbound: kind, server: servers[receiverHost], component: component, url: kind.at(name("visitor"))}
		verified.tell(name("to the visitor"))
		verified.got(name("to the visitor"), 1)
	}

	for _, id := range replays {
		eventually(t, 30*time.Second, "the replay", func() error {
			times := 0
			for _, request := range healthy.among(healthy.server.Requests(), "to be replayed") {
				if request.ID() == id {
					times++
				}
			}
			if times == 0 {
				return fmt.Errorf("the replay %s did not arrive", id)
			}
			if times > 3 {
				t.Errorf("the replay %s arrived %d times", id, times)
			}
			return nil
		})
	}
	for round := range rounds {
		address := fmt.Sprintf("failing-%d@example.com", round)
		eventually(t, 30*time.Second, "mail to "+address, func() error {
			subjects := map[string]int{}
			for _, letter := range letters(t, data) {
				if letter.to == address {
					subjects[letter.subject]++
				}
			}
			if len(subjects) < 2 {
				return fmt.Errorf("only %v", subjects)
			}
			for subject, n := range subjects {
				if n != 1 || len(subjects) != 2 {
					t.Errorf("%d mails %q to %s", n, subject, address)
				}
			}
			return nil
		})
	}
}
