package subscribers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// imported imports rows of mail addresses and returns the statuses by address. It checks that the other results have an
// error.
func (p *platform) imported(o organization, dashboard string, more object, rows ...object) map[string]string {
	p.t.Helper()
	body := object{"dashboardId": dashboard, "rows": rows}
	for name, value := range more {
		body[name] = value
	}
	statuses := map[string]string{}
	for i, r := range p.app(o, http.StatusOK, http.MethodPost, "email/import", body).Results {
		if (r.Error == nil) != (r.Status != "refused") {
			p.t.Errorf("row %d: %+v", i+1, r)
		}
		statuses[fmt.Sprint(rows[i]["email"])] = r.Status
	}
	return statuses
}

// mail returns the subscriber of an address on a dashboard. It fails if there is none.
func (p *platform) mail(o organization, dashboard, address string) shownSubscriber {
	p.t.Helper()
	found := p.app(o, http.StatusOK, http.MethodGet, "email?dashboardId="+dashboard+"&q="+address, nil).Subscribers
	if len(found) != 1 {
		p.t.Fatalf("%d subscribers with %s", len(found), address)
	}
	return found[0]
}

func (p *platform) equal(what string, got, want any) {
	p.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Of the subscribers of another page, those whose confirmation is proven are confirmed. Nobody else gets a message.
func TestAnImportTakesTheStatesOfAnotherPage(t *testing.T) {
	p := start(t)
	o := p.organization()
	since := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	rows := []object{
		{"email": "confirmed@example.com", "state": "confirmed", "confirmedAt": since}, {"email": "unconfirmed@example.com", "state": "unconfirmed"},
		{"email": "quarantined@example.com", "state": "quarantined", "confirmedAt": since}, {"email": "unsubscribed@example.com", "state": "unsubscribed", "confirmedAt": since},
		{"email": "future@example.com", "state": "confirmed", "confirmedAt": p.now().Add(time.Hour)}, {"email": "both@example.com", "state": "confirmed", "confirmed": true},
		{"email": "unknown@example.com", "state": "active"}, {"email": "year1@example.com", "state": "confirmed", "confirmedAt": time.Time{}},
	}
	statuses := map[string]string{
		"confirmed@example.com": "created", "unconfirmed@example.com": "refused", "quarantined@example.com": "created", "unsubscribed@example.com": "created",
		"future@example.com": "refused", "both@example.com": "refused", "unknown@example.com": "refused",
		"year1@example.com": "refused",
	}
	p.equal("a dry run", p.imported(o, o.dashboard, object{"dryRun": true}, rows...), statuses)
	p.equal("nothing is stored", p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts.Total, 0)
	p.equal("the import", p.imported(o, o.dashboard, nil, rows...), statuses)
	confirmed := p.mail(o, o.dashboard, "confirmed@example.com")
	if !confirmed.Confirmed || confirmed.ConfirmedAt == nil || !confirmed.ConfirmedAt.Equal(since) || confirmed.Suppressed {
		t.Errorf("the confirmed one: %+v", confirmed)
	}
	quarantined, unsubscribed := p.mail(o, o.dashboard, "quarantined@example.com"), p.mail(o, o.dashboard, "unsubscribed@example.com")
	if !quarantined.Confirmed || quarantined.SuppressedReason != "bounce" {
		t.Errorf("the quarantined one: %+v", quarantined)
	}
	if unsubscribed.Confirmed || unsubscribed.SuppressedReason != "unsubscribed" {
		t.Errorf("the one who unsubscribed: %+v", unsubscribed)
	}
	counts := p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts
	p.equal("suppressed, unsubscribed", []int{counts.Suppressed, counts.Unsubscribed}, []int{2, 1})
	p.equal("the filter", p.app(o, http.StatusOK, http.MethodGet, "email?state=unsubscribed", nil).Subscribers[0].ID, unsubscribed.ID)
	p.equal("notified", p.notified(o), []string{confirmed.ID})
	for name := range statuses {
		if statuses[name] == "created" {
			statuses[name] = "updated"
		}
	}
	p.equal("the import again", p.imported(o, o.dashboard, nil, rows...), statuses)
	p.equal("notified after it", p.notified(o), []string{confirmed.ID})
	// A member ends a suppression, and the import does not undo this.
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+quarantined.ID, object{"suppressed": false})
	p.imported(o, o.dashboard, nil, rows...)
	p.equal("notified after the end of a suppression", len(p.notified(o)), 2)
	// The owner unsubscribed there before a later import.
	later := object{"email": "confirmed@example.com", "state": "unsubscribed"}
	p.equal("a later import", p.imported(o, o.dashboard, nil, later), map[string]string{"confirmed@example.com": "updated"})
	p.equal("notified after it", p.notified(o), []string{quarantined.ID})
	number := object{"phone": "+4915112345678", "state": "confirmed", "confirmedAt": since}
	p.equal("a number", p.app(o, http.StatusOK, http.MethodPost, "sms/import", object{"dashboardId": o.dashboard, "rows": []object{number}}).Results[0].Status, "refused")
	p.equal("a number in WhatsApp", p.app(o, http.StatusOK, http.MethodPost, "whatsapp/import", object{"dashboardId": o.dashboard, "rows": []object{number}}).Results[0].Status, "created")
}

// notified returns the ids of the subscribers by mail that get a message about the organization's first component.
func (p *platform) notified(o organization) (ids []string) {
	p.t.Helper()
	for _, to := range p.resolve(o, p.concerned(o, 1000, o.services[0].ID)...) {
		if to.State == topic.RecipientActive {
			ids = append(ids, to.ID)
		}
	}
	return ids
}

// An owner who has confirmed a subscription here, on any dashboard, is not suppressed because of an old page.
func TestAnImportDoesNotSuppressAnOwnerWhoConfirmedHere(t *testing.T) {
	p := start(t)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	for address, dashboard := range map[string]string{"elsewhere@example.com": second.ID, "here@example.com": o.dashboard} {
		p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": dashboard, "email": address, "confirmed": true})
	}
	p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": second.ID, "email": "asked@example.com"}) // not confirmed
	p.equal("the import", p.imported(o, o.dashboard, nil,
		object{"email": "elsewhere@example.com", "state": "unsubscribed"}, object{"email": "here@example.com", "state": "unsubscribed"}, object{"email": "asked@example.com", "state": "unsubscribed"}),
		map[string]string{"elsewhere@example.com": "refused", "here@example.com": "updated", "asked@example.com": "created"})
	p.equal("suppressed", p.mail(o, second.ID, "elsewhere@example.com").Suppressed || p.mail(o, o.dashboard, "here@example.com").Suppressed, false)
	p.equal("on all dashboards", p.mail(o, second.ID, "asked@example.com").SuppressedReason, "unsubscribed")
}

// An owner whom an import asked, and who has confirmed here, is not suppressed because of an old page. An import that confirms an
// owner later, because of the old page, and a member who adds a component do not count as the owner.
func TestAnImportDoesNotSuppressAnOwnerWhoConfirmedItsQuestion(t *testing.T) {
	p := start(t)
	o := p.organization()
	v := p.offer(o, p.listen(topic.Notices))
	asked := func(name, state string) object { return object{"email": name + "@example.com", "state": state} }
	p.imported(o, o.dashboard, object{"sendConfirmations": true}, asked("here", "unconfirmed"), asked("late", "unconfirmed"), asked("renamed", "unconfirmed"))
	for _, name := range []string{"here", "renamed"} {
		v.must(http.StatusOK, http.MethodPost, v.follow(v.message(topic.SubscriberConfirm, name+"@example.com", 1).Link, "confirm"), nil)
	}
	p.call(o, http.StatusOK, http.MethodPut, "/api/v1/email/"+p.legacyID(o, "renamed@example.com")+"/", object{"email": "renewed@example.com"})
	p.imported(o, o.dashboard, object{"force": true}, asked("late", "confirmed"))
	member := object{"email": "member@example.com", "state": "confirmed", "componentIds": []string{o.services[0].ID}}
	p.imported(o, o.dashboard, nil, member)
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+p.mail(o, o.dashboard, "member@example.com").ID, object{"componentIds": []string{o.services[0].ID, o.services[1].ID}})
	p.imported(o, o.dashboard, nil, asked("here", "unsubscribed"), asked("late", "unsubscribed"), asked("member", "unsubscribed"), asked("renewed", "unsubscribed"))
	for name, suppressed := range map[string]bool{"here": false, "late": true, "member": true, "renewed": true} {
		s := p.mail(o, o.dashboard, name+"@example.com")
		p.equal(name+" is suppressed and confirmed", []bool{s.Suppressed, s.Confirmed}, []bool{suppressed, !suppressed})
	}
}

// The owner who unsubscribed on the former page subscribes here, and the own confirmation ends the suppression. No member
// and no other message does.
func TestOnlyTheOwnerEndsAnUnsubscription(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	v := p.offer(o, h)
	const mail = "ann@example.com"
	row := object{"email": mail, "state": "unsubscribed"}
	p.imported(o, o.dashboard, object{"sendConfirmations": true}, row)
	v.ids[mail] = p.mail(o, o.dashboard, mail).ID
	p.app(o, http.StatusConflict, http.MethodPost, "email/"+v.ids[mail]+"/resend-confirmation", nil)
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+v.ids[mail], object{"confirmed": true})
	p.equal("confirmed by a member", v.state(mail).State, topic.RecipientSuppressed)
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+v.ids[mail], object{"confirmed": false})
	link := v.request(mail, o.services[0].ID)
	p.equal("asked", p.mail(o, o.dashboard, mail).SuppressedReason, "unsubscribed")
	p.equal("messages that ask", len(v.notices(topic.SubscriberConfirm, mail)), 1)
	v.must(http.StatusOK, http.MethodPost, link, nil)
	p.equal("confirmed by the owner", p.mail(o, o.dashboard, mail).Suppressed, false)
	p.equal("told", v.told(topic.Email, mail, o.services[0].ID), true)
	p.imported(o, o.dashboard, nil, row)
	p.equal("told after the import again", v.told(topic.Email, mail, o.services[0].ID), true)
	// Another reason stays: nothing is sent to the address, not even on its owner's wish.
	p.imported(o, o.dashboard, nil, object{"email": "bob@example.com", "state": "quarantined"})
	v.ask(topic.Email, "bob@example.com", o.services[0].ID)
	v.request("last@example.com")
	p.equal("messages to a quarantined address", len(v.notices(topic.SubscriberConfirm, "bob@example.com")), 0)
}

// The undo of an import leaves no address that the import has stored, and no suppression of such an address. An address that was
// there before stays, and so does one that is suppressed for another reason, or whose subscriber a member deletes.
func TestAnUndoneImportLeavesNoAddress(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	v := p.offer(o, h)
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/email/", object{"email": "before@example.com"})
	states := map[string]string{"before": "confirmed", "fine": "confirmed", "back": "quarantined", "left": "unsubscribed", "deleted": "unsubscribed", "gone": "confirmed"}
	var rows []object
	for name, state := range states {
		rows = append(rows, object{"email": name + "@example.com", "state": state})
	}
	p.imported(o, o.dashboard, nil, rows...)
	of := func(name string) string { return p.mail(o, o.dashboard, name+"@example.com").ID }
	p.outcomes(gone(o, topic.Email, of("gone"), p.now()))
	for name := range states {
		undo := "?undo=true"
		if name == "deleted" {
			undo = ""
		}
		p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+of(name)+undo, nil)
	}
	p.equal("addresses that are left", p.total(o, "/api/v1/email/"), 3)
	for _, name := range []string{"before", "deleted", "gone"} {
		p.legacyID(o, name+"@example.com")
	}
	v.request("back@example.com", o.services[0].ID)
	p.equal("messages that ask", len(v.notices(topic.SubscriberConfirm, "back@example.com")), 1)
}

// The undo of an import ends the suppression of an address from before the import, unless the address was suppressed before it, so that
// the subscribers of other dashboards are as they were. A later import suppresses the address again.
func TestAnUndoneImportEndsItsSuppressions(t *testing.T) {
	p := start(t)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	for _, name := range []string{"back", "before"} {
		p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": second.ID, "email": name + "@example.com", "confirmed": true})
	}
	p.outcomes(gone(o, topic.Email, p.mail(o, second.ID, "before@example.com").ID, p.now()))
	rows := []object{{"email": "back@example.com", "state": "quarantined"}, {"email": "before@example.com", "state": "quarantined"}, {"email": "new@example.com", "state": "quarantined"}}
	suppressed := func() (reasons []string) {
		t.Helper()
		for _, name := range []string{"back", "before"} {
			reasons = append(reasons, p.mail(o, second.ID, name+"@example.com").SuppressedReason)
		}
		return reasons
	}
	for range 2 {
		p.equal("the import", len(p.imported(o, o.dashboard, nil, rows...)), 3)
		p.equal("suppressed by the import", suppressed(), []string{"bounce", "invalid"})
		for _, name := range []string{"back", "before", "new"} {
			p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+p.mail(o, o.dashboard, name+"@example.com").ID+"?undo=true", nil)
		}
		p.equal("suppressed after the undo", suppressed(), []string{"", "invalid"})
	}
}

// refusing is a collection of rows that stores new ones only after reached, as if the database could not be reached before.
type refusing struct {
	find.Collection[audience.Subscription]
	reached *atomic.Bool
}

func (r refusing) InsertMany(ctx context.Context, rows []audience.Subscription) ([]audience.Subscription, error) {
	if !r.reached.Load() {
		return nil, errors.New("the database cannot be reached")
	}
	return r.Collection.InsertMany(ctx, rows)
}

// A subscriber who was deleted after an import had stored the subscriber stays deleted when the import is completed later, also by a
// process that has read the import before.
func TestAnImportThatIsCompletedLaterStoresNobodyAgain(t *testing.T) {
	p := surround(t)
	o := p.organization()
	people := p.direct(nil)
	var reached atomic.Bool
	people.Store.Subscriptions = refusing{people.Store.Subscriptions, &reached}
	address, err := people.AddAddress(t.Context(), o.id, topic.Email, "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	ann := audience.Subscriber{
		ID: audience.SubscriberID(o.dashboard, address.ID), OrganizationID: o.id, Channel: topic.Email, DashboardID: o.dashboard, AddressID: address.ID, Address: audience.AddressCopy{Text: address.Text, Normal: address.Normal},
		Entries: []audience.Entry{{ID: topic.NewID(), LegacyID: 1, ComponentID: o.services[0].ID}}, ImportID: topic.NewID(), CreatedAt: p.now(), UpdatedAt: p.now(),
	}
	record := audience.Import{ID: ann.ImportID, OrganizationID: o.id, Channel: topic.Email, DashboardID: o.dashboard, Rows: 1, Created: 1, Subscribers: []audience.Subscriber{ann}, CreatedAt: p.now()}
	stored := func() (subscribers, imports int) {
		t.Helper()
		found, err := people.Store.Subscribers.GetMany(t.Context(), []string{ann.ID})
		left, failed := people.Store.Imports.GetMany(t.Context(), []string{record.ID})
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return len(found), len(left)
	}
	_ = people.Store.Imports.Insert(t.Context(), record)
	if there, left := stored(); there != 1 || left != 1 {
		t.Fatalf("%d subscribers, %d imports", there, left)
	}
	if err := people.Store.Subscribers.Delete(t.Context(), ann.ID, nil); err != nil {
		t.Fatal(err)
	}
	reached.Store(true)
	for range 2 {
		if err := people.ImportWritten(t.Context(), record.ID, &record); err != nil {
			t.Fatal(err)
		}
		if there, left := stored(); there != 0 || left != 0 {
			t.Errorf("%d subscribers, %d imports", there, left)
		}
	}
}

// subscriptionOf returns the path of the only subscription of a mail address on the legacy interface.
func (p *platform) subscriptionOf(o organization, email string) string {
	p.t.Helper()
	found := p.call(o, http.StatusOK, http.MethodGet, "/api/v1/subscribers/email/?email="+p.legacyID(o, email), nil).Objects
	if len(found) != 1 {
		p.t.Fatalf("%d subscriptions of %s", len(found), email)
	}
	return found[0].ResourceURI
}
