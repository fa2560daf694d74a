package integrations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

func TestAVisitorsEndpointLivesFromTheFormToItsEnd(t *testing.T) {
	p := start(t, nil)
	h := p.listen(topic.Notices, topic.Audit)
	v := p.offer(p.organization(25), h)
	const host, mail = "hooks.visitor.example", "vera@example.com"

	sent := v.subscribe("https://"+host+"/hook", mail)
	if sent.header.Get("Location") != "sent" || sent.text != "" {
		t.Errorf("after the form: %v %q", sent.header, sent.text)
	}

	e := v.listed(host)
	if e == nil || e.Verified || e.ManagementEmail != mail || !slices.Equal(e.ComponentIDs, []string{v.one, v.two}) {
		t.Fatalf("before the verification: %+v", e)
	}
	if list := p.call(v.organization, http.StatusOK, http.MethodGet, path, nil); list.Usage.UniqueEndpoints != 0 {
		t.Errorf("it takes a slot: %s", list.text)
	}
	if ids := p.concerned(v.organization, nil, v.one, v.two); len(ids) != 0 {
		t.Errorf("it is concerned: %v", ids)
	}
	letter := v.mail(topic.EndpointVerify, host, 1)
	if letter.State != topic.RecipientActive || letter.Channel != topic.Email || letter.Address != mail || letter.URL != "" || len(letter.Secrets) != 0 || letter.Dashboard.Name != "Main" {
		t.Errorf("the mail goes to %+v", letter)
	}
	if d := p.resolve(v.organization, letter.ID)[0]; d.State == topic.RecipientActive || d.URL != "" {
		t.Errorf("a message about an event goes to %+v", d)
	}

	verify := v.follow(letter.Link, "verify")
	for range 2 {
		asked := v.must(http.StatusOK, http.MethodGet, verify, nil)
		if !strings.Contains(asked.text, `method="post"`) || strings.Contains(asked.text, "whsec_") || asked.header.Get("Cache-Control") != "no-store" ||
			asked.header.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(asked.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("the page: %v %s", asked.header, asked.text)
		}
	}
	v.must(http.StatusOK, http.MethodHead, verify, nil)
	if v.listed(host).Verified {
		t.Fatal("a GET has verified the endpoint")
	}
	done := v.must(http.StatusOK, http.MethodPost, verify, nil).text
	secret := apitest.Between(t, done, "<code>", "</code>")
	if d := p.resolve(v.organization, p.only(v.organization, v.two))[0]; !strings.HasPrefix(secret, "whsec_") || !slices.Equal(d.Secrets, []string{secret}) || d.URL != "https://"+host+"/hook" {
		t.Errorf("secret %s, delivery gets %+v", secret, d)
	}
	if list := p.call(v.organization, http.StatusOK, http.MethodGet, path, nil); list.Usage.UniqueEndpoints != 1 || !list.Endpoints[0].Verified {
		t.Errorf("after the verification: %s", list.text)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		v.must(http.StatusGone, method, verify, nil)
	}

	manage := managePath(t, done)
	shown := v.must(http.StatusOK, http.MethodGet, manage, nil).text
	if strings.Contains(shown, "whsec_") || strings.Count(shown, "checked") != 2 || strings.Contains(shown, v.hidden) {
		t.Errorf("the page that manages it: %s", shown)
	}
	saved := v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": {v.two}, "paused": {"on"}, "action": {"save"}}).text
	if e := v.listed(host); !e.Paused || !slices.Equal(e.ComponentIDs, []string{v.two}) || strings.Count(saved, "checked") != 2 {
		t.Errorf("after a change: %+v, %s", e, saved)
	}
	for _, wrong := range []url.Values{
		{}, {"componentIds": {id()}}, {"componentIds": {v.hidden}}, {"componentIds": {v.elsewhere}}, {"componentIds": {"x"}},
		{"componentIds": {v.two}, "paused": {"maybe"}}, {"action": {"explode"}},
	} {
		v.must(http.StatusUnprocessableEntity, http.MethodPost, manage, wrong)
	}
	v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": {v.two}})
	rotated := apitest.Between(t, v.must(http.StatusOK, http.MethodPost, manage, url.Values{"action": {"rotate"}}).text, "<code>", "</code>")
	if d := p.resolve(v.organization, p.only(v.organization, v.two))[0]; !slices.Equal(d.Secrets, []string{rotated, secret}) {
		t.Errorf("after a rotation delivery gets %d secrets", len(d.Secrets))
	}

	// A lost link comes again, to the owner only.
	v.subscribe("https://"+host+"/hook", strings.ToUpper(mail))
	again := v.mail(topic.EndpointManage, host, 1)
	if v.follow(again.Link, "manage") != manage || again.Address != mail {
		t.Errorf("the link comes again as %+v", again)
	}
	unsubscribe := v.follow(again.Unsubscribe, "unsubscribe")
	v.must(http.StatusOK, http.MethodGet, unsubscribe, nil)
	if v.listed(host) == nil {
		t.Fatal("a GET has deleted the endpoint")
	}
	v.must(http.StatusOK, http.MethodPost, unsubscribe, url.Values{"List-Unsubscribe": {"One-Click"}})
	if v.listed(host) != nil {
		t.Error("the endpoint is still there")
	}
	for _, link := range []string{verify, manage, unsubscribe} {
		v.must(http.StatusGone, http.MethodGet, link, nil)
		v.must(http.StatusGone, http.MethodPost, link, url.Values{"componentIds": {v.one}})
	}

	want := []string{"endpoint.subscribe", "endpoint.verify", "endpoint.manage", "endpoint.manage", "endpoint.manage", "endpoint.unsubscribe"}
	apitest.Eventually(t, "the audit entries", func() bool { return len(apitest.Messages[topic.AuditEntry](t, h, topic.Audit)) >= len(want) })
	var actions []string
	for _, entry := range apitest.Messages[topic.AuditEntry](t, h, topic.Audit) {
		actions = append(actions, entry.Action)
		if entry.Actor.Type != topic.ActorVisitor || entry.Surface != "public" || entry.IP != v.ip || entry.Organization != v.id || entry.EntityType != "endpoint" {
			t.Errorf("the entry is %+v", entry)
		}
	}
	if !slices.Equal(actions, want) {
		t.Errorf("the audit log has %v", actions)
	}
}

// A dashboard's own host has the same forms.
func TestVisitorsOnTheDashboardsOwnHost(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	host := http.Header{"X-Forwarded-Host": {strings.ToUpper(v.host()) + ".:8443"}}
	got := v.send(http.MethodPost, "/subscribe/webhook", url.Values{"url": {"https://own.example/hook"}, "managementEmail": {"own@example.com"}}, host)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "sent" {
		t.Errorf("the request: %d %v", got.status, got.header)
	}
	v.must(http.StatusOK, http.MethodPost, v.follow(v.mail(topic.EndpointVerify, "own.example", 1).Link, "verify"), nil)
	if got := v.send(http.MethodPost, "/subscribe/webhook", nil, http.Header{"X-Forwarded-Host": {"nobody.example"}}); got.status != http.StatusNotFound {
		t.Errorf("another host: %d %s", got.status, got.text)
	}
}

func TestVisitorsFormShowsWhatWasTyped(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	texts := map[string]string{"url": "Geben Sie eine öffentliche URL ein, die mit https:// beginnt", "managementEmail": "Geben Sie eine E-Mail-Adresse ein", "componentIds": "Wählen Sie Komponenten"}
	for name, form := range map[string]url.Values{
		"url":             {"url": {`http://x.example/"><script>`}, "managementEmail": {"ann@example.com"}, "componentIds": {v.two}},
		"managementEmail": {"url": {"https://x.example/"}, "managementEmail": {`<b>"ann`}, "componentIds": {v.two}},
		"componentIds":    {"url": {"https://x.example/"}, "managementEmail": {"ann@example.com"}, "componentIds": {v.two, v.hidden}},
	} {
		got := v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/webhook", form)
		if !strings.Contains(got.text, texts[name]) || !strings.Contains(got.text, `method="post"`) || strings.Contains(got.text, "<script") || strings.Contains(got.text, "<b>") ||
			strings.Count(got.text, "checked") != 1 || !strings.Contains(got.text, "ann") || !strings.Contains(got.text, "x.example") {
			t.Errorf("a wrong %s: %s", name, got.text)
		}
	}
	v.must(http.StatusRequestEntityTooLarge, http.MethodPost, v.base+"/webhook", url.Values{"url": {strings.Repeat("x", 65<<10)}})
	v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/teams", url.Values{"url": {"https://x.example/"}, "managementEmail": {"ann@example.com"}})
	if v.listed("x.example") != nil || len(v.notices(topic.EndpointVerify, "x.example")) != 0 {
		t.Error("a wrong request is stored")
	}
}

// Whether a URL is new, known, locked or suppressed, and whether an address has got enough mail, shows in no response.
func TestVisitorsDoNotLearnWhatIsKnown(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	v.verified("known.example")
	owned := p.create(v.organization, "https://owned.example/hook", object{"managementEmail": "owner@example.com"})
	locked := p.create(v.organization, "https://locked.example/hook", object{"managementEmail": "owner@example.com", "locked": true})
	pending := v.request("pending.example")
	p.call(v.organization, http.StatusOK, http.MethodPatch, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("pending.example").URLHash, "locked": true})
	suppressed := p.create(v.organization, "https://suppressed.example/hook", object{"componentIds": []string{v.two}, "managementEmail": "owner2@example.com"})
	p.suppress(v.organization, p.only(v.organization, v.two), suppressed.URLHash)
	for range 3 {
		v.subscribe("https://enough.example/hook", "enough@example.com")
	}

	var first page
	for i, request := range []url.Values{
		{"url": {"https://new.example/hook"}, "managementEmail": {"new@example.com"}},
		{"url": {"https://known.example/hook"}, "managementEmail": {"other@example.com"}},
		{"url": {"https://owned.example/hook"}, "managementEmail": {"Owner@example.com"}},
		{"url": {"https://locked.example/hook"}, "managementEmail": {"owner@example.com"}},
		{"url": {"https://pending.example/hook"}, "managementEmail": {"other@example.com"}},
		{"url": {"https://suppressed.example/hook"}, "managementEmail": {"other2@example.com"}},
		{"url": {"https://enough.example/other"}, "managementEmail": {"enough@example.com"}},
	} {
		start := time.Now()
		got := v.must(http.StatusSeeOther, http.MethodPost, v.base+"/webhook", request)
		if took := time.Since(start); took < timing.Unit {
			t.Errorf("%v took %s: the time tells what is known", request, took)
		}
		got.header.Del("Date")
		if i == 0 {
			first = got
		}
		if !reflect.DeepEqual(got, first) {
			t.Errorf("%v: %+v, but the first %+v", request, got, first)
		}
	}
	v.subscribe("https://last.example/hook", "last@example.com")
	v.mail(topic.EndpointVerify, "last.example", 1) // notices of other records may still be on their way
	v.mail(topic.EndpointVerify, "new.example", 1)
	if again := v.mail(topic.EndpointManage, "owned.example", 1); again.Address != "owner@example.com" {
		t.Errorf("the owner's mail goes to %+v", again)
	}
	for host, want := range map[string]int{"known.example": 1, "owned.example": 0, "locked.example": 0, "pending.example": 1, "suppressed.example": 0, "enough.example": 3} {
		if got := len(v.notices(topic.EndpointVerify, host)); got != want {
			t.Errorf("%d mails verify %s, want %d", got, host, want)
		}
	}
	for _, host := range []string{"known.example", "locked.example", "pending.example", "suppressed.example", "enough.example"} {
		if n := len(v.notices(topic.EndpointManage, host)); n != 0 {
			t.Errorf("%d mails manage %s", n, host)
		}
	}
	for host, mail := range map[string]string{"owned.example": "owner@example.com", "locked.example": "owner@example.com", "suppressed.example": "owner2@example.com"} {
		if e := v.listed(host); e.ManagementEmail != mail || !e.Verified {
			t.Errorf("a visitor has changed %+v", e)
		}
	}
	for _, e := range []record{owned, locked, suppressed} {
		if after := v.shown(v.organization, e.URLHash); !slices.Equal(after.ComponentIDs, e.ComponentIDs) {
			t.Errorf("a visitor has changed %+v", after)
		}
	}
	v.must(http.StatusForbidden, http.MethodGet, pending, nil)
	v.must(http.StatusForbidden, http.MethodPost, pending, nil)
}

func TestVisitorsNewerRequestReplacesTheOlder(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	const host = "twice.example"
	v.subscribe("https://"+host+"/hook", "ann@example.com", v.one)
	older := v.follow(v.mail(topic.EndpointVerify, host, 1).Link, "verify")
	v.subscribe("https://"+host+"/hook", "bob@example.com", v.two)
	second := v.mail(topic.EndpointVerify, host, 2)
	newer := v.follow(second.Link, "verify")
	if second.Address != "bob@example.com" {
		t.Errorf("the second mail goes to %s", second.Address)
	}
	v.must(http.StatusGone, http.MethodGet, older, nil)
	v.must(http.StatusGone, http.MethodPost, older, nil)
	v.must(http.StatusOK, http.MethodPost, newer, nil)
	if e := v.listed(host); e.ManagementEmail != "bob@example.com" || !slices.Equal(e.ComponentIDs, []string{v.two}) {
		t.Errorf("the endpoint is %+v", e)
	}
	// The first visitor's next request changes nothing.
	v.subscribe("https://"+host+"/hook", "ann@example.com", v.one)
	if e := v.listed(host); e.ManagementEmail != "bob@example.com" || !slices.Equal(e.ComponentIDs, []string{v.two}) {
		t.Errorf("after the third request: %+v", e)
	}
}

func TestVisitorsRequestExpires(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.ConfirmWithin = 20 * time.Second })
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	used, _ := v.verified("kept.example")
	link := v.request("late.example")
	p.ahead.Store(int64(20 * time.Second)) // before the next run of the deletion
	v.must(http.StatusGone, http.MethodPost, link, nil)
	if d := v.mail(topic.EndpointVerify, "late.example", 1); d.State != topic.RecipientGone {
		t.Errorf("mail with the expired link: %+v", d)
	}
	apitest.Eventually(t, "the request vanishes", func() bool { return v.listed("late.example") == nil })
	v.must(http.StatusGone, http.MethodGet, link, nil)
	v.must(http.StatusGone, http.MethodGet, used, nil)
	if e := v.listed("kept.example"); e == nil || !e.Verified {
		t.Errorf("the verified endpoint is %+v", e)
	}
}

// The lock of an endpoint outlives the visitor's request: nobody can ask for the URL again.
func TestVisitorsExpiredRequestStaysLocked(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.ConfirmWithin = 20 * time.Second })
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	link := v.request("locked.example")
	patch := object{"dashboardId": v.dashboard, "urlHash": v.listed("locked.example").URLHash, "locked": true}
	p.call(v.organization, http.StatusOK, http.MethodPatch, path, patch)
	v.request("late.example") // expires after the locked one
	p.ahead.Store(int64(20 * time.Second))
	apitest.Eventually(t, "the other request vanishes", func() bool { return v.listed("late.example") == nil })
	if e := v.listed("locked.example"); e == nil || !e.Locked || e.Verified {
		t.Fatalf("the locked endpoint is %+v", e)
	}
	v.subscribe("https://locked.example/hook", "ann@example.com", v.one)
	v.request("next.example") // its mail follows one to the locked endpoint
	if n := len(v.notices(topic.EndpointVerify, "locked.example")); n != 1 {
		t.Errorf("%d mails about the locked endpoint", n)
	}
	patch["locked"] = false
	p.call(v.organization, http.StatusOK, http.MethodPatch, path, patch)
	v.must(http.StatusGone, http.MethodPost, link, nil)
	v.subscribe("https://locked.example/hook", "ann@example.com", v.one)
	v.must(http.StatusOK, http.MethodPost, v.follow(v.mail(topic.EndpointVerify, "locked.example", 2).Link, "verify"), nil)
}

// A link that verifies works once, however many use it at once.
func TestVisitorsLinkWorksOnce(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	link := v.request("once.example")
	var done, gone atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			switch got := v.send(http.MethodPost, link, nil, nil); got.status {
			case http.StatusOK:
				done.Add(1)
			case http.StatusGone:
				gone.Add(1)
			default:
				t.Errorf("%d %s", got.status, got.text)
			}
		})
	}
	group.Wait()
	if done.Load() != 1 || gone.Load() != 15 {
		t.Errorf("%d verified it, %d were refused", done.Load(), gone.Load())
	}
}

// The slot of a unique URL is taken by the verification, not by the request.
func TestVisitorsVerificationTakesTheSlot(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(2), p.listen(topic.Notices))
	links := make([]string, 3)
	for i := range links {
		links[i] = v.request(fmt.Sprintf("slot%d.example", i))
	}
	v.must(http.StatusOK, http.MethodPost, links[0], nil)
	v.must(http.StatusOK, http.MethodPost, links[1], nil)
	full := v.must(http.StatusForbidden, http.MethodPost, links[2], nil)
	if !strings.Contains(full.text, "hat keinen Platz") || strings.Contains(full.text, "whsec_") {
		t.Errorf("at the limit: %s", full.text)
	}
	p.call(v.organization, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("slot0.example").URLHash})
	v.must(http.StatusOK, http.MethodPost, links[2], nil)
}

// An admin's endpoint takes the place of a visitor's request, and an admin may delete and lock the request.
func TestAdminsDecideOverVisitorsRequests(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	taken := v.request("taken.example")
	p.create(v.organization, "https://taken.example/hook", object{"managementEmail": "ops@example.com"})
	v.must(http.StatusGone, http.MethodPost, taken, nil)
	if e := v.listed("taken.example"); !e.Verified || e.ManagementEmail != "ops@example.com" {
		t.Errorf("after the create: %+v", e)
	}
	deleted := v.request("deleted.example")
	p.call(v.organization, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("deleted.example").URLHash})
	v.must(http.StatusGone, http.MethodPost, deleted, nil)

	_, manage := v.verified("locked.example")
	lock := func(locked bool) {
		p.call(v.organization, http.StatusOK, http.MethodPatch, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("locked.example").URLHash, "locked": locked})
	}
	lock(true)
	unsubscribe := strings.Replace(manage, "manage", "unsubscribe", 1)
	v.must(http.StatusForbidden, http.MethodGet, manage, nil)
	for _, form := range []url.Values{{"componentIds": {v.two}}, {"action": {"rotate"}}, {"action": {"unsubscribe"}}} {
		v.must(http.StatusForbidden, http.MethodPost, manage, form)
	}
	v.must(http.StatusNotFound, http.MethodPost, unsubscribe, nil) // a token is for one purpose
	lock(false)
	if shown := v.must(http.StatusOK, http.MethodGet, manage, nil).text; strings.Contains(shown, "werden keine Nachrichten gesendet") {
		t.Errorf("the page says that it is suppressed: %s", shown)
	}
	p.call(v.organization, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("taken.example").URLHash})
	p.suppress(v.organization, p.only(v.organization, v.one), v.listed("locked.example").URLHash)
	if shown := v.must(http.StatusOK, http.MethodGet, manage, nil).text; !strings.Contains(shown, "werden keine Nachrichten gesendet") {
		t.Errorf("the page does not say that it is suppressed: %s", shown)
	}

	// Links end when the management address or the URL changes.
	p.call(v.organization, http.StatusOK, http.MethodPatch, path, object{"dashboardId": v.dashboard, "urlHash": v.listed("locked.example").URLHash, "managementEmail": "new@example.com"})
	v.must(http.StatusGone, http.MethodGet, manage, nil)
	v.must(http.StatusGone, http.MethodPost, manage, url.Values{"action": {"unsubscribe"}})
}

// A link that verifies works only while the dashboard offers the kind and has one of the components. The link that
// manages goes on.
func TestVisitorsLinkNeedsTheOffer(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	_, manage := v.verified("before.example")
	link := v.request("after.example")
	offered := topic.DashboardRecord{
		ID: v.dashboard, Name: "Main", Slug: v.dashboard, URL: "http://d.test/d/" + v.dashboard,
		Components: []topic.ComponentRecord{{ID: v.one, Name: "API"}, {ID: v.two, Name: "Website"}},
	}
	p.upstream.publish(topic.PublicAddress{Slug: v.dashboard}, v.id, offered, topic.Email, topic.Teams)
	v.must(http.StatusForbidden, http.MethodGet, link, nil)
	if refused := v.must(http.StatusForbidden, http.MethodPost, link, nil); !strings.Contains(refused.text, "nimmt keine Endpunkte dieser Art") {
		t.Errorf("without the offer: %s", refused.text)
	}
	v.must(http.StatusOK, http.MethodGet, manage, nil)
	offered.Components = []topic.ComponentRecord{{ID: v.hidden, Name: "Secret"}}
	p.upstream.put(v.id, -1, offered)
	p.upstream.publish(topic.PublicAddress{Slug: v.dashboard}, v.id, offered, topic.Webhook)
	v.must(http.StatusGone, http.MethodPost, link, nil)
	if e := v.listed("after.example"); e.Verified {
		t.Errorf("the endpoint is %+v", e)
	}
}

// A component that only an unverified endpoint names may be deleted, and goes from it.
func TestVisitorsRequestKeepsNoComponent(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	link := v.request("only.example")
	endpoints := p.endpoints()
	if only, err := endpoints.IsOnlyComponent(t.Context(), v.id, v.one); err != nil || only {
		t.Errorf("a request keeps the component: %t %v", only, err)
	}
	v.must(http.StatusOK, http.MethodPost, link, nil)
	if only, err := endpoints.IsOnlyComponent(t.Context(), v.id, v.one); err != nil || !only {
		t.Errorf("the endpoint does not keep its component: %t %v", only, err)
	}
}

func TestVisitorsAreLimitedByTheirAddress(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(100), p.listen(topic.Notices))
	other := p.offer(v.organization, v.heard)
	use := func(v *visitors, granted int, what string) {
		t.Helper()
		for i := range granted {
			v.subscribe(fmt.Sprintf("https://%s%d.example/hook", what, i), id()+"@example.com")
		}
		for _, accept := range []string{"text/html", "application/json"} {
			form := url.Values{"url": {"https://" + what + ".example/hook"}, "managementEmail": {id() + "@example.com"}}
			got := v.send(http.MethodPost, v.base+"/webhook", form, http.Header{"Accept": {accept}})
			if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || strings.HasPrefix(got.text, "{") == (accept == "text/html") {
				t.Errorf("%s, over the limit: %d %v %s", what, got.status, got.header, got.text)
			}
		}
		if v.listed(what+".example") != nil {
			t.Errorf("%s: a refused request is stored", what)
		}
	}
	use(v, 30, "redis")
	use(other, 30, "other")
	// A wrong request causes no mail and does not count; neither does another Redis count it.
	p.redis.Close()
	use(v, 30, "memory")
}

// The URL, the secret and the links are in no log, no span, no message and no record in clear text.
func TestVisitorsSecretsAreNotTold(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	folder := t.TempDir()
	p := start(t, func(c *integrations.Config) {
		c.Tracer, c.DocumentsURL = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), "sqlite:"+folder
	})
	h := p.listen(topic.Notices, topic.Audit)
	v := p.offer(p.organization(25), h)
	const host, hidden = "quiet.example", "T0kenThatNobodyMaySee"
	v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/webhook", url.Values{"url": {"http://quiet.example/" + hidden}, "managementEmail": {"a@example.com"}})
	v.subscribe("https://"+host+"/services/"+hidden, "quiet@example.com")
	verify := v.follow(v.mail(topic.EndpointVerify, host, 1).Link, "verify")
	v.must(http.StatusOK, http.MethodGet, verify, nil)
	done := v.must(http.StatusOK, http.MethodPost, verify, nil).text
	manage := managePath(t, done)
	rotated := v.must(http.StatusOK, http.MethodPost, manage, url.Values{"action": {"rotate"}}).text
	v.subscribe("https://"+host+"/services/"+hidden, "quiet@example.com")
	again := v.mail(topic.EndpointManage, host, 1)
	_, first, _ := strings.Cut(verify, "token=")
	_, second, _ := strings.Cut(manage, "token=")
	_, third, _ := strings.Cut(again.Unsubscribe, "token=")
	secrets := []string{
		hidden, first, second, third,
		strings.TrimPrefix(apitest.Between(t, done, "<code>", "</code>"), "whsec_"), strings.TrimPrefix(apitest.Between(t, rotated, "<code>", "</code>"), "whsec_"),
	}
	v.must(http.StatusNotFound, http.MethodGet, verify+"x", nil)
	apitest.Eventually(t, "the audit entries", func() bool { return len(apitest.Messages[topic.AuditEntry](t, h, topic.Audit)) == 3 })
	holdsNone(t, folder, secrets)
	var seen strings.Builder
	for _, record := range slices.Concat(h.Records(topic.Notices), h.Records(topic.Audit)) {
		fmt.Fprintln(&seen, string(record.Value), record.Headers)
	}
	for _, span := range spans.GetSpans() {
		fmt.Fprintln(&seen, span.Name, span.Attributes, span.Events, span.Status)
	}
	fmt.Fprintln(&seen, p.logs.String())
	for _, secret := range secrets {
		if secret == "" || strings.Contains(seen.String(), secret) {
			t.Errorf("%q is told", secret)
		}
	}
}

// The pages are in the frame of their dashboard, and their language is marked. While the events service cannot be reached,
// they are plain and people can leave.
func TestVisitorsPagesAreInTheFrameOfTheDashboard(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	framed := func(title string, got page) {
		t.Helper()
		for _, want := range []string{"<title>" + title + " – frame of " + v.dashboard + "</title>", `<main id="main" tabindex="-1" class="small">`, `<h1 class="title">` + title + "</h1>"} {
			if !strings.Contains(got.text, want) {
				t.Errorf("the page lacks %q: %s", want, got.text)
			}
		}
		if got.header.Get("Content-Security-Policy") != "default-src 'none'; style-src 'sha256-frame'" {
			t.Errorf("the policy is %s", got.header.Get("Content-Security-Policy"))
		}
	}
	framed("Einen Endpunkt abonnieren", v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/webhook", url.Values{"url": {"x"}}))
	framed("Nicht gefunden", v.must(http.StatusNotFound, http.MethodPost, v.base+"/gchat", nil))
	used, manage := v.verified("hooks.example")
	if e := v.listed("hooks.example"); e.Format != "bellbuoy" || *e.MinIntervalMs != 0 {
		t.Errorf("a visitor's webhook has the format %q and a gap of %d", e.Format, *e.MinIntervalMs)
	}
	framed("Dieser Link gilt nicht mehr", v.must(http.StatusGone, http.MethodGet, used, nil))
	framed("Endpunkt verwalten", v.must(http.StatusOK, http.MethodGet, manage, nil))
	framed("Endpunkt verwalten", v.must(http.StatusUnprocessableEntity, http.MethodPost, manage, nil))
	_, leave := v.verified("leave.example")
	framed("Der Endpunkt ist entfernt", v.must(http.StatusOK, http.MethodPost, leave, url.Values{"action": {"unsubscribe"}}))
	p.upstream.down.Store(true)
	left := v.must(http.StatusOK, http.MethodPost, manage, url.Values{"action": {"unsubscribe"}})
	p.upstream.down.Store(false)
	if strings.Contains(left.text, "frame of") || !strings.Contains(left.text, `<html lang="en">`) || v.listed("hooks.example") != nil {
		t.Errorf("without the frame: %s", left.text)
	}
	at := topic.PublicAddress{Slug: v.dashboard}
	p.upstream.publish(at, v.id, p.upstream.public[at].DashboardRecord, topic.Email) // nothing of ours
	framed("Nicht gefunden", v.must(http.StatusNotFound, http.MethodPost, v.base+"/webhook", nil))
}
