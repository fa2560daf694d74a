package subscribers_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

// atOnce sends the same kind of request n times and counts the answers by status.
func (p *platform) atOnce(o organization, n int, request func(i int) (method, target string, body object)) map[int]int {
	token := p.signer.Sign(o.member(passport.RoleAdmin))
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			method, target, body := request(i)
			got, err := p.try(token, method, target, body)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
			if err != nil {
				p.t.Error(err)
			}
		})
	}
	group.Wait()
	return statuses
}

func TestOneOfFiftyConcurrentCreatesSucceeds(t *testing.T) {
	p := start(t)
	o := p.organization()
	for list, body := range map[string]object{"/api/v1/email/": {"email": "ann@example.com"}, "/api/v1/number/": {"number": "+4915112345678"}} {
		statuses := p.atOnce(o, 50, func(int) (string, string, object) { return http.MethodPost, list, body })
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusBadRequest] != 49 {
			t.Errorf("%s: %v", list, statuses)
		}
		if n := p.total(o, list); n != 1 {
			t.Errorf("%s has %d", list, n)
		}
	}
}

func TestOneOfFiftyConcurrentSubscriptionsByValueSucceeds(t *testing.T) {
	p := start(t)
	o := p.organization()
	statuses := p.atOnce(o, 50, func(i int) (string, string, object) {
		email := []string{"ann@example.com", "Ann@example.com"}[i%2]
		return http.MethodPost, subscriptions, object{"email": object{"email": email}, "service": o.uri(0)}
	})
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusBadRequest] != 49 {
		t.Errorf("of one service: %v", statuses)
	}
	if a, s := p.total(o, "/api/v1/email/"), p.total(o, subscriptions); a != 1 || s != 1 {
		t.Errorf("%d addresses, %d subscriptions", a, s)
	}
	// Of different services all do, with one address.
	statuses = p.atOnce(o, 3, func(i int) (string, string, object) {
		return http.MethodPost, subscriptions, object{"email": object{"email": "bob@example.com"}, "service": o.uri(i)}
	})
	if statuses[http.StatusCreated] != 3 {
		t.Errorf("of different services: %v", statuses)
	}
	if a, s := p.total(o, "/api/v1/email/"), p.total(o, subscriptions); a != 2 || s != 4 {
		t.Errorf("%d addresses, %d subscriptions", a, s)
	}
}

// Two who change one subscription at once both succeed, and nothing of either is lost.
func TestConcurrentChangesAreAllKept(t *testing.T) {
	p := start(t)
	o := p.organization()
	uri := p.subscribe(o, "ann@example.com", 0)[0]
	changes := []object{{"confirmed": false}, {"service": o.uri(1)}, {"email": object{"email": "bob@example.com"}}}
	statuses := p.atOnce(o, len(changes), func(i int) (string, string, object) { return http.MethodPut, uri, changes[i] })
	if statuses[http.StatusOK] != 3 {
		t.Errorf("answers by status: %v", statuses)
	}
	want := fmt.Sprintf(`{"confirmed":false,"email":{"email":"bob@example.com","resource_uri":"/api/v1/email/%s/"},"resource_uri":"%s",`, p.legacyID(o, "bob@example.com"), uri)
	got := p.call(o, http.StatusOK, http.MethodGet, uri, nil)
	if len(got.text) < len(want) || got.text[:len(want)] != want || got.Service.ResourceURI != o.uri(1) {
		t.Errorf("kept is %s", got.text)
	}
}

// While an address comes, goes and is subscribed, no subscription outlives its address.
func TestSubscribingAndRemovingAtOnceLeavesNothingBehind(t *testing.T) {
	p := start(t)
	o := p.organization()
	for range 5 {
		p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/email/", object{"email": "ann@example.com"})
		email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
		statuses := p.atOnce(o, 16, func(i int) (string, string, object) {
			if i%4 == 3 {
				return http.MethodDelete, email, nil
			}
			return http.MethodPost, subscriptions, object{"email": email, "service": o.uri(i % 3), "confirmed": true}
		})
		if statuses[http.StatusNoContent] != 1 || statuses[http.StatusNotFound] != 3 ||
			statuses[http.StatusCreated]+statuses[http.StatusBadRequest] != 12 {
			t.Errorf("answers by status: %v", statuses)
		}
		if a, s := p.total(o, "/api/v1/email/"), p.total(o, subscriptions); a != 0 || s != 0 {
			t.Fatalf("left are %d addresses, %d subscriptions", a, s)
		}
	}
}

// halting is a collection of addresses that calls before ahead of each change.
type halting struct {
	find.Collection[audience.Address]
	before func()
}

func (h halting) Update(ctx context.Context, id string, change func(*audience.Address) ([]topic.Message, error)) (audience.Address, error) {
	h.before()
	return h.Collection.Update(ctx, id, change)
}

// An address that was stored for a subscription that is refused stays when somebody else
// subscribed it meanwhile, at whichever moment.
func TestARefusedSubscriptionTakesNobodyElsesAddress(t *testing.T) {
	p := start(t)
	o := p.organization()
	db, err := document.Open(p.documents, "subscribers", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	email, component, met := "ann@example.com", o.services[0].ID, 0
	var second *audience.Audience
	records := store.New(db, func() store.Follower { return second })
	records.Addresses = halting{records.Addresses, func() {
		if met++; met == 1 {
			p.subscribe(o, email, 1)
		}
	}}
	second = &audience.Audience{Store: records, Now: p.now, Events: peer.NewRecentDashboards(peer.Events{
		Client: peer.NewClient("events", p.events.server.URL, peer.Options{
			Caller: "subscribers", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
		}),
	}, time.Second, p.now)}
	p.events.remove(o.id, component)
	_, err = second.Subscribe(t.Context(), o.id, topic.Email, audience.SubscriptionPatch{AddressText: &email, ComponentID: &component})
	if !fault.Is(err, fault.Invalid) || met == 0 {
		t.Fatalf("%v, %d", err, met)
	}
	if a, s := p.total(o, "/api/v1/email/"), p.total(o, subscriptions); a != 1 || s != 1 {
		t.Errorf("%d addresses, %d subscriptions", a, s)
	}
	ids := p.concerned(o, 10, o.services[1].ID)
	if len(ids) != 1 {
		t.Fatalf("concerned are %v", ids)
	}
	// The relay of the other process may have read the address while it was marked as removed. It reads it again after
	// it has written its copy.
	apitest.Eventually(t, "the subscriber is active", func() bool { return p.resolve(o, ids[0])[0].State == topic.RecipientActive })
}
