package main_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// everyChannel has one receiver on each channel. Each is notified of events on one component.
type everyChannel struct {
	chat *hook // a webhook with the format slack
	actor
	data  string // folder that contains the mails and texts
	hooks []*hook
}

const (
	reader  = "reader@example.com"
	phone   = "+4915112345681"
	chatter = "+4915112345682"
)

// onEveryChannel registers an endpoint of each kind and a subscriber of each channel for the component.
func onEveryChannel(a actor, servers map[string]*receiver.Receiver, component, data string) everyChannel {
	a.t.Helper()
	all := everyChannel{actor: a, data: data}
	for _, kind := range outbounds() {
		all.hooks = append(all.hooks, a.hook(kind, servers, component, "hidden"))
	}
	all.chat = a.hook(outbounds()[0], servers, component, "compatible")
	all.chat.patch(map[string]any{"format": "slack", "minIntervalMs": 0})
	for channel, address := range map[string][2]string{"email": {"email", reader}, "sms": {"phone", phone}, "whatsapp": {"phone", chatter}} {
		send(a.t, http.MethodPost, a.BaseURL+"/app/subscribers/"+channel, a.app(), map[string]any{
			"dashboardId": a.DashboardID, address[0]: address[1], "componentIds": []string{component}, "confirmed": true,
		}).expect(a.t, http.StatusCreated)
	}
	return all
}

// got waits until each of the channels has received a message with the title, and returns these messages by channel.
func (e everyChannel) got(title string, channels ...string) map[string]string {
	e.t.Helper()
	messages := map[string]string{}
	for _, h := range e.hooks {
		if slices.Contains(channels, h.kind) {
			messages[h.kind] = string(h.got(title, 1)[0].Body)
		}
	}
	eventually(e.t, 30*time.Second, "mail and texts of "+title, func() error {
		for _, l := range letters(e.t, e.data) {
			if l.to == reader && strings.Contains(l.text, title) {
				messages["email"] = l.text + l.html
			}
		}
		files, err := filepath.Glob(filepath.Join(e.data, "sms", "*.json"))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for channel, number := range map[string]string{"sms": phone, "whatsapp": chatter} {
				if bytes.Contains(content, []byte(title)) && bytes.Contains(content, []byte(number)) {
					messages[channel] = string(content)
				}
			}
		}
		if len(messages) != len(channels) {
			return fmt.Errorf("messages on %v", slices.Sorted(maps.Keys(messages)))
		}
		return nil
	})
	return messages
}

// TestHiddenEventsHaveNoLink notifies a receiver on each channel about events that the dashboard shows and about events
// that it hides. Only the messages about events that it shows contain a link to its page.
func TestHiddenEventsHaveNoLink(t *testing.T) {
	t.Parallel()
	servers, env := startTeams(t, outboundHosts()...)
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	all := onEveryChannel(a, servers, component, data)
	app := func(method, path string, status int, members map[string]any) {
		t.Helper()
		send(t, method, base+"/app"+path, a.app(), members).expect(t, status)
	}
	create := func(title string, hidden bool) {
		t.Helper()
		app(http.MethodPost, "/events", http.StatusCreated, map[string]any{
			"type": "incident", "title": title, "description": title, "affectedComponents": []any{map[string]any{"componentId": component}}, "hiddenFromDashboard": hidden,
		})
	}
	everywhere := []string{"gchat", "whatsapp", "slack", "discord"}
	channels := []string{"email", "sms", "teams", "webhook"} // the channels of the legacy interface
	expect := func(title string, linked bool, more ...string) {
		t.Helper()
		messages := all.got(title, append(channels[:len(channels):len(channels)], more...)...)
		messages["a Slack-compatible receiver"] = string(all.chat.got(title, 1)[0].Body)
		for channel, message := range messages {
			if strings.Contains(message, a.DashboardURL) != linked || strings.Contains(message, "/events/") != linked {
				t.Errorf("%s: the message on %s is %s", title, channel, message)
			}
		}
	}
	create("Visible event", false)
	expect("Visible event", true, everywhere...)
	create("Hidden event", true)
	expect("Hidden event", false, everywhere...)
	on := map[string]any{"enabled": true}
	legacy := incident(service, "Hidden legacy event")
	legacy["hidden_db"], legacy["notifications"] = true, map[string]any{"email": on, "sms": on, "webhook": on, "teams": on}
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), legacy).expect(t, http.StatusCreated)
	expect("Hidden legacy event", false)
	app(http.MethodPatch, "/components/"+component, http.StatusOK, map[string]any{"hidden": true})
	create("Event of a hidden component", false)
	expect("Event of a hidden component", false, everywhere...)
	app(http.MethodPatch, "/components/"+component, http.StatusOK, map[string]any{"hidden": false, "hiddenFromNotifications": true})
	create("Event that nobody hears of", false)
	app(http.MethodPatch, "/components/"+component, http.StatusOK, map[string]any{"hiddenFromNotifications": false})
	create("Last event", false)
	expect("Last event", true, everywhere...)
	for _, h := range all.hooks {
		if heard := h.among(h.server.Requests(), "nobody hears"); len(heard) > 0 {
			t.Errorf("%s: %s", h.kind, heard[0].Body)
		}
	}
}
