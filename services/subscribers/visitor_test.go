package subscribers_test

import (
	"crypto/sha256"
	"encoding/base64"
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

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

func TestAVisitorsSubscriptionLivesFromTheFormToItsEnd(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices, topic.Audit)
	v := p.offer(p.organization(), h)
	api, web, zurich := v.services[0].ID, v.services[1].ID, v.services[2].ID
	const mail = "Vera@Example.com"

	if sent := v.ask(topic.Email, mail, api); sent.header.Get("Location") != "sent" || sent.text != "" {
		t.Errorf("after the form: %v %q", sent.header, sent.text)
	}
	asked := v.message(topic.SubscriberConfirm, mail, 1)
	if !slices.Equal(asked.Names, []string{"API"}) || asked.Channel != topic.Email || asked.Dashboard.Name != "Acme" {
		t.Errorf("the mail is %+v", asked)
	}
	confirm := v.follow(asked.Link, "confirm")
	for range 2 {
		shown := v.must(http.StatusOK, http.MethodGet, confirm, nil)
		if !strings.Contains(shown.text, `method="post"`) || !strings.Contains(shown.plain(), mail) || !strings.Contains(shown.plain(), "API") ||
			shown.header.Get("Cache-Control") != "no-store" || shown.header.Get("Referrer-Policy") != "no-referrer" ||
			shown.header.Get("X-Robots-Tag") != "noindex" || !strings.Contains(shown.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("the page: %v %s", shown.header, shown.text)
		}
	}
	v.must(http.StatusOK, http.MethodHead, confirm, nil)
	if v.told(topic.Email, mail, api) {
		t.Fatal("a GET has confirmed it")
	}
	done := v.must(http.StatusOK, http.MethodPost, confirm, nil)
	if !v.told(topic.Email, mail, api) || v.told(topic.Email, mail, zurich) || v.told(topic.Email, mail, web) {
		t.Error("after the confirmation it is not told of its component alone")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		v.must(http.StatusGone, method, confirm, nil)
	}

	manage := done.manage(t)
	if own := v.follow(v.state(mail).Manage, "manage"); own != manage {
		t.Errorf("the page leads to %s, the mail to %s", manage, own)
	}
	shown := v.must(http.StatusOK, http.MethodGet, manage, nil)
	if strings.Count(shown.text, "checked") != 1 || strings.Contains(shown.text, web) {
		t.Errorf("the page that manages it: %s", shown.text)
	}
	saved := v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": {"", zurich}, "paused": {"on"}, "locale": {"de"}, "action": {"save"}})
	if d := v.state(mail); d.State != topic.RecipientPaused || !strings.Contains(saved.text, `<main id="main" tabindex="-1" class="small" lang="de">`) || strings.Count(saved.text, "checked") != 2 {
		t.Errorf("after a change: %+v, %s", d, saved.text)
	}
	v.must(http.StatusOK, http.MethodPost, manage, url.Values{"action": {"save"}})
	if d := v.state(mail); d.State != topic.RecipientActive || d.Locale != "de" || !slices.Equal(d.Components, []string{zurich}) {
		t.Errorf("absent fields: %+v", d)
	}
	v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": {"all", zurich}, "locale": {""}})
	if d := v.state(mail); d.Components != nil || d.Locale != "" || !v.told(topic.Email, mail, api) {
		t.Errorf("all components: %+v", d)
	}
	v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": {zurich, zurich, api}})
	for _, wrong := range []url.Values{
		{"componentIds": {""}}, {"componentIds": {id()}}, {"componentIds": {web}}, {"componentIds": {"x"}}, {"paused": {"maybe"}},
		{"paused": {"on", "on"}}, {"locale": {"no locale"}}, {"action": {"explode"}}, {"action": {"save", "unsubscribe"}},
	} {
		v.must(http.StatusUnprocessableEntity, http.MethodPost, manage, wrong)
	}
	if d := v.state(mail); len(d.Components) != 2 || d.State != topic.RecipientActive {
		t.Errorf("a wrong form has changed %+v", d)
	}

	// A lost link comes again.
	v.ask(topic.Email, strings.ToLower(mail), api)
	if again := v.message(topic.SubscriberManage, mail, 1); v.follow(again.Link, "manage") != manage || len(again.Names) != 2 {
		t.Errorf("the link comes again as %+v", again)
	}
	unsubscribe := v.follow(v.state(mail).Unsubscribe, "unsubscribe")
	if page := v.must(http.StatusOK, http.MethodGet, unsubscribe, nil); !strings.Contains(page.text, `value="One-Click"`) {
		t.Errorf("the page that unsubscribes: %s", page.text)
	}
	if !v.told(topic.Email, mail, api) {
		t.Fatal("a GET has deleted it")
	}
	for _, wrong := range []string{"", "List-Unsubscribe=No", "List-Unsubscribe=%zz"} {
		if got := v.send(http.MethodPost, unsubscribe, wrong, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the form %q: %d %s", wrong, got.status, got.text)
		}
	}
	v.must(http.StatusOK, http.MethodPost, unsubscribe, url.Values{"List-Unsubscribe": {"One-Click"}})
	if d := v.state(mail); d.State != topic.RecipientGone {
		t.Errorf("after the end: %+v", d)
	}
	for _, link := range []string{confirm, manage, unsubscribe} {
		v.must(http.StatusGone, http.MethodGet, link, nil)
		v.must(http.StatusGone, http.MethodPost, link, url.Values{"List-Unsubscribe": {"One-Click"}})
	}
	// The links of a deleted subscriber do not work for the next one of the same address.
	_, next := v.confirmed("vera@example.com", api)
	for _, link := range []string{confirm, manage, unsubscribe} {
		v.must(http.StatusGone, http.MethodPost, link, url.Values{"List-Unsubscribe": {"One-Click"}})
	}
	v.must(http.StatusOK, http.MethodPost, next, url.Values{"action": {"unsubscribe"}})

	want := []string{"subscribe", "confirm", "manage", "manage", "manage", "manage", "subscribe", "unsubscribe", "subscribe", "confirm", "unsubscribe"}
	apitest.Eventually(t, "the audit entries", func() bool { return len(apitest.Messages[topic.AuditEntry](t, h, topic.Audit)) >= len(want) })
	var actions []string
	for _, entry := range apitest.Messages[topic.AuditEntry](t, h, topic.Audit) {
		actions = append(actions, strings.TrimPrefix(entry.Action, "subscriber."))
		if entry.Actor.Type != topic.ActorVisitor || entry.Surface != "public" || entry.IP != v.ip || entry.Organization != v.id || entry.EntityType != "subscriber" {
			t.Errorf("the entry is %+v", entry)
		}
	}
	if !slices.Equal(actions, want) {
		t.Errorf("the audit log has %v", actions)
	}
	for _, link := range []string{confirm, manage, unsubscribe, next} {
		if _, token, _ := strings.Cut(link, "token="); strings.Contains(p.logs.String(), token) {
			t.Error("a token is in the log")
		}
	}
}

// A code confirms instead of the link. It belongs to one record, and five wrong ones void it, but not the link.
func TestVisitorConfirmsByCode(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	v, other := p.offer(o, h), p.offerAt(o, h, second.ID)
	api := o.services[0].ID
	code := func(channel, phone, code string) url.Values {
		return url.Values{"channel": {channel}, "phone": {phone}, "code": {code}}
	}
	wrong := func(right ...string) string {
		for _, try := range []string{"000000", "111111", "222222"} {
			if !slices.Contains(right, try) {
				return try
			}
		}
		return "333333"
	}
	for _, channel := range []topic.Channel{topic.SMS, topic.WhatsApp} {
		number := "+491511234567" + map[topic.Channel]string{topic.SMS: "1", topic.WhatsApp: "2"}[channel]
		if sent := v.ask(channel, number, api); sent.header.Get("Location") != "sent" {
			t.Errorf("after the form: %v", sent.header)
		}
		first := v.message(topic.SubscriberConfirm, number, 1)
		other.ask(channel, number, api)
		theirs := other.message(topic.SubscriberConfirm, number, 1)
		if len(first.Code) != 6 || first.Code == theirs.Code {
			t.Fatalf("the codes are %q and %q", first.Code, theirs.Code)
		}
		bad := v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code(string(channel), number, wrong(first.Code, theirs.Code)))
		if !strings.Contains(bad.text, `role="alert"`) || !strings.Contains(bad.text, number[1:]) {
			t.Errorf("a wrong code: %s", bad.text)
		}
		v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code(string(channel), "+4915112345600", first.Code))
		v.must(http.StatusOK, http.MethodPost, "/public/confirm", code(string(channel), " +49 (1511) "+number[7:], first.Code))
		if !v.told(channel, number, api) || other.told(channel, number, api) {
			t.Errorf("%s: the code is not of one record", channel)
		}
		v.must(http.StatusGone, http.MethodPost, v.follow(first.Link, "confirm"), nil)
		v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code(string(channel), number, first.Code))
		for range 4 {
			v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code(string(channel), number, wrong(theirs.Code)))
		}
		v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code(string(channel), number, theirs.Code))
		if other.told(channel, number, api) {
			t.Errorf("%s: a void code confirms", channel)
		}
		v.must(http.StatusOK, http.MethodPost, other.follow(theirs.Link, "confirm"), nil)
		if !other.told(channel, number, api) {
			t.Errorf("%s: the link is void too", channel)
		}
	}
	for name, form := range map[string]url.Values{
		"mail":       code("email", "ann@example.com", "123456"),
		"no number":  code("sms", "x", "123456"),
		"no code":    code("sms", "+4915112345671", ""),
		"letters":    code("sms", "+4915112345671", "12345a"),
		"two codes":  {"channel": {"sms"}, "phone": {"+4915112345671"}, "code": {"123456", "123457"}},
		"nothing":    {},
		"much":       code("sms", "+4915112345671", strings.Repeat("1", 1000)),
		"other code": code("sms", "+4915112345671", "１２３４５６"),
	} {
		if got := v.send(http.MethodPost, "/public/confirm", form.Encode(), nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
}

// Codes that many try at once are counted as if they came one after the other.
func TestWrongCodesAreCountedAcrossRequests(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	const number = "+4915112345678"
	v.ask(topic.SMS, number)
	asked := v.message(topic.SubscriberConfirm, number, 1)
	var refused atomic.Int64
	var group sync.WaitGroup
	for i := range 9 {
		guess := string('0'+rune(i)) + "00000"
		if guess == asked.Code {
			guess = "999999"
		}
		group.Go(func() {
			got := v.send(http.MethodPost, "/public/confirm", url.Values{"channel": {"sms"}, "phone": {number}, "code": {guess}}.Encode(), nil)
			if got.status == http.StatusUnprocessableEntity {
				refused.Add(1)
			}
		})
	}
	group.Wait()
	if refused.Load() != 9 {
		t.Errorf("%d of 9 wrong codes were refused", refused.Load())
	}
	right := url.Values{"channel": {"sms"}, "phone": {number}, "code": {asked.Code}}
	v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", right)
	for range 3 {
		v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", right) // refused, but the number is not blocked
	}
	v.ask(topic.SMS, number)
	again := v.message(topic.SubscriberConfirm, number, 2)
	v.must(http.StatusOK, http.MethodPost, "/public/confirm", url.Values{"channel": {"sms"}, "phone": {number}, "code": {again.Code}})
}

// Whether an address is new, known, locked or suppressed, and whether it has got enough messages, shows in no response.
func TestVisitorsDoNotLearnWhoIsSubscribed(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices, topic.Audit))
	api, zurich := v.services[0].ID, v.services[2].ID
	for _, known := range []string{"known", "more", "locked", "suppressed"} {
		v.confirmed(known+"@example.com", api)
	}
	v.lock("locked@example.com", true)
	p.suppress(v, "suppressed@example.com")
	v.request("pending@example.com", api)
	for range 3 {
		v.ask(topic.Email, "Enough@example.com", api)
	}
	counts := func() map[string]int {
		out := map[string]int{}
		for _, notice := range apitest.Messages[topic.Notice](t, v.heard, topic.Notices) {
			out[notice.Recipient+" "+string(notice.Kind)]++
		}
		return out
	}
	v.message(topic.SubscriberConfirm, "Enough@example.com", 3)
	before := counts()

	var first page
	for i, address := range []string{"new", "known", "more", "locked", "suppressed", "pending", "enough"} {
		for _, kind := range []string{"form", "json"} {
			if kind == "json" && address == "new" {
				address = "new2"
			}
			components := []string{api}
			if address == "more" {
				components = []string{api, zurich}
			}
			began := time.Now()
			var got page
			if kind == "form" {
				got = v.ask(topic.Email, address+"@example.com", components...)
			} else {
				got = v.send(http.MethodPost, v.base+"/email", `{"email": "`+address+`@example.com", "componentIds": ["`+strings.Join(components, `", "`)+`"]}`, http.Header{"Content-Type": {"application/json"}})
				if got.status != http.StatusAccepted || strings.TrimSpace(got.text) != `{"status":"sent"}` {
					t.Errorf("%s: %+v", address, got)
				}
				continue
			}
			if took := time.Since(began); took < 100*time.Millisecond {
				t.Errorf("%s: the response came after %v, which tells what was done", address, took)
			}
			got.header.Del("Date")
			if i == 0 {
				first = got
			}
			if !reflect.DeepEqual(got, first) {
				t.Errorf("%s: %+v, but the first %+v", address, got, first)
			}
		}
	}
	v.ask(topic.Email, "last@example.com", api)
	v.message(topic.SubscriberConfirm, "last@example.com", 1) // the messages are published in order of their records only
	v.message(topic.SubscriberConfirm, "new@example.com", 1)
	v.message(topic.SubscriberConfirm, "pending@example.com", 3)
	v.message(topic.SubscriberManage, "known@example.com", 2)
	v.message(topic.SubscriberConfirm, "more@example.com", 2)
	after := counts()
	for address, want := range map[string][2]int{"known": {0, 2}, "more": {2, 0}, "locked": {}, "suppressed": {}, "pending": {2, 0}, "Enough": {}} {
		for i, kind := range []topic.Kind{topic.SubscriberConfirm, topic.SubscriberManage} {
			key := v.ids[address+"@example.com"] + " " + string(kind)
			if got := after[key] - before[key]; got != want[i] {
				t.Errorf("%d messages %s to %s, want %d", got, kind, address, want[i])
			}
		}
	}
	// What is asked for has no effect before the confirmation.
	for _, address := range []string{"known", "more"} {
		if d := v.state(address + "@example.com"); !slices.Equal(d.Components, []string{api}) || d.State != topic.RecipientActive {
			t.Errorf("a visitor has changed %+v", d)
		}
	}
	more := v.message(topic.SubscriberConfirm, "more@example.com", 2)
	if !slices.Equal(more.Names, []string{"Zürich"}) {
		t.Errorf("to confirm: %v", more.Names)
	}
	v.must(http.StatusOK, http.MethodPost, v.follow(more.Link, "confirm"), nil)
	if !v.told(topic.Email, "more@example.com", api) || !v.told(topic.Email, "more@example.com", zurich) {
		t.Error("the new component is not beside the old one")
	}
}

// TestVisitorsWhoHaveItAllGetTheManageLink checks each channel, and that the message arrives while the subscription is paused.
func TestVisitorsWhoHaveItAllGetTheManageLink(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	api, zurich := o.services[0].ID, o.services[2].ID
	for channel, format := range map[topic.Channel]string{topic.Email: "all-%d@example.com", topic.SMS: "+491511234561%d", topic.WhatsApp: "+491511234562%d"} {
		for i, c := range []struct {
			has, asks, names []string // nil: all
			paused           bool
		}{
			{has: []string{api, zurich}, asks: []string{zurich, api}, names: []string{"API", "Zürich"}},
			{has: []string{api, zurich}, asks: []string{api}, names: []string{"API", "Zürich"}},
			{},
			{asks: []string{api}},
			{has: []string{api}, asks: []string{api}, names: []string{"API"}, paused: true},
		} {
			v, address := p.offer(o, h), fmt.Sprintf(format, i)
			v.ask(channel, address, c.has...)
			manage := v.must(http.StatusOK, http.MethodPost, v.follow(v.message(topic.SubscriberConfirm, address, 1).Link, "confirm"), nil).manage(t)
			if c.paused {
				v.must(http.StatusOK, http.MethodPost, manage, url.Values{"componentIds": c.has, "paused": {"on"}})
			}
			before := v.state(address)
			v.ask(channel, address, c.asks...)
			got := v.message(topic.SubscriberManage, address, 1)
			if v.follow(got.Link, "manage") != manage || got.Code != "" || got.Unsubscribe == "" || !slices.Equal(got.Names, c.names) {
				t.Errorf("%s to %s: %+v", channel, address, got)
			}
			v.must(http.StatusOK, http.MethodGet, manage, nil)
			if after := v.state(address); !reflect.DeepEqual(after, before) {
				t.Errorf("%s to %s: %+v became %+v", channel, address, before, after)
			}
			asked := 0
			for _, notice := range apitest.Messages[topic.Notice](t, h, topic.Notices) {
				if notice.Recipient == v.ids[address] && notice.Kind == topic.SubscriberConfirm {
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("%s to %s: asked %d times to confirm", channel, address, asked)
			}
		}
	}
}

// TestTheManageLinkIsNotSentToALockedSubscriber locks it between the request and the message, and then deletes it.
func TestTheManageLinkIsNotSentToALockedSubscriber(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	const mail = "ann@example.com"
	v.confirmed(mail, v.services[0].ID)
	v.ask(topic.Email, mail, v.services[0].ID)
	v.message(topic.SubscriberManage, mail, 1)
	v.lock(mail, true)
	if got := v.notices(topic.SubscriberManage, mail); len(got) != 0 {
		t.Errorf("to a locked one: %+v", got)
	}
	v.lock(mail, false)
	if got := v.notices(topic.SubscriberManage, mail); len(got) != 1 {
		t.Errorf("to an unlocked one: %+v", got)
	}
	p.suppress(v, mail)
	if got := v.notices(topic.SubscriberManage, mail); len(got) != 0 {
		t.Errorf("to a suppressed one: %+v", got)
	}
}

// suppress suppresses an address as delivery does.
func (p *platform) suppress(v *visitors, address string) {
	p.t.Helper()
	p.publishTo(topic.DeliveryOutcomes, topic.Outcome{
		DeliveryID: id(), Organization: v.id, Channel: topic.Email, Recipient: v.ids[address], Result: topic.Failed, ErrorCode: "bounce", Gone: true, At: p.now(),
	})
	apitest.Eventually(p.t, address+" is suppressed", func() bool { return v.state(address).State == topic.RecipientSuppressed })
}

func TestVisitorsNewerRequestReplacesTheOlder(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	api, zurich := v.services[0].ID, v.services[2].ID
	const mail = "ann@example.com"
	older := v.request(mail, api)
	v.ask(topic.Email, mail, zurich)
	second := v.message(topic.SubscriberConfirm, mail, 2)
	v.must(http.StatusGone, http.MethodGet, older, nil)
	v.must(http.StatusGone, http.MethodPost, older, nil)
	if !slices.Equal(second.Names, []string{"Zürich"}) {
		t.Errorf("the second asks for %v", second.Names)
	}
	v.must(http.StatusOK, http.MethodPost, v.follow(second.Link, "confirm"), nil)
	if v.told(topic.Email, mail, api) || !v.told(topic.Email, mail, zurich) {
		t.Error("the older request is confirmed too")
	}
}

// A member has subscribed the address to all components, and its owner asks for some instead.
func TestVisitorConfirmsLessThanAMemberAskedFor(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	api, zurich := v.services[0].ID, v.services[2].ID
	const mail = "ann@example.com"
	p.app(v.organization, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": v.dashboard, "email": mail})
	all := v.follow(v.message(topic.SubscriberConfirm, mail, 1).Link, "confirm")
	v.ask(topic.Email, mail, api)
	v.must(http.StatusOK, http.MethodPost, v.follow(v.message(topic.SubscriberConfirm, mail, 2).Link, "confirm"), nil)
	got := p.app(v.organization, http.StatusOK, http.MethodGet, "email", nil).Subscribers[0]
	if !slices.Equal(got.ComponentIDs, []string{api}) || !got.Confirmed {
		t.Errorf("the subscriber is %+v", got)
	}
	if !v.told(topic.Email, mail, api) || v.told(topic.Email, mail, zurich) {
		t.Error("the owner is not notified of the chosen component alone")
	}
	v.must(http.StatusGone, http.MethodPost, all, nil)
}

func TestVisitorsRequestExpires(t *testing.T) {
	p := surround(t)
	p.within = 20 * time.Second
	o := p.organization()
	p.keep(func(s audience.Store) error { // a process was killed between the writes of the address and of the subscriber, or between their deletions
		left := audience.Address{ID: topic.NewID(), OrganizationID: o.id, Channel: topic.Email, LegacyID: 1_000_000, Text: "left@example.com", Normal: "left@example.com", Made: true, CreatedAt: p.now()}
		left.Unclaimed = new(p.now().Add(-time.Hour))
		return s.Addresses.Insert(t.Context(), left)
	})
	p.run()
	p.awaitTotal(o, "/api/v1/email/", 0)
	v := p.offer(o, p.listen(topic.Notices))
	api, zurich := v.services[0].ID, v.services[2].ID
	_, manage := v.confirmed("kept@example.com", api)
	v.ask(topic.Email, "kept@example.com", zurich)
	more := v.follow(v.message(topic.SubscriberConfirm, "kept@example.com", 1).Link, "confirm")
	link := v.request("late@example.com", api)
	if n := p.total(v.organization, "/api/v1/subscribers/email/?confirmed=false"); n != 1 {
		t.Errorf("%d unconfirmed", n)
	}
	p.ahead.Store(int64(20 * time.Second)) // before the next run of the deletion
	v.must(http.StatusGone, http.MethodPost, link, nil)
	v.must(http.StatusGone, http.MethodPost, more, nil)
	p.awaitTotal(v.organization, "/api/v1/email/", 1)
	if n := p.total(v.organization, "/api/v1/subscribers/email/"); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
	v.must(http.StatusGone, http.MethodGet, link, nil)
	v.must(http.StatusGone, http.MethodGet, more, nil)
	v.must(http.StatusOK, http.MethodGet, manage, nil)
	if !v.told(topic.Email, "kept@example.com", api) || v.told(topic.Email, "kept@example.com", zurich) {
		t.Error("the confirmed one has changed")
	}
}

// The lock of a subscriber outlives the visitor's request: nobody can subscribe the address again.
func TestVisitorsExpiredRequestStaysLocked(t *testing.T) {
	p := surround(t)
	p.within = 20 * time.Second
	p.run()
	v := p.offer(p.organization(), p.listen(topic.Notices))
	api := v.services[0].ID
	link := v.request("locked@example.com", api)
	v.lock("locked@example.com", true)
	v.request("late@example.com", api) // expires after the locked one
	p.ahead.Store(int64(20 * time.Second))
	p.awaitTotal(v.organization, "/api/v1/subscribers/email/", 1)
	v.ask(topic.Email, "locked@example.com", api)
	v.lock("locked@example.com", false)
	v.must(http.StatusGone, http.MethodPost, link, nil)
	v.ask(topic.Email, "locked@example.com", api)
	second := v.message(topic.SubscriberConfirm, "locked@example.com", 2)
	if n := len(v.notices(topic.SubscriberConfirm, "locked@example.com")); n != 2 {
		t.Errorf("%d messages: the locked address got one", n)
	}
	v.must(http.StatusOK, http.MethodPost, v.follow(second.Link, "confirm"), nil)
}

// The last subscriber of an address that a visitor's request created is deleted by a member, or with its dashboard. Then the
// address is deleted too.
func TestVisitorsAddressGoesWithItsSubscriber(t *testing.T) {
	p := start(t)
	o, h := p.organization(), p.listen(topic.Notices)
	second := p.events.addDashboard(o.id, o.services[0].ID)
	v, other := p.offer(o, h), p.offerAt(o, h, second.ID)
	const both, gone, removed = "both@example.com", "gone@example.com", "removed@example.com"
	other.request(both)
	v.request(both)
	other.request(gone)
	v.request(removed)
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+v.ids[removed], nil)
	if n := p.total(o, "/api/v1/email/?email="+removed); n != 0 {
		t.Error("the address of the deleted subscriber is left")
	}
	p.events.removeDashboard(o.id, second.ID)
	p.publishTo(topic.DashboardChanges, topic.DashboardDeleted{Organization: o.id, DashboardID: second.ID, OccurredAt: p.now()})
	p.awaitTotal(o, "/api/v1/email/?email="+gone, 0)
	if n := p.total(o, "/api/v1/email/"); n != 1 {
		t.Errorf("%d addresses are left", n)
	}
}

// A link that confirms works once, however many use it at once.
func TestVisitorsLinkWorksOnce(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	link := v.request("once@example.com")
	var done, gone atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			switch got := v.send(http.MethodPost, link, "", nil); got.status {
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
		t.Errorf("%d confirmed it, %d were refused", done.Load(), gone.Load())
	}
}

// A link concerns one dashboard. A lock stops the form and the page that manages, but nobody is kept from leaving.
func TestVisitorsLinksConcernOneDashboard(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	v, other := p.offer(o, h), p.offerAt(o, h, second.ID)
	const mail = "ann@example.com"
	api, zurich := o.services[0].ID, o.services[2].ID
	v.confirmed(mail, api)
	_, theirs := other.confirmed(mail, api)
	unsubscribe := v.follow(v.state(mail).Unsubscribe, "unsubscribe")
	manage := v.follow(v.state(mail).Manage, "manage")

	v.must(http.StatusUnprocessableEntity, http.MethodPost, theirs, url.Values{"componentIds": {zurich}}) // not on this dashboard
	v.must(http.StatusOK, http.MethodPost, theirs, url.Values{"paused": {"on"}})
	if !v.told(topic.Email, mail, api) || other.told(topic.Email, mail, api) {
		t.Error("a pause reaches another dashboard")
	}
	v.must(http.StatusOK, http.MethodPost, theirs, url.Values{"action": {"save"}})
	v.lock(mail, true)
	v.must(http.StatusForbidden, http.MethodGet, manage, nil)
	for _, form := range []url.Values{{"componentIds": {api}}, {"action": {"unsubscribe"}}} {
		v.must(http.StatusForbidden, http.MethodPost, manage, form)
	}
	other.must(http.StatusOK, http.MethodGet, theirs, nil)
	v.must(http.StatusNotFound, http.MethodPost, strings.Replace(unsubscribe, "unsubscribe", "manage", 1), url.Values{"action": {"save"}}) // a token is for one purpose
	if shown := v.must(http.StatusOK, http.MethodGet, unsubscribe, nil); strings.Contains(shown.text, "manage?token") {
		t.Errorf("the page of a locked one leads to a page that is refused: %s", shown.text)
	}
	// Mail programs send either form (RFC 8058).
	const multipart = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n"
	got := v.send(http.MethodPost, unsubscribe, multipart, http.Header{"Content-Type": {"multipart/form-data; boundary=x"}})
	if got.status != http.StatusOK {
		t.Errorf("one click: %d %s", got.status, got.text)
	}
	if v.state(mail).State != topic.RecipientGone || !other.told(topic.Email, mail, api) {
		t.Error("one click reaches another dashboard, or has no effect")
	}
}

// The dashboard's own host has the same forms.
func TestVisitorsOnTheDashboardsOwnHost(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	host := http.Header{"X-Forwarded-Host": {strings.ToUpper(v.dashboard) + ".EXAMPLE.:8443"}}
	got := v.send(http.MethodPost, "/subscribe/email", url.Values{"email": {"own@example.com"}}.Encode(), host)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "sent" {
		t.Errorf("the request: %d %v", got.status, got.header)
	}
	asked := v.message(topic.SubscriberConfirm, "own@example.com", 1)
	if asked.Names != nil {
		t.Errorf("all components are %v", asked.Names)
	}
	v.must(http.StatusOK, http.MethodPost, v.follow(asked.Link, "confirm"), nil)
	if d := v.state("own@example.com"); d.Components != nil || !v.told(topic.Email, "own@example.com", v.services[0].ID) {
		t.Errorf("of all components: %+v", d)
	}
	if got := v.send(http.MethodPost, "/subscribe/email", "email=own%40example.com", http.Header{"X-Forwarded-Host": {"nobody.example"}}); got.status != http.StatusNotFound {
		t.Errorf("another host: %d %s", got.status, got.text)
	}
}

func TestVisitorsUseTheChannelsOfTheDashboard(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices), topic.SMS, topic.Webhook)
	v.must(http.StatusNotFound, http.MethodPost, v.base+"/email", url.Values{"email": {"ann@example.com"}})
	v.ask(topic.SMS, "+4915112345699")
	v.must(http.StatusMethodNotAllowed, http.MethodGet, v.base+"/sms", nil) // the form is a file of the dashboard
}

// The pages are in the frame of their dashboard. A language that is not the dashboard's is marked.
func TestVisitorsPagesAreInTheFrameOfTheDashboard(t *testing.T) {
	p := start(t)
	o := p.organization()
	h := p.listen(topic.Notices)
	v, german := p.offer(o, h), p.offerAt(o, h, p.events.addDashboard(o.id, o.services[0].ID).ID)
	framed := func(v *visitors, title, main string, got page) {
		t.Helper()
		for _, want := range []string{"<title>" + title + " – frame of " + v.dashboard + "</title>", `<main id="main" tabindex="-1" class="small"` + main + ">", `<h1 class="title">` + title + "</h1>"} {
			if !strings.Contains(got.text, want) {
				t.Errorf("the page lacks %q: %s", want, got.text)
			}
		}
		if got.header.Get("Content-Security-Policy") != "default-src 'none'; style-src 'sha256-frame'" {
			t.Errorf("the policy is %s", got.header.Get("Content-Security-Policy"))
		}
	}
	framed(german, "Benachrichtigungen erhalten", "", german.must(http.StatusUnprocessableEntity, http.MethodPost, german.base+"/email", url.Values{"email": {"nobody"}}))
	framed(v, "Subscribe", "", v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/sms", url.Values{"phone": {"1"}}))
	link := german.request("vera@example.com")
	framed(german, "Abonnement bestätigen", "", german.must(http.StatusOK, http.MethodGet, link, nil))
	manage := german.must(http.StatusOK, http.MethodPost, link, nil).manage(t)
	framed(german, "Dieser Link gilt nicht mehr", "", german.must(http.StatusGone, http.MethodGet, link, nil))
	framed(german, "Manage your subscription", ` lang="en"`, german.must(http.StatusOK, http.MethodPost, manage, url.Values{"locale": {"en"}}))
	framed(german, "Manage your subscription", ` lang="en"`, german.must(http.StatusUnprocessableEntity, http.MethodPost, manage, url.Values{"componentIds": {""}}))
	unsubscribe := german.follow(german.state("vera@example.com").Unsubscribe, "unsubscribe")
	framed(german, "Unsubscribe", ` lang="en"`, german.must(http.StatusOK, http.MethodGet, unsubscribe, nil))
	german.lock("vera@example.com", true)
	framed(german, "Locked", ` lang="en"`, german.must(http.StatusForbidden, http.MethodGet, manage, nil))
	framed(german, "You are unsubscribed", ` lang="en"`, german.must(http.StatusOK, http.MethodPost, unsubscribe, url.Values{"List-Unsubscribe": {"One-Click"}}))
	code := url.Values{"channel": {"sms"}, "phone": {"+4915112345678"}, "code": {"000000"}, "dashboardId": {v.dashboard}}
	framed(v, "Confirm with the code", "", v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code))

	// A page without a dashboard has a style of its own.
	plain := german.send(http.MethodGet, "/public/manage?token=x", "", http.Header{"Accept-Language": {"sv, de-AT;q=0.8, en;q=0.5"}})
	style := sha256.Sum256([]byte(apitest.Between(t, plain.text, "<style>", "</style>")))
	if plain.status != http.StatusNotFound || !strings.Contains(plain.text, `<html lang="de">`) || strings.Contains(plain.text, "frame of") ||
		!strings.Contains(plain.header.Get("Content-Security-Policy"), "style-src 'sha256-"+base64.StdEncoding.EncodeToString(style[:])+"'") {
		t.Errorf("without a dashboard: %d %v %s", plain.status, plain.header, plain.text)
	}
	code.Set("dashboardId", "nobody")
	if got := v.must(http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", code); strings.Contains(got.text, "frame of") {
		t.Errorf("of an unknown dashboard: %s", got.text)
	}
}

func TestVisitorsFormShowsWhatWasTyped(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	api, web := v.services[0].ID, v.services[1].ID
	for name, test := range map[string]struct {
		channel string
		form    url.Values
		want    string
	}{
		"email":        {"email", url.Values{"email": {`"><script>ann`}, "componentIds": {api}}, "Enter an email address"},
		"header":       {"email", url.Values{"email": {"ann@example.com\r\nBcc: all@example.com"}, "componentIds": {api}}, "Enter an email address"},
		"two":          {"email", url.Values{"email": {"ann@example.com", "bob@example.com"}, "componentIds": {api}}, "Enter an email address"},
		"phone":        {"sms", url.Values{"phone": {"<b>0151 ann"}, "componentIds": {api}}, "Enter a phone number"},
		"componentIds": {"email", url.Values{"email": {"ann@example.com"}, "componentIds": {api, web}}, "Select components"},
		"locale":       {"email", url.Values{"email": {"ann@example.com"}, "componentIds": {api}, "locale": {"klingon speech"}}, "Select a language"},
		"encoding":     {"email", url.Values{"email": {"ann\xff\xfe@example.com"}, "componentIds": {api}}, "Enter an email address"},
	} {
		got := v.must(http.StatusUnprocessableEntity, http.MethodPost, v.base+"/"+test.channel, test.form)
		if !strings.Contains(got.text, test.want) || strings.Contains(got.text, "<script") || strings.Contains(got.text, "<b>") ||
			strings.Count(got.text, "checked") != 1 || !strings.Contains(got.text, "ann") && name != "phone" {
			t.Errorf("a wrong %s: %s", name, got.text)
		}
	}
	v.must(http.StatusRequestEntityTooLarge, http.MethodPost, v.base+"/email", url.Values{"email": {strings.Repeat("x", 65<<10)}})
	for media, body := range map[string]string{
		"application/x-www-form-urlencoded": "email=%zz", "multipart/form-data": "x", "text/plain": "email=ann@example.com",
		"application/json; charset=x": `{"email": `, "": "email=ann@example.com",
	} {
		if got := v.send(http.MethodPost, v.base+"/email", body, http.Header{"Content-Type": {media}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", media, got.status, got.text)
		}
	}
	if n := p.total(v.organization, "/api/v1/email/"); n != 0 {
		t.Errorf("wrong requests have stored %d addresses", n)
	}
}

func TestVisitorsAreLimitedByTheirAddress(t *testing.T) {
	p := start(t)
	o := p.organization()
	h := p.listen(topic.Notices)
	v, other := p.offer(o, h), p.offer(o, h)
	for channel, limit := range map[topic.Channel]int{topic.Email: 30, topic.SMS: 10} {
		var group sync.WaitGroup
		var granted atomic.Int64
		for i := range limit + 5 {
			group.Go(func() {
				body := `{"email": "` + id() + `@example.com"}`
				if channel == topic.SMS {
					body = `{"phone": "+49151123456` + string('0'+rune(i/10)) + string('0'+rune(i%10)) + `"}`
				}
				path := v.base + "/" + string(channel)
				if channel == topic.SMS && i%2 == 0 {
					path = v.base + "/whatsapp" // counted together
				}
				switch got := v.send(http.MethodPost, path, body, http.Header{"Content-Type": {"application/json"}}); {
				case got.status == http.StatusAccepted:
					granted.Add(1)
				case got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || !strings.Contains(got.text, `"error"`):
					t.Errorf("%d %v %s", got.status, got.header, got.text)
				}
			})
		}
		group.Wait()
		if int(granted.Load()) != limit {
			t.Errorf("%s: %d were granted, want %d", channel, granted.Load(), limit)
		}
	}
	other.ask(topic.Email, "other@example.com")
	other.ask(topic.SMS, "+4915112345699")
}

// While events cannot be reached, forms and links say so, and nothing is lost. Leaving is always possible.
func TestVisitorsDuringAnOutage(t *testing.T) {
	p := start(t)
	v := p.offer(p.organization(), p.listen(topic.Notices))
	link := v.request("ann@example.com")
	_, manage := v.confirmed("bob@example.com")
	p.events.down.Store(true)
	for _, path := range []string{link, manage} {
		v.must(http.StatusServiceUnavailable, http.MethodGet, path, nil)
	}
	v.must(http.StatusServiceUnavailable, http.MethodPost, v.base+"/email", url.Values{"email": {"new@example.com"}})
	v.must(http.StatusServiceUnavailable, http.MethodPost, link, nil)
	if left := v.must(http.StatusOK, http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}); !strings.Contains(left.text, `<h1 class="title">You are unsubscribed</h1>`) || strings.Contains(left.text, "frame of") {
		t.Errorf("without the frame: %s", left.text)
	}
	p.events.down.Store(false)
	v.must(http.StatusOK, http.MethodPost, link, nil)
}
