package main_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html/atom"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// phones is a server for texts and WhatsApp messages. It records each message.
type phones struct {
	mu   sync.Mutex
	sent []url.Values
}

// startPhones starts the server and returns it with the settings of the platform.
func startPhones(t testing.TB) (*phones, []string) {
	t.Helper()
	p := &phones{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, []string{"SMS_URL=" + strings.Replace(server.URL, "://", "://AC0123456789abcdef0123456789abcdef:token@", 1) + "/?from=+15550100"}
}

// ServeHTTP accepts a message.
func (p *phones) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.sent = append(p.sent, r.PostForm)
	p.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"sid": "SM0123456789abcdef0123456789abcdef", "status": "queued"}`)
}

// receivers are a server for each channel, and the recipients of an organization there.
type receivers struct {
	actor
	component string
	mails     *mailbox
	phones    *phones
	hooks     []*hook
}

// readers returns how many recipients each channel has.
func readers() map[string]int {
	return map[string]int{"email": 3, "sms": 2, "whatsapp": 1, "webhook": 2, "teams": 1, "gchat": 1}
}

// startReaders starts the platform with a server for each channel, and subscribes the readers to the component API.
func startReaders(t *testing.T) (*receivers, *consoleUser) {
	t.Helper()
	mails, env := startMailServer(t)
	phones, phoneEnv := startPhones(t)
	servers, hookEnv := startReceivers(t, receiverHost, teamsHost1, spaceHost)
	servers[teamsHost1].Answer = func(receiver.Request) int { return http.StatusAccepted }
	servers[spaceHost].Answer = func(receiver.Request) int { return http.StatusOK }
	p, base := started(t, slices.Concat(env, phoneEnv, hookEnv)...)
	ada, of := welcomed(t, p, base)
	r := &receivers{actor: actor{t, of}, mails: mails, phones: phones}
	r.component = ada.open("/events/new", http.StatusOK).choice("components", "API")
	for channel, count := range readers() {
		for n := range count {
			body := map[string]any{"dashboardId": of.DashboardID, "confirmed": true, "componentIds": []string{r.component}}
			switch channel {
			case "email":
				body["email"] = fmt.Sprintf("reader-%d@example.com", n)
			case "sms", "whatsapp":
				body["phone"] = fmt.Sprintf("+491511234567%d", n)
			default:
				kind := outbounds()[slices.IndexFunc(outbounds(), func(o outbound) bool { return o.kind == channel })]
				r.hooks = append(r.hooks, r.hook(kind, servers, r.component, channel+strconv.Itoa(n)))
				continue
			}
			send(t, http.MethodPost, base+"/app/subscribers/"+channel, of.app(), body).expect(t, http.StatusCreated)
		}
	}
	return r, ada
}

// arrived returns the number of messages per channel that have arrived with the text.
func (r *receivers) arrived(text string) map[string]int {
	r.t.Helper()
	all := map[string]int{}
	r.mails.read()
	for address, mails := range r.mails.accepted {
		for _, mail := range mails {
			if strings.HasPrefix(address, "reader-") && strings.Contains(mail.Subject, text) {
				all["email"]++
			}
		}
	}
	r.phones.mu.Lock()
	for _, message := range r.phones.sent {
		if !strings.Contains(message.Get("Body"), text) {
			continue
		}
		if strings.HasPrefix(message.Get("To"), "whatsapp:") {
			all["whatsapp"]++
		} else {
			all["sms"]++
		}
	}
	r.phones.mu.Unlock()
	for _, hook := range r.hooks {
		all[hook.kind] += len(hook.among(hook.server.Requests(), text))
	}
	return all
}

// expect waits until exactly these messages with the text have arrived.
func (r *receivers) expect(text string, want map[string]int) {
	r.t.Helper()
	eventually(r.t, time.Minute, fmt.Sprintf("%q at %v", text, want), func() error {
		if got := r.arrived(text); !maps.Equal(got, want) {
			return fmt.Errorf("%v have arrived", got)
		}
		return nil
	})
}

// counted returns the number of recipients that the bar of the page shows for each channel.
func (p *consoleUser) counted() map[string]int {
	p.t.Helper()
	counts := map[string]int{}
	for node := range p.page.Descendants() {
		if node.DataAtom != atom.Input || attribute(node, "name") != "notify" || attribute(node, "type") != "checkbox" {
			continue
		}
		words := strings.Fields(textOf(node.Parent))
		count, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			p.t.Fatalf("the bar shows %q: %v", words, err)
		}
		counts[attribute(node, "value")] = count
	}
	return counts
}

// An incident is published, updated and resolved by the forms of the console. The page says how many recipients each channel
// has. So many messages arrive at the servers of the channels, and each action shows on the public page and in the App
// interface.
func TestEachActionOfTheConsoleArrivesOnEveryChannel(t *testing.T) {
	t.Parallel()
	r, ada := startReaders(t)
	const title = "Requests to the API fail"
	shows := func(status, text string) {
		t.Helper()
		page := string(looker{t: t, base: r.DashboardURL}.visit("GET", "/", nil).expect(t, http.StatusOK).body)
		if !strings.Contains(page, title) || !strings.Contains(page, text) {
			t.Errorf("%s: the public page shows %s", status, page)
		}
		made := eventsOf(t, r.BaseURL, r.credentials)
		if len(made) != 1 || made[0].Title != title || made[0].Status != status {
			t.Errorf("the events are %+v", made)
		}
	}
	want := readers()
	ada.open("/events/new?component="+r.component, http.StatusOK).expect("/events/new", "Reaches 3 by mail, 2 by SMS, 1 by WhatsApp, 2 webhooks, 1 in Teams, 1 in Google Chat", "Publish and notify 10")
	if got := ada.counted(); !maps.Equal(got, want) {
		t.Errorf("the page counts %v", got)
	}
	ada.fill("/events/new", typed("title", title, "message", "We look into it."), http.StatusOK)
	shows("investigating", "We look into it.")
	r.expect(title, want)
	at := strings.TrimPrefix(ada.at.Path, "/console")

	// The second message goes to everybody, and the last one not by text.
	quiet := map[string]int{}
	for _, step := range []struct{ status, message string }{{"identified", "A cable is cut."}, {"resolved", "A new cable is in place."}} {
		ada.open(at+"?status="+step.status, http.StatusOK)
		if got := ada.counted(); !maps.Equal(got, readers()) {
			t.Errorf("%s: the page counts %v", step.status, got)
		}
		values := typed("message", step.message)
		if step.status == "resolved" {
			values["notify"] = []string{"email", "whatsapp", "webhook", "teams", "gchat"}
			quiet["sms"] = readers()["sms"]
		}
		ada.fill(at+"/timeline", values, http.StatusOK)
		shows(step.status, step.message)
		for channel, count := range readers() {
			want[channel] += count - quiet[channel]
		}
		r.expect(title, want)
	}
	total := 0
	for _, count := range want {
		total += count
	}
	eventually(t, time.Minute, "the page of the event", func() error {
		ada.open(at, http.StatusOK)
		if words := ada.words(); !strings.Contains(words, fmt.Sprintf("Delivered%d", total)) && !strings.Contains(words, fmt.Sprintf("Delivered %d", total)) {
			return fmt.Errorf("%d are not delivered: %s", total, words)
		}
		return nil
	})
	r.expect(title, want) // no message was sent twice
}

// A service ends while a form is filled. The page says what is missing, and shows what was typed. When the service is back, the
// form works once.
func TestWhatWasTypedOutlivesAServiceThatEnds(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	of := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	component := (actor{t, of}).component("API", "api")
	var link struct{ URL string }
	send(t, http.MethodPost, cluster.base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	ada := newConsoleUser(t, cluster.base)
	ada.origin = cluster.base
	ada.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	outage := func(service string, do func()) {
		t.Helper()
		cluster.processes[service].kill()
		do()
		cluster.processes[service].start()
		eventually(t, time.Minute, service+" ready again", ready("http://"+cluster.addresses[service]))
		eventually(t, time.Minute, "the platform ready again", ready(cluster.base))
	}
	titled := func(title string) (found []shownEvent) {
		return slices.DeleteFunc(eventsOf(t, cluster.base, of), func(e shownEvent) bool { return e.Title != title })
	}

	// Counting needs both services, publishing none of them.
	for service, missing := range map[string]string{"subscribers": "The recipients cannot be counted right now", "delivery": "The messages cannot be counted right now."} {
		title := "Without " + service
		ada.open("/events/new", http.StatusOK)
		outage(service, func() {
			ada.fill("/events/new", typed("title", title, "components", component, "step", "show"), http.StatusOK).expect("/events/new", "The recipients cannot be counted right now")
			ada.fill("/events/new", nil, http.StatusOK)
			ada.expect("/events/"+titled(title)[0].ID, "The event is published.", missing)
		})
		if made := titled(title); len(made) != 1 {
			t.Errorf("%d events are called %s", len(made), title)
		}
	}

	// Nothing is written without events. The form keeps what was typed, also where the page cannot show the event.
	ada.open("/events/new", http.StatusOK)
	outage("events", func() {
		ada.fill("/events/new", typed("title", "Without events", "message", "Typed at three", "components", component), http.StatusServiceUnavailable).
			expect("/events/new", "cannot be reached right now: events, components and dashboards.", "What you typed is still here.", "Typed at three", "Your choice of 1 is kept.")
	})
	ada.fill("/events/new", nil, http.StatusOK)
	made := titled("Without events")
	if len(made) != 1 || made[0].Timeline == nil && len(made[0].AffectedComponents) != 1 {
		t.Fatalf("the events are %+v", made)
	}
	at := "/events/" + made[0].ID
	ada.expect(at, "Typed at three")
	ada.open(at, http.StatusOK)
	outage("events", func() {
		ada.fill(at+"/timeline", typed("status", "identified", "message", "Typed at four"), http.StatusServiceUnavailable).
			expect(at+"/timeline", "cannot be reached right now: events, components and dashboards.", "What you typed", "Typed at four")
	})
	ada.fill(at+"/timeline", nil, http.StatusOK).expect(at, "Typed at four")
	if got := eventOf(t, cluster.base, of, made[0].ID); got.Status != "identified" || len(got.Timeline) != 2 {
		t.Errorf("the event is %+v", got)
	}

	// Without identity, the event is published, but no page can be shown. The form leads there when identity is back.
	late := *ada
	late.open("/events/new", http.StatusOK)
	again := late
	values := typed("title", "Without identity", "components", component)
	outage("identity", func() {
		late.fill("/events/new", values, http.StatusServiceUnavailable)
		if !strings.Contains(late.words(), "cannot be reached right now: members and sign-in.") {
			t.Errorf("the page is %s", late.words())
		}
	})
	again.fill("/events/new", values, http.StatusOK)
	if made := titled("Without identity"); len(made) != 1 {
		t.Fatalf("the events are %+v", made)
	} else {
		again.expect("/events/"+made[0].ID, "Without identity")
	}
}
