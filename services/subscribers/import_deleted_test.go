package subscribers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Whoever unsubscribed here, or was deleted by a member, stays away when the former page still has the person. An undo lets a later
// import create the subscriber again, and so does force.
func TestALaterImportDoesNotCreateAgainWhoLeft(t *testing.T) {
	p := start(t)
	o := p.organization()
	names := []string{"owner", "member", "address", "legacy", "undone", "again", "stays"}
	var rows []object
	want := map[string]string{}
	for _, name := range names {
		rows = append(rows, object{"email": name + "@example.com", "state": "confirmed", "componentIds": []string{o.services[0].ID}})
		want[name+"@example.com"] = "refused"
	}
	p.imported(o, o.dashboard, nil, rows...)
	of := func(name string) string { return p.mail(o, o.dashboard, name+"@example.com").ID }
	if status, page, _ := p.visit(http.MethodPost, p.resolve(o, of("owner"))[0].Unsubscribe, "List-Unsubscribe=One-Click"); status != http.StatusOK {
		t.Fatal(page)
	}
	for _, name := range []string{"member", "again"} {
		p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+of(name), nil)
	}
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+of("undone")+"?undo=true", nil)
	p.call(o, http.StatusNoContent, http.MethodDelete, "/api/v1/email/"+p.legacyID(o, "address@example.com")+"/", nil)
	p.call(o, http.StatusNoContent, http.MethodDelete, p.subscriptionOf(o, "legacy@example.com"), nil)
	p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "again@example.com", "confirmed": true})
	want["undone@example.com"], want["again@example.com"], want["stays@example.com"] = "created", "updated", "updated"
	p.equal("a dry run", p.imported(o, o.dashboard, object{"dryRun": true}, rows...), want)
	p.equal("the import", p.imported(o, o.dashboard, nil, rows...), want)
	p.equal("subscribers", p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts.Total, 3)
	second := p.events.addDashboard(o.id, o.services[0].ID)
	p.equal("another dashboard", p.imported(o, second.ID, nil, rows[0]), map[string]string{"owner@example.com": "created"})
	p.equal("by force", p.imported(o, o.dashboard, object{"force": true}, rows[:4]...), map[string]string{
		"owner@example.com": "created", "member@example.com": "created", "address@example.com": "created", "legacy@example.com": "created",
	})
}

// An import creates nobody who left before it, also if no import had created them, and nobody again whose address or subscription a
// member has given another address.
func TestAnImportCreatesNobodyWhoLeftBefore(t *testing.T) {
	p := start(t)
	o := p.organization()
	v := p.offer(o, p.listen(topic.Notices))
	rows, want := []object{}, map[string]string{}
	for _, name := range []string{"visitor", "member", "known", "renamed", "moved", "two", "fresh"} {
		rows = append(rows, object{"email": name + "@example.com", "state": "confirmed", "componentIds": []string{o.services[0].ID}})
		want[name+"@example.com"] = "refused"
	}
	want["fresh@example.com"] = "created"
	unsubscribe := func(address string) {
		t.Helper()
		if status, page, _ := p.visit(http.MethodPost, p.resolve(o, p.mail(o, o.dashboard, address).ID)[0].Unsubscribe, "List-Unsubscribe=One-Click"); status != http.StatusOK {
			t.Fatal(page)
		}
	}
	for _, name := range []string{"visitor", "known"} {
		v.confirmed(name+"@example.com", o.services[0].ID)
	}
	p.equal("an import of a known one", p.imported(o, o.dashboard, nil, rows[2]), map[string]string{"known@example.com": "updated"})
	unsubscribe("visitor@example.com")
	unsubscribe("known@example.com")
	member := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "member@example.com"})
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+member.Subscriber.ID, nil)
	p.subscribe(o, "renamed@example.com", 0)
	p.call(o, http.StatusOK, http.MethodPut, "/api/v1/email/"+p.legacyID(o, "renamed@example.com")+"/", object{"email": "renewed@example.com"})
	moved := p.subscribe(o, "moved@example.com", 0)[0]
	p.call(o, http.StatusOK, http.MethodPut, moved, object{"email": object{"email": "other@example.com"}})
	for _, uri := range p.subscribe(o, "two@example.com", 0, 1) {
		p.call(o, http.StatusNoContent, http.MethodDelete, uri, nil)
	}
	p.equal("a dry run", p.imported(o, o.dashboard, object{"dryRun": true}, rows...), want)
	p.equal("the import", p.imported(o, o.dashboard, nil, rows...), want)
	unsubscribe("renewed@example.com")
	p.equal("after the new address left", p.imported(o, o.dashboard, nil, rows...)["renamed@example.com"], "refused")
}

// late is a collection of subscribers that calls before once, before it stores new ones.
type late struct {
	find.Collection[audience.Subscriber]
	before func()
}

func (l *late) InsertMany(ctx context.Context, people []audience.Subscriber) ([]audience.Subscriber, error) {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Collection.InsertMany(ctx, people)
}

// A slow process stores nobody again who was deleted after another process had stored the subscribers of the same import. A
// subscriber who was deleted before an import that is forced is stored.
func TestASlowProcessStoresNobodyAgainWhoLeft(t *testing.T) {
	p := surround(t)
	o := p.organization()
	people, fast := p.direct(nil), p.direct(nil)
	var ids []string
	for _, name := range []string{"left", "forced"} {
		address, err := people.AddAddress(t.Context(), o.id, topic.Email, name+"@example.com")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, audience.SubscriberID(o.dashboard, address.ID))
	}
	rows := []audience.Row{{Address: "left@example.com", Confirmed: new(true)}, {Address: "forced@example.com", Confirmed: new(true)}}
	if _, err := fast.Import(t.Context(), o.id, topic.Email, o.dashboard, rows[1:], audience.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := fast.RemoveSubscriber(t.Context(), o.id, topic.Email, ids[1], false); err != nil {
		t.Fatal(err)
	}
	p.ahead.Add(int64(time.Second))
	people.Store.Subscribers = &late{people.Store.Subscribers, func() {
		p.ahead.Add(int64(time.Second))
		imports, err := fast.Store.Imports.Find(t.Context(), find.Query{})
		if err != nil || len(imports.Items) != 1 {
			t.Fatalf("%v, %d imports", err, len(imports.Items))
		}
		if err := fast.ImportWritten(t.Context(), imports.Items[0].ID, &imports.Items[0]); err != nil {
			t.Error(err)
		}
		if err := fast.RemoveSubscriber(t.Context(), o.id, topic.Email, ids[0], false); err != nil {
			t.Error(err)
		}
	}}
	if _, err := people.Import(t.Context(), o.id, topic.Email, o.dashboard, rows, audience.ImportOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	left, err := people.Store.Subscribers.GetMany(t.Context(), ids)
	if err != nil || len(left) != 1 || left[0].ID != ids[1] {
		t.Errorf("%v, left are %+v", err, left)
	}
}

// importedAnn imports a subscriber. again imports the same row again, and checks the status of its result.
func importedAnn(t *testing.T) (p *platform, o organization, people *audience.Audience, id string, again func(want audience.Status)) {
	p = surround(t)
	o, people = p.organization(), p.direct(nil)
	address, err := people.AddAddress(t.Context(), o.id, topic.Email, "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	again = func(want audience.Status) {
		t.Helper()
		rows := []audience.Row{{Address: address.Text, Confirmed: new(true)}}
		got, err := people.Import(t.Context(), o.id, topic.Email, o.dashboard, rows, audience.ImportOptions{})
		if err != nil || len(got) != 1 || got[0].Status != want {
			t.Fatalf("%+v instead of %s: %v", got, want, err)
		}
	}
	again(audience.Created)
	return p, o, people, audience.SubscriberID(o.dashboard, address.ID), again
}

// leaving is a collection that calls after once, after it has read records. If fails is set, the next read calls it
// and fails.
type leaving struct {
	find.Collection[audience.DeletedImport]
	after func()
	fails func()
}

func (l *leaving) GetMany(ctx context.Context, ids []string) ([]audience.DeletedImport, error) {
	if fails := l.fails; l.after == nil && fails != nil {
		l.fails = nil
		fails()
		return nil, fault.New(fault.Unavailable, "the store is down")
	}
	found, err := l.Collection.GetMany(ctx, ids)
	if after := l.after; after != nil {
		l.after = nil
		after()
	}
	return found, err
}

// A subscriber who leaves after an import has read who left before is not stored again, also if the clock of the process that
// deletes the subscriber is behind.
func TestAnImportStoresNobodyAgainWhoLeavesMeanwhile(t *testing.T) {
	for _, behind := range []time.Duration{0, 3 * time.Second} {
		t.Run(behind.String(), func(t *testing.T) {
			p, o, people, id, again := importedAnn(t)
			other := p.direct(nil)
			other.Now = func() time.Time { return p.now().Add(-behind) }
			people.Store.DeletedImports = &leaving{Collection: people.Store.DeletedImports, after: func() {
				p.ahead.Add(int64(time.Second))
				if err := other.RemoveSubscriber(t.Context(), o.id, topic.Email, id, false); err != nil {
					t.Error(err)
				}
				p.ahead.Add(int64(time.Second))
			}}
			again(audience.Created)
			if left, err := people.Store.Subscribers.GetMany(t.Context(), []string{id}); err != nil || len(left) != 0 {
				t.Errorf("%v, left are %+v", err, left)
			}
		})
	}
}

// The same holds if the import has stored the subscriber, and cannot read who has left. Its second run does.
func TestAnImportThatIsRepeatedStoresNobodyAgainWhoLeft(t *testing.T) {
	_, o, people, id, _ := importedAnn(t)
	ctx, stop := context.WithCancel(t.Context()) // the request would wait for a second run, which nobody begins
	defer stop()
	people.Store.DeletedImports = &leaving{Collection: people.Store.DeletedImports, fails: stop, after: func() {
		if err := people.RemoveSubscriber(t.Context(), o.id, topic.Email, id, false); err != nil {
			t.Error(err)
		}
	}}
	rows := []audience.Row{{Address: "ann@example.com", Confirmed: new(true)}}
	if _, err := people.Import(ctx, o.id, topic.Email, o.dashboard, rows, audience.ImportOptions{}); err == nil {
		t.Fatal("the import has ended")
	}
	if stored, err := people.Store.Subscribers.GetMany(t.Context(), []string{id}); err != nil || len(stored) != 1 {
		t.Fatalf("%v, the first run has stored %+v", err, stored)
	}
	imports, err := people.Store.Imports.Find(t.Context(), find.Query{})
	if err != nil || len(imports.Items) != 1 || imports.Items[0].Inserted {
		t.Fatalf("%v, the imports are %+v", err, imports.Items)
	}
	if err := people.ImportWritten(t.Context(), imports.Items[0].ID, &imports.Items[0]); err != nil {
		t.Fatal(err)
	}
	if left, err := people.Store.Subscribers.GetMany(t.Context(), []string{id}); err != nil || len(left) != 0 {
		t.Errorf("%v, left are %+v", err, left)
	}
}

// slowToLeave is the subscribers while somebody leaves: the record of the deletion is stored, and the deletion follows after a
// read.
type slowToLeave struct {
	find.Collection[audience.Subscriber]
	after func()
}

func (s *slowToLeave) Delete(context.Context, string, func(*audience.Subscriber) ([]topic.Message, error)) error {
	return fault.New(fault.Unavailable, "the store is slow")
}

func (s *slowToLeave) GetMany(ctx context.Context, ids []string) ([]audience.Subscriber, error) {
	found, err := s.Collection.GetMany(ctx, ids)
	if after := s.after; after != nil {
		s.after = nil
		after()
	}
	return found, err
}

// Somebody has begun to leave before an import begins, and has left after it has read who is there. The import does not store
// the subscriber again.
func TestAnImportStoresNobodyAgainWhoIsLeaving(t *testing.T) {
	p, o, people, id, again := importedAnn(t)
	stored := people.Store.Subscribers
	slow := &slowToLeave{Collection: stored}
	people.Store.Subscribers = slow
	if err := people.RemoveSubscriber(t.Context(), o.id, topic.Email, id, false); !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	p.ahead.Add(int64(time.Second))
	slow.after = func() {
		if err := stored.Delete(t.Context(), id, nil); err != nil {
			t.Error(err)
		}
	}
	again(audience.Refused)
	if left, err := stored.GetMany(t.Context(), []string{id}); err != nil || len(left) != 0 {
		t.Errorf("%v, left are %+v", err, left)
	}
}

// The undo of an import deletes nobody whom a member or a visitor has created.
func TestAnUndoKeepsWhoIsOfNoImport(t *testing.T) {
	p := start(t)
	o := p.organization()
	member := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "member@example.com"}).Subscriber.ID
	p.imported(o, o.dashboard, nil, object{"email": "member@example.com", "state": "confirmed"}, object{"email": "imported@example.com", "state": "confirmed"})
	p.app(o, http.StatusConflict, http.MethodDelete, "email/"+member+"?undo=true", nil)
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+p.mail(o, o.dashboard, "imported@example.com").ID+"?undo=true", nil)
	p.equal("the subscriber who is left", p.mail(o, o.dashboard, "member@example.com").ID, member)
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+member, nil)
}
