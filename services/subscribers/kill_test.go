package subscribers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// settled waits until the relay has completed what a killed process left, and returns the numbers of subscribers and of
// subscriptions.
func (p *platform) settled(o organization, components int) (subscribers, rows int) {
	p.t.Helper()
	apitest.Eventually(p.t, "what was left is complete", func() bool {
		subscribers = p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts.Total
		rows = p.call(o, http.StatusOK, http.MethodGet, subscriptions+"?limit=1", nil).Meta.TotalCount
		return rows == components*subscribers
	})
	return subscribers, rows
}

// A process killed anywhere in an import leaves, once the next has started, all of its subscribers or none. When the import
// is repeated, each owner is asked once.
func TestKillDuringAnImport(t *testing.T) {
	p := surround(t)
	h := p.listen(topic.Notices)
	const people, rounds = 200, 8
	rows := make([]object, people)
	var whole time.Duration
	organizations := make([]organization, rounds+1)
	begun := 0
	repeat := func(o organization) {
		t.Helper()
		for i := range rows {
			rows[i]["componentIds"] = []string{o.services[0].ID, o.services[1].ID}
		}
		body := object{"dashboardId": o.dashboard, "rows": rows, "sendConfirmations": true}
		apitest.Eventually(t, "a repetition ends", func() bool { // on a busy machine it may only be accepted
			got := p.send(p.signer.Sign(o.app(passport.RoleSubscriber)), http.MethodPost, "/app/subscribers/email/import", body)
			if got.status == http.StatusServiceUnavailable {
				return false
			}
			if got.status != http.StatusOK || strings.Contains(got.text, `"refused"`) {
				t.Fatalf("a repetition is refused: %d %s", got.status, got.text)
			}
			return true
		})
	}
	for round := range organizations {
		o := p.organization()
		organizations[round] = o
		for i := range rows {
			rows[i] = object{"email": fmt.Sprintf("p%d@example.com", i), "componentIds": []string{o.services[0].ID, o.services[1].ID}}
		}
		token, after := p.signer.Sign(o.app(passport.RoleSubscriber)), whole*time.Duration(round)/rounds
		if round == 0 {
			after = time.Hour
		}
		took := p.killDuring(after, func() {
			_, _ = p.try(token, http.MethodPost, "/app/subscribers/email/import", object{"dashboardId": o.dashboard, "rows": rows, "sendConfirmations": true}) // it may not live to answer
		})
		if round == 0 {
			whole = took
		}
	}
	p.run()
	for _, o := range organizations[rounds-1:] { // at once, while what the killed process has left may not be complete
		repeat(o)
	}
	for _, o := range organizations {
		if n, _ := p.settled(o, 2); n != 0 && n != people {
			t.Errorf("%d subscribers are left of %d", n, people)
		} else if n > 0 {
			begun++
		}
		repeat(o)
		if n, _ := p.settled(o, 2); n != people {
			t.Errorf("%d subscribers after a repetition", n)
		}
	}
	t.Logf("%d of %d imports were stored", begun, len(organizations))
	last := p.app(organizations[0], http.StatusCreated, http.MethodPost, "email", object{"dashboardId": organizations[0].dashboard, "email": "last@example.com"}).Subscriber.ID
	asked := p.asked(h, last)
	for recipient, notices := range asked {
		if len(notices) != 1 {
			t.Errorf("%s is asked %d times", recipient, len(notices))
		}
	}
	if want := people*len(organizations) + 1; len(asked) != want {
		t.Errorf("%d owners are asked, not %d", len(asked), want)
	}
}

// A process killed while a subscription moves to another address leaves it at one of them, with its id.
func TestKillDuringAMove(t *testing.T) {
	p := surround(t)
	p.run()
	const rounds = 8
	uris := make([]string, rounds+1)
	organizations := make([]organization, rounds+1)
	for round := range organizations {
		organizations[round] = p.organization()
		uris[round] = p.subscribe(organizations[round], "ann@example.com", 0)[0]
		p.subscribe(organizations[round], "bob@example.com", 1)
	}
	p.stop()
	var whole time.Duration
	for round, o := range organizations {
		token, after := p.signer.Sign(o.member(passport.RoleAdmin)), whole*time.Duration(round)/rounds
		if round == 0 {
			after = time.Hour
		}
		took := p.killDuring(after, func() {
			_, _ = p.try(token, http.MethodPut, uris[round], object{"email": object{"email": "bob@example.com"}}) // it may not live to answer
		})
		if round == 0 {
			whole = took
		}
	}
	p.run()
	moved := 0
	for round, o := range organizations {
		apitest.Eventually(t, "the move has ended", func() bool {
			found := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers
			total := p.call(o, http.StatusOK, http.MethodGet, subscriptions, nil).Meta.TotalCount
			return total == 2 && (len(found) == 1 && len(found[0].ComponentIDs) == 2 || len(found) == 2 && len(found[0].ComponentIDs) == 1)
		})
		p.call(o, http.StatusOK, http.MethodGet, uris[round], nil)
		moved += 2 - len(p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers)
	}
	t.Logf("%d of %d have moved", moved, len(organizations))
}
