package integrations_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// move gives the endpoint of a URL on a dashboard another URL.
func (p *platform) move(o organization, dashboard, urlHash, url string) record {
	p.t.Helper()
	return p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": dashboard, "urlHash": urlHash, "url": url}).Endpoint
}

// suppress lets the receiver behind a URL say that it is gone.
func (p *platform) suppress(o organization, recipient, urlHash string) {
	p.t.Helper()
	gone := p.outcome(o, recipient, topic.Failed)
	gone.Gone, gone.HTTPStatus, gone.ErrorCode = true, http.StatusGone, "gone"
	p.publish(gone)
	apitest.Eventually(p.t, "suppressed, and the failure counted", func() bool {
		list := p.call(o, http.StatusOK, http.MethodGet, path+"?urlHash="+urlHash, nil).Endpoints
		failures := 0
		for _, e := range list {
			failures += e.ConsecutiveFailures
		}
		return list[0].Suppressed && failures > 0
	})
}

func TestANewURLKeepsTheCounters(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/one", nil)
	recipient := p.only(o, o.one)
	success := p.outcome(o, recipient, topic.Delivered)
	p.publish(success, p.outcome(o, recipient, topic.Failed), p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "two failures", func() bool { return p.shown(o, made.URLHash).ConsecutiveFailures == 2 })

	// Late outcomes: of deliveries under way to the former URL, one of which finds that its receiver is gone.
	failure, delivered, gone := p.outcome(o, recipient, topic.Failed), p.outcome(o, recipient, topic.Delivered), p.outcome(o, recipient, topic.Failed)
	gone.Gone = true
	moved := p.move(o, o.dashboard, made.URLHash, "https://hooks.example.com/two")
	if moved.URLHash == made.URLHash || moved.LegacyID != made.LegacyID || moved.ConsecutiveFailures != 2 || moved.Suppressed ||
		moved.LastSuccessAt == nil || *moved.LastSuccessAt != success.At.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("after the move: %+v", moved)
	}
	p.publish(failure, delivered, gone, p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "the new URL's first failure is the third", func() bool { return p.shown(o, moved.URLHash).ConsecutiveFailures == 3 })
	if p.shown(o, moved.URLHash).Suppressed {
		t.Error("a late outcome of the old URL suppressed the new one")
	}
	p.publish(p.outcome(o, recipient, topic.Delivered))
	apitest.Eventually(p.t, "a success of the new URL resets", func() bool { return p.shown(o, moved.URLHash).ConsecutiveFailures == 0 })
}

func TestASuppressionGoesAlongWithTheURL(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	const url = "https://hooks.example.com/gone"
	made := p.create(o, url, nil)
	theirs := p.create(other, url+"/2", nil)
	recipient := p.only(o, o.one)
	p.suppress(o, recipient, made.URLHash)

	hash := made.URLHash
	for _, to := range []string{url + "/2", url + "/3", url, url} { // the last is the same again
		moved := p.move(o, o.dashboard, hash, to)
		if !moved.Suppressed || moved.ConsecutiveFailures != 1 {
			t.Errorf("moved to %s: %+v", to, moved)
		}
		if d := p.resolve(o, recipient)[0]; d.State != topic.RecipientSuppressed || d.URL != "" {
			t.Errorf("moved to %s: resolved %+v", to, d)
		}
		hash = moved.URLHash
	}
	for _, left := range []string{url + "/2", url + "/3"} {
		if e := p.create(o, left, object{"componentIds": []string{o.two}}); e.Suppressed {
			t.Errorf("%s is still suppressed, with nobody there", left)
		}
	}
	if p.shown(other, theirs.URLHash).Suppressed {
		t.Error("another organization's endpoint is suppressed too")
	}
	// A URL that is another endpoint's already keeps the state it has, either way.
	p.create(o, url+"/4", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	moved := p.move(o, o.dashboard, hash, url+"/4")
	if moved.Suppressed || moved.ConsecutiveFailures != 1 || p.resolve(o, recipient)[0].State != topic.RecipientActive {
		t.Errorf("moved to a URL that is in use: %+v", moved)
	}
	p.suppress(o, p.only(o, o.elsewhere), moved.URLHash)
	joined := p.create(o, url+"/5", nil)
	if joined = p.move(o, o.dashboard, moved.URLHash, url+"/6"); joined.Suppressed {
		t.Errorf("it takes along the suppression of a URL that another has: %+v", joined)
	}
	if back := p.move(o, o.dashboard, joined.URLHash, url+"/4"); !back.Suppressed {
		t.Errorf("moved to a suppressed URL: %+v", back)
	}
}

// Of two endpoints that leave one suppressed URL at the same time, the last takes the suppression along, and the other
// is free.
func TestTheLastOfConcurrentMovesTakesTheSuppression(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	const url = "https://hooks.example.com/"
	shared := p.create(o, url, nil).URLHash
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	p.suppress(o, p.only(o, o.one), shared)
	for round := range 5 {
		p.ahead.Add(int64(time.Minute))
		token := p.signer.Sign(o.member(passport.RoleAdmin))
		moved := make([]answer, 2)
		var group sync.WaitGroup
		for i, dashboard := range []string{o.dashboard, o.second} {
			body := object{"dashboardId": dashboard, "urlHash": shared, "url": fmt.Sprint(url, round, "/", i)}
			group.Go(func() {
				var err error
				if moved[i], err = p.try(token, http.MethodPatch, path, body); err != nil || moved[i].status != http.StatusOK {
					t.Errorf("round %d: %d %s %v", round, moved[i].status, moved[i].text, err)
				}
			})
		}
		group.Wait()
		if moved[0].Endpoint.Suppressed == moved[1].Endpoint.Suppressed {
			t.Fatalf("round %d: %+v", round, moved)
		}
		if left := p.create(o, url, object{"componentIds": []string{o.two}}); left.Suppressed {
			t.Errorf("round %d: the URL that both left is still suppressed", round)
		}
		p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "url": url})
		// The one that is free joins the other.
		free, dashboard := 0, o.dashboard
		if moved[0].Endpoint.Suppressed {
			free, dashboard = 1, o.second
		}
		shared = moved[1-free].Endpoint.URLHash
		if joined := p.move(o, dashboard, moved[free].Endpoint.URLHash, fmt.Sprint(url, round, "/", 1-free)); !joined.Suppressed || joined.URLHash != shared {
			t.Fatalf("round %d: moved to a suppressed URL: %+v", round, joined)
		}
	}
}

// Of two who give one endpoint different URLs at once, one does, and what the other
// meant to is nowhere.
func TestOneOfTwoMovesOfOneEndpointHappens(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	const url = "https://hooks.example.com/"
	hash := p.create(o, url, nil).URLHash
	p.suppress(o, p.only(o, o.one), hash)
	for round := range 5 {
		token := p.signer.Sign(o.member(passport.RoleAdmin))
		targets := []string{url + string(rune('a'+2*round)), url + string(rune('b'+2*round))}
		answers := make([]answer, 2)
		var group sync.WaitGroup
		for i := range answers {
			body := object{"dashboardId": o.dashboard, "urlHash": hash, "url": targets[i]}
			group.Go(func() {
				var err error
				if answers[i], err = p.try(token, http.MethodPatch, path, body); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		won := 0
		if answers[1].status == http.StatusOK {
			won = 1
		}
		if answers[won].status != http.StatusOK || answers[1-won].status != http.StatusNotFound || !answers[won].Endpoint.Suppressed {
			t.Fatalf("round %d: %d %s, %d %s", round, answers[0].status, answers[0].text, answers[1].status, answers[1].text)
		}
		hash = answers[won].Endpoint.URLHash
		if e := p.create(o, targets[1-won], object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}}); e.Suppressed {
			t.Fatalf("round %d: the URL that was not taken is suppressed", round)
		}
	}
}
