package subscribers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// A message that asks for a confirmation, and the page behind its link, do not name a hidden component.
func TestAHiddenComponentIsNotNamedToConfirm(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	for i, want := range map[int]string{0: "[API]", 1: "[…]"} {
		address := fmt.Sprintf("ann%d@example.com", i)
		p.app(v.organization, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": v.dashboard, "email": address, "componentIds": []string{v.services[i].ID, v.services[1].ID}})
		message := v.message(topic.SubscriberConfirm, address, 1)
		if got := fmt.Sprint(message.Names); got != want {
			t.Errorf("the message names %s, not %s", got, want)
		}
		shown := v.must(http.StatusOK, http.MethodGet, v.follow(message.Link, "confirm"), nil).text
		if strings.Contains(shown, "Web") || strings.Contains(shown, "All components") || !strings.Contains(shown, "<li><bdi>"+strings.Trim(want, "[]")+"</bdi></li>") {
			t.Errorf("the page is %s", shown)
		}
	}
}

// No message is sent about a component that has left the dashboard, and the App interface does not show it. Its subscriber
// is still notified of events of the dashboard without components. The legacy interface has no dashboards, so its subscriptions
// go on.
func TestAComponentThatHasLeftTheDashboardIsNeitherShownNorNotifiedAbout(t *testing.T) {
	p := start(t)
	o := p.organization()
	api, zurich := o.services[0].ID, o.services[2].ID
	second := p.events.addDashboard(o.id, api, zurich).ID
	create := func(email string, components ...string) string {
		return p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": second, "email": email, "componentIds": components, "confirmed": true}).Subscriber.ID
	}
	one, two := create("one@example.com", api), create("two@example.com", api, zurich)
	p.subscribe(o, "legacy@example.com", 0)
	legacy := p.app(o, http.StatusOK, http.MethodGet, "email?q=legacy", nil).Subscribers[0].ID
	told := func(d topic.Destination) bool {
		page, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Channel: topic.Email, AllOf: []string{d.Dashboard.ID}, Limit: 10})
		return err == nil && slices.ContainsFunc(page.Recipients, func(r topic.Recipient) bool { return r.ID == d.ID })
	}
	expect := func(when string, want map[string]string) {
		t.Helper()
		listed := map[string]string{}
		for _, s := range p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers {
			listed[s.ID] = fmt.Sprint(s.ComponentIDs, s.Confirmed)
		}
		for id, components := range want {
			d := p.resolve(o, id)[0]
			if got := fmt.Sprint(d.Components); got != components || d.State != topic.RecipientActive {
				t.Errorf("%s: %s is notified about %s, not %s", when, d.State, got, components)
			}
			shown := p.app(o, http.StatusOK, http.MethodGet, "email/"+id, nil).Subscriber
			if !told(d) {
				t.Errorf("%s: not among the recipients of events without components: %+v", when, d)
			}
			if got := fmt.Sprint(shown.ComponentIDs, shown.Confirmed); got != components+" true" || listed[id] != got || shown.ComponentIDs == nil {
				t.Errorf("%s: shown with %s and listed with %s, not with %s", when, got, listed[id], components)
			}
		}
	}
	both := fmt.Sprint([]string{api, zurich})
	expect("at first", map[string]string{one: "[" + api + "]", two: both, legacy: "[" + api + "]"})
	p.events.leave(o.id, api, second)
	p.events.leave(o.id, api, o.dashboard)
	p.ahead.Store(int64(2 * time.Second)) // dashboards may be one second old
	expect("after it left", map[string]string{one: "[]", two: "[" + zurich + "]", legacy: "[" + api + "]"})
	// A changed subscriber does not show it either.
	if got := p.app(o, http.StatusOK, http.MethodPatch, "email/"+one, object{"locale": "de"}).Subscriber; len(got.ComponentIDs) > 0 {
		t.Errorf("changed to %v", got)
	}
	p.events.mu.Lock()
	p.events.components[o.id][0].Dashboards = []string{second}
	p.events.mu.Unlock()
	expect("after it came back", map[string]string{one: "[" + api + "]", two: both, legacy: "[" + api + "]"})
}

// A subscriber whose only component is deleted stays without components, with its confirmation, and hears of nothing.
func TestADeletedComponentLeavesItsSubscriber(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	o, api, zurich := v.organization, v.services[0].ID, v.services[2].ID
	v.confirmed("ann@example.com", api)
	ann := v.ids["ann@example.com"]
	waiting := v.request("waiting@example.com", api)
	p.subscribe(o, "legacy@example.com", 0)
	p.events.remove(o.id, api)
	for range 2 {
		if got := p.send(p.signer.Sign(o.peer()), http.MethodDelete, peer.Prefix+"/organizations/"+o.id+"/recipients/components/"+api, nil); got.status != http.StatusNoContent {
			t.Fatalf("the deletion returned %d %s", got.status, got.text)
		}
	}
	left := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers
	if len(left) != 2 || slices.ContainsFunc(left, func(s shownSubscriber) bool {
		return s.ComponentIDs == nil || len(s.ComponentIDs) > 0 || s.Confirmed != (s.ID == ann)
	}) {
		t.Errorf("left are %+v", left)
	}
	if d := v.state("ann@example.com"); d.State != topic.RecipientGone || len(p.concerned(o, 10, api, zurich)) > 0 {
		t.Errorf("notified: %+v", d)
	}
	if n := p.total(o, subscriptions); n != 0 {
		t.Errorf("%d legacy subscriptions are left", n)
	}
	v.must(http.StatusGone, http.MethodPost, waiting, nil)
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+ann, object{"componentIds": []string{zurich}})
	if got := p.app(o, http.StatusOK, http.MethodGet, "email/"+ann, nil).Subscriber; fmt.Sprint(got.ComponentIDs) != "["+zurich+"]" || !got.Confirmed || !v.told(topic.Email, "ann@example.com", zurich) {
		t.Errorf("with another component: %+v", got)
	}
}

// While the operator has locked a subscription, neither its link nor its code confirms it, and no message asks for that.
func TestALockedSubscriptionIsNotConfirmedByItsOwner(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	link := v.request("ann@example.com")
	v.ask(topic.SMS, "+4915112345678")
	text := v.message(topic.SubscriberConfirm, "+4915112345678", 1)
	code := url.Values{"channel": {"sms"}, "phone": {"+49 151 12345678"}, "code": {text.Code[:2] + " " + text.Code[2:4] + "-" + text.Code[4:]}}
	for _, address := range []string{"ann@example.com", "+4915112345678"} {
		v.lock(address, true)
	}
	v.must(http.StatusForbidden, http.MethodGet, link, nil)
	v.must(http.StatusForbidden, http.MethodPost, link, nil)
	v.must(http.StatusForbidden, http.MethodPost, v.follow(text.Link, "confirm"), nil)
	v.must(http.StatusForbidden, http.MethodPost, "/public/confirm", code)
	if left := v.notices(topic.SubscriberConfirm, "ann@example.com"); len(left) > 0 {
		t.Errorf("the message is still sent: %+v", left)
	}
	p.app(v.organization, http.StatusConflict, http.MethodPost, "email/"+v.ids["ann@example.com"]+"/resend-confirmation", nil)
	for _, address := range []string{"ann@example.com", "+4915112345678"} {
		v.lock(address, false)
	}
	v.must(http.StatusOK, http.MethodPost, link, nil)
	v.must(http.StatusOK, http.MethodPost, "/public/confirm", code)
}
