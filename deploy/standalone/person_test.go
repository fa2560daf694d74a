package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// person subscribes to dashboards on one channel, and reads the messages to one address.
type person struct {
	visitor
	data             string // data folder of the platform, which contains the messages
	channel, address string
	read             map[string]bool // messages that were read, by file
}

// personMessage is one message to a person.
type personMessage struct{ file, text, unsubscribe string }

var (
	personLink = regexp.MustCompile(`https?://\S+(/public/(?:confirm|manage|unsubscribe)\?token=[\w-]+)`)
	personCode = regexp.MustCompile(`\b[0-9]{6}\b`)
	manageLink = regexp.MustCompile(`href="(manage\?token=[\w-]+)"`)
)

// inbox returns all messages to the address.
func (p *person) inbox() []personMessage {
	p.t.Helper()
	var all []personMessage
	if p.channel == "email" {
		for _, l := range letters(p.t, p.data) {
			if strings.EqualFold(l.to, p.address) {
				all = append(all, personMessage{l.file, l.subject + "\n" + l.text, strings.Trim(l.header.Get("List-Unsubscribe"), "<>")})
			}
		}
		return all
	}
	for _, text := range texts(p.t, p.data) {
		if strings.TrimPrefix(text.To, "whatsapp:") == p.address {
			all = append(all, personMessage{file: text.DeliveryID, text: text.Body})
		}
	}
	return all
}

// next waits for n new messages that contain the text.
func (p *person) next(n int, text string) (found []personMessage) {
	p.t.Helper()
	eventually(p.t, 30*time.Second, fmt.Sprintf("%d messages %q to %s", n, text, p.address), func() error {
		found = slices.DeleteFunc(p.inbox(), func(m personMessage) bool { return p.read[m.file] || !strings.Contains(m.text, text) })
		if len(found) < n {
			return fmt.Errorf("%d are there, among %v", len(found), p.inbox())
		}
		return nil
	})
	for _, m := range found {
		p.read[m.file] = true
	}
	return found
}

// asks subscribes by the form of a dashboard. It returns the link and the code in the message that asks for
// confirmation.
func (p *person) asks(dashboard string, components ...string) (link, code string) {
	p.t.Helper()
	field := map[string]string{"email": "email"}[p.channel]
	if field == "" {
		field = "phone"
	}
	form := p.do(http.MethodGet, dashboard+"/subscribe", nil).expect(p.t, http.StatusOK)
	if !strings.Contains(string(form.body), `action="subscribe/`+p.channel+`"`) {
		p.t.Fatalf("the forms: %s", form.body)
	}
	sent := p.do(http.MethodPost, dashboard+"/subscribe/"+p.channel, url.Values{field: {p.address}, "componentIds": components}).expect(p.t, http.StatusSeeOther)
	p.do(http.MethodGet, dashboard+"/subscribe/"+sent.header.Get("Location"), nil).expect(p.t, http.StatusOK)
	message := p.next(1, "/public/confirm?token=")[0]
	path := personLink.FindStringSubmatch(message.text)
	return path[1], personCode.FindString(strings.Replace(message.text, path[0], "", 1))
}

// confirms confirms the subscription by the link or by the code. It returns the path of the page on which the
// subscription is managed.
func (p *person) confirms(link, code string, byCode bool) string {
	p.t.Helper()
	form := url.Values{}
	if byCode {
		link, form = "/public/confirm", url.Values{"channel": {p.channel}, "phone": {p.address}, "code": {code}}
	}
	done := p.do(http.MethodPost, link, form).expect(p.t, http.StatusOK)
	match := manageLink.FindSubmatch(done.body)
	if match == nil {
		p.t.Fatalf("the page: %s", done.body)
	}
	return "/public/" + string(match[1])
}

// A person subscribes on a dashboard and is notified only of incidents on the chosen component. The person changes the
// subscription and unsubscribes. The subscription on another dashboard is separate.
func TestAPersonIsNotified(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, checkout := a.service("Checkout")
	_, refunds := a.service("Refunds")
	channels := map[string]any{"email": true, "sms": true, "whatsapp": true}
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"subscriptions": channels, "customDomains": []string{"status.acme.example"}}).expect(t, http.StatusOK)
	var made struct{ Dashboard struct{ ID, Slug string } }
	send(t, http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{"name": "Partners", "slug": "acme-partners", "subscriptions": channels}).
		expect(t, http.StatusCreated).into(t, &made)
	send(t, http.MethodPut, base+"/app/dashboards/"+made.Dashboard.ID+"/components", a.app(),
		map[string]any{"components": []any{map[string]any{"componentId": checkout, "groupName": "Core", "position": 0}}}).expect(t, http.StatusOK)
	first, second := strings.TrimPrefix(a.DashboardURL, base), "/d/"+made.Dashboard.Slug

	people, admins := []*person{}, []*person{}
	for _, of := range []struct{ channel, field, address, admin string }{
		{"email", "email", "Vera@Example.com", "ops@example.com"},
		{"sms", "phone", "+4915112345671", "+4915112345681"},
		{"whatsapp", "phone", "+4915112345672", "+4915112345682"},
	} {
		v := visitor{t: t, base: base}
		people = append(people, &person{v, data, of.channel, of.address, map[string]bool{}})
		admins = append(admins, &person{v, data, of.channel, of.admin, map[string]bool{}})
		send(t, http.MethodPost, base+"/app/subscribers/"+of.channel, a.app(), map[string]any{
			"dashboardId": a.DashboardID, of.field: of.admin, "confirmed": true,
		}).expect(t, http.StatusCreated)
	}
	// post opens an incident and waits until the admin has been notified of it on each channel.
	post := func(component, title string) {
		t.Helper()
		send(t, http.MethodPost, base+"/app/events", a.app(), map[string]any{
			"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": component}},
			"initialTimelineMessage": "We look into it.", "notify": map[string]any{"email": true, "sms": true, "whatsapp": true},
		}).expect(t, http.StatusCreated)
		for _, admin := range admins {
			admin.next(1, title)
		}
	}
	each := func(do func(p *person)) {
		t.Helper()
		for _, p := range people {
			do(p)
		}
	}
	manage, links := map[*person]string{}, map[*person]string{}

	each(func(p *person) {
		link, code := p.asks(first, checkout)
		for range 2 { // mail programs follow links before the reader does
			p.do(http.MethodGet, link, nil).expect(t, http.StatusOK)
		}
		links[p], manage[p] = link, code
	})
	post(checkout, "unconfirmed")
	each(func(p *person) {
		manage[p] = p.confirms(links[p], manage[p], p.channel == "whatsapp")
		p.do(http.MethodPost, links[p], nil).expect(t, http.StatusGone)
		p.do(http.MethodPost, links[p]+"x", nil).expect(t, http.StatusNotFound)
	})
	post(refunds, "not chosen")
	post(checkout, "one")
	each(func(p *person) { p.next(1, "one") })

	each(func(p *person) {
		link, code := p.asks(second, checkout)
		p.confirms(link, code, p.channel == "sms")
	})
	post(checkout, "two")
	each(func(p *person) { p.next(2, "two") }) // one message for each dashboard

	each(func(p *person) {
		p.do(http.MethodPost, manage[p], url.Values{"componentIds": {refunds}, "paused": {"on"}}).expect(t, http.StatusOK)
	})
	post(refunds, "paused")
	each(func(p *person) {
		p.do(http.MethodPost, manage[p], url.Values{"componentIds": {refunds}, "locale": {"de"}}).expect(t, http.StatusOK)
	})
	post(refunds, "three")
	unsubscribe := map[*person]string{}
	each(func(p *person) {
		m := p.next(1, "three")[0]
		if p.channel == "email" {
			unsubscribe[p] = personLink.FindStringSubmatch(m.unsubscribe)[1]
			if !strings.Contains(m.text, "Wird untersucht") {
				t.Errorf("not in German: %s", m.text)
			}
		}
	})
	post(checkout, "four")
	each(func(p *person) { p.next(1, "four") }) // the message of the subscription on the other dashboard

	each(func(p *person) {
		if p.channel == "email" { // with one click, by a header of the mail
			p.do(http.MethodGet, unsubscribe[p], nil).expect(t, http.StatusOK)
			p.do(http.MethodPost, unsubscribe[p], url.Values{"List-Unsubscribe": {"One-Click"}}).expect(t, http.StatusOK)
		} else {
			p.do(http.MethodPost, manage[p], url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusOK)
		}
		p.do(http.MethodGet, manage[p], nil).expect(t, http.StatusGone)
	})
	post(refunds, "after the end")
	post(checkout, "five")
	each(func(p *person) { p.next(1, "five") }) // the subscription on the other dashboard continues

	// The dashboard's own host has the same forms. Links of the old subscription do not open the new one.
	each(func(p *person) {
		p.header = http.Header{"Host": {"status.acme.example"}}
		link, code := p.asks("", refunds)
		p.header = nil
		p.confirms(link, code, false)
		p.do(http.MethodPost, manage[p], url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusGone)
	})
	post(refunds, "six")
	each(func(p *person) {
		p.next(1, "six")
		if all := p.inbox(); len(all) != len(p.read) {
			t.Errorf("%s got %d messages, want %d: %+v", p.address, len(all), len(p.read), all)
		}
	})

	want := []string{"subscribe", "confirm", "subscribe", "confirm", "manage", "manage", "unsubscribe", "subscribe", "confirm"}
	eventually(t, 30*time.Second, "the audit entries", func() error {
		entries, err := auditLog(base, a.app(), "")
		if err != nil {
			return err
		}
		actions := map[string][]string{}
		for _, entry := range slices.Backward(entries) {
			if entry.Surface != "public" {
				continue
			}
			at := slices.IndexFunc(people, func(p *person) bool { return strings.Contains(entry.text, p.address) })
			if at < 0 || entry.Actor.Type != "visitor" || entry.IP != "127.0.0.1" || strings.Contains(entry.text, "token") {
				t.Errorf("the entry %s", entry.text)
				continue
			}
			actions[people[at].channel] = append(actions[people[at].channel], strings.TrimPrefix(entry.Action, "subscriber."))
		}
		for _, p := range people {
			if slices.Sort(actions[p.channel]); !slices.Equal(actions[p.channel], slices.Sorted(slices.Values(want))) {
				return fmt.Errorf("of %s they are %v", p.channel, actions[p.channel])
			}
		}
		return nil
	})
}

// A request that nobody confirms in time is deleted, and its link and code are no longer valid.
func TestAPersonsRequestExpires(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data, "CONFIRM_WITHIN=20s")
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"subscriptions": map[string]any{"sms": true}}).expect(t, http.StatusOK)
	p := &person{visitor{t: t, base: base}, data, "sms", "+4915112345671", map[string]bool{}}
	link, code := p.asks(strings.TrimPrefix(a.DashboardURL, base))
	eventually(t, time.Minute, "the request vanishes", func() error {
		got := send(t, http.MethodGet, base+"/app/subscribers/sms", a.app(), nil).expect(t, http.StatusOK)
		if strings.Contains(string(got.body), p.address) {
			return fmt.Errorf("it is listed: %s", got.body)
		}
		return nil
	})
	p.do(http.MethodGet, link, nil).expect(t, http.StatusGone)
	p.do(http.MethodPost, link, nil).expect(t, http.StatusGone)
	p.do(http.MethodPost, "/public/confirm", url.Values{"channel": {"sms"}, "phone": {p.address}, "code": {code}}).expect(t, http.StatusUnprocessableEntity)
}

// The mail that asks for confirmation is sent even if the platform is killed right after the response.
func TestAPersonsMailSurvivesAKill(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	process, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	a.service("Checkout")
	dashboard := strings.TrimPrefix(a.DashboardURL, base)
	var people []*person
	for round := range 3 {
		p := &person{visitor{t: t, base: base}, data, "email", fmt.Sprintf("vera%d@example.com", round), map[string]bool{}}
		people = append(people, p)
		p.do(http.MethodPost, dashboard+"/subscribe/email", url.Values{"email": {p.address}}).expect(t, http.StatusSeeOther)
		process.kill()
		process.start()
		eventually(t, 60*time.Second, "ready again", ready(base))
	}
	for _, p := range people {
		message := p.next(1, "/public/confirm?token=")[0]
		p.confirms(personLink.FindStringSubmatch(message.text)[1], "", false)
	}
}
