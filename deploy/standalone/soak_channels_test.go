//go:build soak

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// soakTitle matches the title of an event of channelWriter, and soakText the text of an entry.
var (
	soakTitle = regexp.MustCompile(`channels [-0-9]+`)
	soakText  = regexp.MustCompile(`Entry [0-9] of channels [-0-9]+`)
)

// soakStatuses are the statuses of the entries of channelWriter.
var soakStatuses = []string{"investigating", "identified", "resolved"}

// soakEntryText returns the text of an entry of channelWriter.
func soakEntryText(n int, title string) string { return fmt.Sprintf("Entry %d of %s", n, title) }

// soakChannels contains a receiver for each channel but the webhook.
type soakChannels struct {
	servers map[string]*receiver.Receiver // by host
	phones  *phones

	mu    sync.Mutex
	read  map[string]int            // number of the requests that texts contains, by channel
	texts map[string]map[string]int // how often each text of an entry has arrived, by channel
}

// startSoakChannels starts the receivers and returns them with the settings of the platform. The platform also reaches the
// tally.
func startSoakChannels(t testing.TB, hooks *tally) (*soakChannels, []string) {
	t.Helper()
	servers, env := startReceivers(t, outboundHosts()...)
	servers[teamsHost1].Answer = func(receiver.Request) int { return http.StatusAccepted }
	servers[spaceHost].Answer = func(receiver.Request) int { return http.StatusOK }
	bundle := filepath.Join(t.TempDir(), "all.pem")
	var authorities []byte
	places := ""
	for n, setting := range append(hooks.env, env...) {
		name, value, _ := strings.Cut(setting, "=")
		if name == "DELIVERY_RESOLVE" {
			places += strings.Repeat(",", min(n, 1)) + value
			continue
		}
		content, err := os.ReadFile(value)
		if err != nil {
			t.Fatal(err)
		}
		authorities = append(authorities, content...)
	}
	if err := os.WriteFile(bundle, authorities, 0o600); err != nil {
		t.Fatal(err)
	}
	phones, phoneEnv := startPhones(t)
	c := &soakChannels{servers: servers, phones: phones, read: map[string]int{}, texts: map[string]map[string]int{"sms": {}, "whatsapp": {}, "email": {}}}
	for _, kind := range outbounds()[1:] {
		c.texts[kind.kind] = map[string]int{}
	}
	mailEnv := startMailSink(t, func(_ string, text []byte) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if entry := soakText.FindString(string(text)); entry != "" {
			c.texts["email"][entry]++
		}
		return nil
	})
	return c, slices.Concat(phoneEnv, mailEnv, []string{"DELIVERY_RESOLVE=" + places, "DELIVERY_CA_FILE=" + bundle})
}

// heard returns how often each text of an entry has arrived, by channel.
func (c *soakChannels) heard() map[string]map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range outbounds()[1:] {
		requests := c.servers[kind.host].Requests()
		for _, request := range requests[c.read[kind.kind]:] {
			if text := soakText.FindString(string(request.Body)); text != "" {
				c.texts[kind.kind][text]++
			}
		}
		c.read[kind.kind] = len(requests)
	}
	heard := map[string]map[string]int{}
	for channel, texts := range c.texts {
		heard[channel] = maps.Clone(texts)
	}
	c.phones.mu.Lock()
	defer c.phones.mu.Unlock()
	for _, message := range c.phones.sent { // a text contains the status and the title
		body := message.Get("Body")
		title := soakTitle.FindString(body)
		for n, status := range soakStatuses {
			if title != "" && strings.Contains(strings.ToLower(body), status+": ") {
				channel := "sms"
				if strings.HasPrefix(message.Get("To"), "whatsapp:") {
					channel = "whatsapp"
				}
				heard[channel][soakEntryText(n+1, title)]++
			}
		}
	}
	return heard
}

// total returns the number of messages that have arrived.
func (c *soakChannels) total() (messages int) {
	for _, texts := range c.heard() {
		for _, n := range texts {
			messages += n
		}
	}
	return messages
}

// listens subscribes a recipient of each channel to a component of its own.
func (s *soak) listens() {
	s.t.Helper()
	_, s.loud = s.actor.service("Loud")
	for _, kind := range outbounds()[1:] {
		s.hook(kind, s.channels.servers, s.loud, "soak")
	}
	for kind, address := range map[string]string{"email": "ada@example.com", "sms": "+4915112345678", "whatsapp": "+4915112345679"} {
		s.subscriber(kind, address, map[string]any{"componentIds": []string{s.loud}})
	}
}

// channelWriter creates an incident, adds an entry and resolves the incident. Every channel but the webhook is notified. Each
// entry waits until the one before it has arrived everywhere, because a newer entry replaces one that waits for its room.
func (s *soak) channelWriter(ctx context.Context, gateway, name string) {
	title := "channels " + name
	notify := map[string]any{"email": true, "sms": true, "whatsapp": true}
	for _, kind := range outbounds()[1:] {
		notify[kind.kind] = true
	}
	var made struct{ Event struct{ ID string } }
	if !s.request(ctx, gateway, http.MethodPost, "/app/events", s.app(), map[string]any{
		"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": s.loud}}, "initialTimelineMessage": soakEntryText(1, title), "notify": notify,
	}, http.StatusCreated, &made) {
		rest(ctx)
		return
	}
	s.published(ctx, made.Event.ID, soakEntryText(1, title))
	for n, status := range soakStatuses[1:] {
		text := soakEntryText(n+2, title)
		if !s.request(ctx, gateway, http.MethodPost, "/app/events/"+made.Event.ID+"/timeline", s.app(),
			map[string]any{"message": text, "status": status, "notify": notify}, http.StatusCreated, nil) {
			rest(ctx)
			return
		}
		s.published(ctx, made.Event.ID, text)
	}
}

// soakEntry is an entry of channelWriter.
type soakEntry struct{ event, text string }

// published records that the platform acknowledged an entry of channelWriter, and waits until it has arrived by every channel,
// at most two minutes: a kill can end a text.
func (s *soak) published(ctx context.Context, event, text string) {
	s.mu.Lock()
	s.entries = append(s.entries, soakEntry{event, text})
	s.counts["entries for all channels"]++
	s.mu.Unlock()
	arrived := func() bool {
		for _, texts := range s.channels.heard() {
			if texts[text] == 0 {
				return false
			}
		}
		return true
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	for ctx.Err() == nil && !arrived() {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// soakSilence is an acknowledged entry that did not arrive by a channel.
type soakSilence struct {
	soakEntry
	channel string
}

// unheard returns the acknowledged entries that did not arrive by a channel, and how many messages arrived again.
func (s *soak) unheard() (missing []soakSilence, repeated int) {
	heard := s.channels.heard()
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel, texts := range heard {
		for _, entry := range s.entries {
			if texts[entry.text] == 0 {
				missing = append(missing, soakSilence{entry, channel})
			}
		}
		for _, n := range texts {
			repeated += n - 1
		}
	}
	return missing, repeated
}

// logged returns how many of the missing messages have a log with the status and the code.
func (s *soak) logged(missing []soakSilence, status, code string) (messages int) {
	s.t.Helper()
	of := map[soakSilence]int{} // by event and channel
	for _, each := range missing {
		of[soakSilence{soakEntry{event: each.event}, each.channel}]++
	}
	for each, n := range of {
		var list struct{ Logs []struct{ ErrorCode *string } }
		send(s.t, http.MethodGet, s.BaseURL+"/app/notifications/"+each.channel+"/logs?limit=100&status="+status+"&eventId="+each.event, s.app(), nil).
			expect(s.t, http.StatusOK).into(s.t, &list)
		logged := 0
		for _, log := range list.Logs {
			if log.ErrorCode != nil && *log.ErrorCode == code {
				logged++
			}
		}
		messages += min(logged, n)
	}
	return messages
}

const soakRef = "soak:other" // the externalRef of soak.other

// importWriter imports finished incidents twice, and takes them back.
func (s *soak) importWriter(ctx context.Context, gateway, name string) {
	defer rest(ctx)
	run, events := uuid.NewString(), make([]map[string]any, 10)
	for i := range events {
		key := fmt.Sprintf("soak:%s:%d", name, i)
		at := time.Date(2026, 1, 1+i, 10, 0, 0, 0, time.UTC)
		entry := func(n int, status string) map[string]any {
			return map[string]any{"key": fmt.Sprintf("%s:%d", key, n), "at": at.Add(time.Duration(n) * time.Hour), "status": status, "html": "<p>Text.</p>"}
		}
		events[i] = map[string]any{
			"key": key, "type": "incident", "title": "import " + name, "status": "resolved", "startAt": at, "endAt": at.Add(2 * time.Hour),
			"components": []any{map[string]any{"key": soakRef}},
			"timeline":   []any{entry(0, "investigating"), entry(1, "identified"), entry(2, "resolved")},
		}
	}
	body := map[string]any{"dashboardId": s.DashboardID, "runId": run, "events": events}
	for _, want := range []string{"created", "unchanged"} {
		var got struct {
			Results []struct{ Status, Error string }
		}
		if s.request(ctx, gateway, http.MethodPost, "/app/events/import", s.app(), body, http.StatusOK, &got) {
			s.count("imports")
			for _, result := range got.Results {
				if result.Status != want {
					s.mistaken(fmt.Sprintf("an import: %s instead of %s: %s", result.Status, want, result.Error))
				}
			}
		} else {
			break // the next import may find a part of the events
		}
		rest(ctx)
	}
	if !s.request(ctx, gateway, http.MethodDelete, "/app/events/import/"+run, s.app(), nil, http.StatusOK, nil) {
		s.mu.Lock()
		s.runs = append(s.runs, run)
		s.mu.Unlock()
	}
}

// mistaken records a response that no outage explains.
func (s *soak) mistaken(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, what)
}

// member opens pages of the console, and publishes an incident that is over, without notifying anybody.
func (s *soak) member(ctx context.Context, _, name string) {
	slowly := func() {
		for range 6 {
			rest(ctx) // a session may send 600 requests in a minute
		}
	}
	for _, path := range []string{"/", "/events", "/subscribers/email", "/find?q=app"} {
		if s.page(ctx, http.MethodGet, s.ada.origin+"/console"+path, nil) {
			s.count("console pages")
		}
		slowly()
	}
	if !s.page(ctx, http.MethodGet, s.ada.origin+"/console/events/new", nil) {
		return
	}
	address, form := s.ada.form("/events/new")
	form["title"], form["components"] = []string{"console " + name}, []string{s.other}
	form["status"] = []string{"resolved"}
	delete(form, "notify")
	slowly()
	if s.page(ctx, http.MethodPost, address, form) {
		s.count("console events")
		s.mu.Lock()
		s.events["console "+name] = "/app" + strings.TrimPrefix(s.ada.at.Path, "/console")
		s.mu.Unlock()
	}
	slowly()
}

// page opens a page of the console, or sends a form there, and reports whether the member sees the page.
func (s *soak) page(ctx context.Context, method, address string, form url.Values) bool {
	path, _, _ := strings.Cut(strings.TrimPrefix(address, s.ada.origin), "?")
	if !s.judge(ctx, "gateway", method+" "+path, http.StatusOK, nil, func(ctx context.Context) (answer, error) {
		request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
		if err != nil {
			return answer{}, err
		}
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Origin", s.ada.origin)
		}
		response, err := s.ada.client.Do(request)
		if err != nil {
			return answer{}, err
		}
		got, err := readAnswer(response)
		if err == nil {
			s.ada.at = response.Request.URL
			s.ada.page, err = html.Parse(bytes.NewReader(got.body))
		}
		return got, err
	}) {
		return false
	}
	if strings.HasPrefix(s.ada.at.Path, "/console/sign-in") {
		s.mistaken("the session of the member has ended")
		return false
	}
	return true
}
