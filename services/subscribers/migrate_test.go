package subscribers_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/client"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

// formerAddress and formerSubscription are the records of the version before this one, which had no subscribers.
type formerAddress struct {
	ID             string     `json:"id"`
	OrganizationID string     `json:"organizationId"`
	Channel        string     `json:"channel"`
	LegacyID       int64      `json:"legacyId"`
	Text           string     `json:"text"`
	Normal         string     `json:"normal"`
	Blocked        bool       `json:"blocked"`
	RewrittenAt    *time.Time `json:"rewrittenAt,omitempty"`
	Removed        bool       `json:"removed"`
	LeftAt         *time.Time `json:"leftAt,omitempty"`
	CreatedAt      time.Time  `json:"createdAt"`
}

type formerSubscription struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	Channel        string    `json:"channel"`
	LegacyID       int64     `json:"legacyId"`
	AddressID      string    `json:"addressId"`
	ComponentID    string    `json:"componentId"`
	Confirmed      bool      `json:"confirmed"`
	CreatedAt      time.Time `json:"createdAt"`
}

// former stores records with the declarations of the version before this one.
func (p *platform) former(addresses []formerAddress, subscriptions []formerSubscription) {
	p.t.Helper()
	db, err := document.Open(p.documents, "subscribers", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	type a = formerAddress
	type s = formerSubscription
	people := document.Declare(db, document.Schema[a]{
		Name: "addresses", Key: func(a *a) string { return a.ID },
		Fields: []document.Field[a]{
			{Name: "organization", Value: func(a *a) any {
				if a.Removed {
					return nil
				}
				return a.OrganizationID
			}},
			{Name: "channel", Value: func(a *a) any { return a.Channel }},
			{Name: "legacyId", Value: func(a *a) any { return a.LegacyID }},
			{Name: "text", Value: func(a *a) any { return a.Text }},
			{Name: "normal", Value: func(a *a) any { return a.Normal }},
			{Name: "blocked", Value: func(a *a) any { return a.Blocked }},
			{Name: "removed", Value: func(a *a) any {
				if !a.Removed {
					return nil
				}
				return true
			}},
		},
		Indexes: []document.Index{
			{Name: "legacy", Fields: []string{"organization", "channel", "legacyId"}, Unique: true},
			{Name: "normal", Fields: []string{"organization", "channel", "normal"}, Unique: true},
			{Name: "text", Fields: []string{"organization", "channel", "text", "legacyId"}},
			{Name: "removed", Fields: []string{"removed"}},
		},
	})
	rows := document.Declare(db, document.Schema[s]{
		Name: "subscriptions", Key: func(s *s) string { return s.ID },
		Fields: []document.Field[s]{
			{Name: "organization", Value: func(s *s) any { return s.OrganizationID }},
			{Name: "channel", Value: func(s *s) any { return s.Channel }},
			{Name: "legacyId", Value: func(s *s) any { return s.LegacyID }},
			{Name: "address", Value: func(s *s) any { return s.AddressID }},
			{Name: "component", Value: func(s *s) any { return s.ComponentID }},
			{Name: "confirmed", Value: func(s *s) any { return s.Confirmed }},
		},
		Indexes: []document.Index{
			{Name: "legacy", Fields: []string{"organization", "channel", "legacyId"}, Unique: true},
			{Name: "pair", Fields: []string{"address", "component"}, Unique: true},
			{Name: "address", Fields: []string{"organization", "channel", "address", "legacyId"}},
			{Name: "component", Fields: []string{"organization", "channel", "component", "legacyId"}},
			{Name: "concerned", Fields: []string{"organization", "channel", "confirmed", "component", "address"}},
		},
	})
	if err := db.Migrate(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	if err := people.UpsertMany(p.t.Context(), addresses); err != nil {
		p.t.Fatal(err)
	}
	if err := rows.UpsertMany(p.t.Context(), subscriptions); err != nil {
		p.t.Fatal(err)
	}
}

func (o organization) formerAddress(legacyID int64, text, normal string) formerAddress {
	channel := "email"
	if strings.HasPrefix(text, "+") {
		channel = "sms"
	}
	return formerAddress{ID: id(), OrganizationID: o.id, Channel: channel, LegacyID: legacyID, Text: text, Normal: normal, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (o organization) formerSubscription(a formerAddress, legacyID int64, service int, confirmed bool) formerSubscription {
	return formerSubscription{
		ID: id(), OrganizationID: o.id, Channel: a.Channel, LegacyID: legacyID, AddressID: a.ID, ComponentID: o.services[service].ID, Confirmed: confirmed, CreatedAt: a.CreatedAt,
	}
}

func TestRecordsOfTheVersionBeforeAreSubscribersOfTheFirstDashboard(t *testing.T) {
	p := surround(t)
	o := p.organization()
	p.events.addDashboard(o.id, o.services[1].ID)
	ann, bob, number := o.formerAddress(1, "Ann@example.com", "ann@example.com"), o.formerAddress(2, "bob@bücher.example", "bob@bücher.example"), o.formerAddress(1, "+4915112345678", "+4915112345678")
	number.Blocked = true
	half, alone := o.formerAddress(3, "half@example.com", "half@example.com"), o.formerAddress(4, "alone@example.com", "alone@example.com")
	half.Removed = true
	p.former([]formerAddress{ann, bob, number, half, alone}, []formerSubscription{
		o.formerSubscription(ann, 11, 2, true), o.formerSubscription(ann, 7, 0, true), o.formerSubscription(ann, 9, 1, false),
		o.formerSubscription(bob, 8, 1, true), o.formerSubscription(number, 5, 0, true), o.formerSubscription(half, 12, 0, true),
		{ID: id(), OrganizationID: o.id, Channel: "email", LegacyID: 13, AddressID: id(), ComponentID: o.services[0].ID, Confirmed: true},
	})
	p.events.down.Store(true) // events may start later
	asked := 0
	hook := func() {
		if asked++; asked == 2 {
			p.events.down.Store(false)
		}
	}
	p.events.boardAsked.Store(&hook)
	p.run()
	p.events.boardAsked.Store(nil)
	var uris []string
	for _, s := range p.call(o, http.StatusOK, http.MethodGet, subscriptions, nil).Objects {
		uris = append(uris, s.ResourceURI)
	}
	if got := strings.Join(uris, " "); got != strings.ReplaceAll("S7/ S8/ S9/ S11/", "S", subscriptions) {
		t.Errorf("the legacy interface shows %s", got)
	}
	found := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers
	if len(found) != 2 || found[0].Email != "Ann@example.com" || found[0].DashboardID != o.dashboard || len(found[0].ComponentIDs) != 3 || found[0].Confirmed ||
		found[1].Email != "bob@bücher.example" || !found[1].Confirmed || found[1].Source != "legacy" {
		t.Fatalf("found %+v", found)
	}
	if n := len(p.concerned(o, 10, o.services[0].ID, o.services[1].ID)); n != 2 {
		t.Errorf("%d are concerned", n)
	}
	if s := p.app(o, http.StatusOK, http.MethodGet, "sms", nil).Subscribers; len(s) != 1 || s[0].SuppressedReason != "invalid" {
		t.Errorf("the number: %+v", s)
	}
	p.app(o, http.StatusConflict, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "bob@xn--bcher-kva.example"})
	if n := p.total(o, "/api/v1/email/"); n != 3 {
		t.Errorf("%d addresses", n)
	}
	// Deliveries that were planned by the version before name the address.
	if d := p.resolve(o, ann.ID)[0]; d.State != topic.RecipientActive || d.Address != "Ann@example.com" || d.ID != ann.ID {
		t.Errorf("resolved %+v", d)
	}
	p.stop()
	p.run() // a second start changes nothing
	if again := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers; fmt.Sprint(again) != fmt.Sprint(found) {
		t.Errorf("found %+v", again)
	}
}

// stopping is a collection whose writes fail from one on, as if the process had been killed: before the write, or after it.
type stopping[T any] struct {
	audience.Collection[T]
	stop *stop
}

type stop struct {
	left  int // writes that succeed
	after bool
}

var errStopped = errors.New("stopped")

func (s *stop) write(do func() error) error {
	if s.left--; s.left < -1 || s.left == -1 && !s.after {
		return errStopped
	}
	if err := do(); err != nil || s.left >= 0 {
		return err
	}
	return errStopped
}

func (s stopping[T]) InsertMany(ctx context.Context, items []T) (stored []T, err error) {
	return stored, s.stop.write(func() error {
		stored, err = s.Collection.InsertMany(ctx, items)
		return err
	})
}

func (s stopping[T]) UpsertMany(ctx context.Context, items []T) error {
	return s.stop.write(func() error { return s.Collection.UpsertMany(ctx, items) })
}

// A migration that is stopped at any of its writes is completed by the next one.
func TestMigrationStoppedAtEachWrite(t *testing.T) {
	p := surround(t)
	o := p.organization()
	const people = 600
	var addresses []formerAddress
	var rows []formerSubscription
	for i := range people {
		text := fmt.Sprintf("p%d@example.com", i)
		addresses = append(addresses, o.formerAddress(int64(i+1), text, text))
		for service := range o.services {
			rows = append(rows, o.formerSubscription(addresses[i], int64(3*i+service+1), service, service != 1))
		}
	}
	p.former(addresses, rows)
	stops := 0
	for _, at := range []stop{{left: 0}, {left: 0, after: true}, {left: 1}, {left: 1, after: true}, {left: 2}, {left: 3, after: true}} {
		people := p.direct(func(string) {})
		people.Store.Subscribers = stopping[audience.Subscriber]{people.Store.Subscribers, &at}
		people.Store.Subscriptions = stopping[audience.Subscription]{people.Store.Subscriptions, &at}
		switch err := people.Sweep(t.Context()); {
		case errors.Is(err, errStopped):
			stops++
		case err != nil:
			t.Fatal(err)
		}
		p.closeDirect()
	}
	if stops < 5 {
		t.Errorf("only %d migrations were stopped", stops)
	}
	p.run()
	if n := p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts; n.Total != people || n.Unconfirmed != people {
		t.Errorf("counts %+v", n)
	}
	for query, want := range map[string]int{"": 3 * people, "&confirmed=true": 2 * people} {
		if n := p.call(o, http.StatusOK, http.MethodGet, subscriptions+"?limit=1"+query, nil).Meta.TotalCount; n != want {
			t.Errorf("%d subscriptions with %q", n, query)
		}
	}
	if n := len(p.concerned(o, 250, o.services[0].ID)); n != people {
		t.Errorf("%d are concerned", n)
	}
}

// Mail of the version before has links with its tokens. They end the subscriber of the first dashboard.
func TestAFormerLinkUnsubscribesFromTheFirstDashboard(t *testing.T) {
	p := surround(t)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	ann := o.formerAddress(1, "ann@example.com", "ann@example.com")
	p.former([]formerAddress{ann}, []formerSubscription{o.formerSubscription(ann, 1, 0, true), o.formerSubscription(ann, 2, 1, true)})
	p.run()
	p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": second.ID, "email": "ann@example.com", "confirmed": true})
	mac := hmac.New(sha256.New, seal.Key(secret, "unsubscribe"))
	text := o.id + "/" + ann.ID
	mac.Write([]byte(text))
	link := "https://status.example.com/public/unsubscribe?token=" + base64.RawURLEncoding.EncodeToString(append(mac.Sum(nil), text...))
	for _, want := range []int{http.StatusOK, http.StatusGone} {
		if status, page, _ := p.visit(http.MethodPost, link, "List-Unsubscribe=One-Click"); status != want {
			t.Fatalf("unsubscribing answers %s", page)
		}
	}
	found := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers
	if len(found) != 1 || found[0].DashboardID != second.ID {
		t.Errorf("left are %+v", found)
	}
}

// direct returns the domain on the records of the service, without the service. observe gets the operations of the store.
func (p *platform) direct(observe func(string)) *audience.Audience {
	p.t.Helper()
	db, err := document.Open(p.documents, "subscribers", document.Options{Observe: observe})
	if err != nil {
		p.t.Fatal(err)
	}
	p.closeDirect = sync.OnceFunc(func() { db.Close() })
	p.t.Cleanup(p.closeDirect)
	var people *audience.Audience
	people = audience.New(audience.Options{
		Store: store.New(db, func() store.Follower { return people }), Now: p.now, Log: p.process.Log, Links: audience.NewLinks(seal.Key(secret, "subscriber-link"), seal.Key(secret, "unsubscribe"), "https://status.example.com"),
		Events: client.NewEvents(peer.Events{Client: peer.NewClient("events", p.events.server.URL, peer.Options{
			Caller: "subscribers", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
		})}, p.now),
	})
	if err := db.Migrate(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return people
}
