package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// Two hosts in URLs of Teams workflows.
const (
	teamsHost1 = "prod-1.westeurope.logic.azure.com"
	teamsHost2 = "prod-2.northeurope.logic.azure.com"
)

// startTeams starts a server for each of the hosts. It returns the settings with which the
// platform uses the servers as Teams.
func startTeams(t testing.TB, hosts ...string) (map[string]*receiver.Receiver, []string) {
	t.Helper()
	servers, env := startReceivers(t, hosts...)
	for _, server := range servers {
		server.Answer = func(receiver.Request) int { return http.StatusAccepted }
	}
	return servers, env
}

// room is a Teams channel. It has the requests to its workflow among all requests to the server.
type room struct {
	t        testing.TB
	server   *receiver.Receiver
	path     string
	legacyID int64
	hash     string
}

func (a actor) teams(body map[string]any) answer {
	a.t.Helper()
	return send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/teams/endpoints", a.app(), body)
}

// room registers an endpoint for a workflow on the host.
func (a actor) room(servers map[string]*receiver.Receiver, host, name, component string) room {
	a.t.Helper()
	r := room{t: a.t, server: servers[host], path: "/workflows/" + name + "/triggers/manual/paths/invoke"}
	var made struct {
		Endpoint struct {
			LegacyID int64
			URLHash  string
		}
	}
	a.teams(map[string]any{
		"dashboardId": a.DashboardID, "url": "https://" + host + r.path + "?sig=" + name,
		"managementEmail": "ops@example.com", "componentIds": []string{component},
	}).expect(a.t, http.StatusCreated).into(a.t, &made)
	r.legacyID, r.hash = made.Endpoint.LegacyID, made.Endpoint.URLHash
	return r
}

// card is the part of a request that Teams shows.
type card struct {
	Type        string
	Attachments []struct {
		ContentType string
		Content     struct {
			Type, Version string
			Body          []block
			Actions       []struct{ Type, URL string }
		}
	}
}

// block is an element of a card, with the elements inside it.
type block struct {
	Text, Style string
	Items       []block
}

func gather(blocks []block) []string {
	var out []string
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, b.Text)
		}
		out = append(out, gather(b.Items)...)
	}
	return out
}

// cards waits until the room has received n cards, and returns them.
func (r room) cards(n int) []card {
	r.t.Helper()
	ours := func(all []receiver.Request) (out []receiver.Request) {
		for _, request := range all {
			if request.Path == r.path {
				out = append(out, request)
			}
		}
		return out
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	requests, err := r.server.Wait(ctx, func(all []receiver.Request) bool { return len(ours(all)) >= n })
	if err != nil {
		r.t.Fatalf("waiting for %d cards at %s: %v", n, r.path, err)
	}
	var out []card
	for _, request := range ours(requests) {
		var got card
		if err := json.Unmarshal(request.Body, &got); err != nil || len(got.Attachments) != 1 {
			r.t.Fatalf("not a card: %s %v", request.Body, err)
		}
		if kind := request.Header.Get("Content-Type"); kind != "application/json" {
			r.t.Errorf("a card is %q", kind)
		}
		out = append(out, got)
	}
	return out
}

// messages fails the test unless the cards, in order of arrival, contain the messages want.
func (r room) messages(want ...string) {
	r.t.Helper()
	var got []string
	for _, card := range r.cards(len(want)) {
		said := "nothing"
		if texts := gather(card.Attachments[0].Content.Body); len(texts) > 0 {
			said = texts[0]
		}
		got = append(got, said)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		r.t.Errorf("%s got the cards %q instead of %q", r.path, got, want)
	}
}

// tell posts an incident that notifies Teams, and returns its resource_uri. wording is added to the Teams element of
// the notifications.
func (a actor) tell(service, description string, wording map[string]any) string {
	a.t.Helper()
	var event struct {
		URI string `json:"resource_uri"`
	}
	body := incident(service, description)
	body["notifications"] = map[string]any{"teams": wording}
	send(a.t, http.MethodPost, a.BaseURL+"/api/v1/event/list/", a.legacy(), body).expect(a.t, http.StatusCreated).into(a.t, &event)
	return event.URI
}

// tellAll notifies all rooms of the event. It waits until this notification has arrived. All earlier notifications of
// the event have then arrived too, because they arrive in order.
func (a actor) tellAll(event, message string) {
	a.t.Helper()
	send(a.t, http.MethodPut, a.BaseURL+event, a.legacy(), map[string]any{
		"notifications": map[string]any{"teams": map[string]any{"enabled": true, "message": message}},
	}).expect(a.t, http.StatusOK)
}

func TestLegacyEventReachesTeams(t *testing.T) {
	t.Parallel()
	servers, env := startTeams(t, teamsHost1, teamsHost2)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
	ours := actor{t, provision(t, base, "Acme", "ours", "admin", "api")}
	theirs := actor{t, provision(t, base, "Globex", "theirs", "admin", "api")}
	service, component := ours.service("Checkout")
	theirService, theirComponent := theirs.service("Checkout")
	first := ours.room(servers, teamsHost1, "first", component)
	second := ours.room(servers, teamsHost2, "second", component)
	paused := ours.room(servers, teamsHost2, "paused", component)
	foreign := theirs.room(servers, teamsHost1, "foreign", theirComponent)
	pause := func(is bool) {
		send(t, http.MethodPatch, base+"/app/integrations/teams/endpoints", ours.app(), map[string]any{
			"dashboardId": ours.DashboardID, "urlHash": paused.hash, "paused": is,
		}).expect(t, http.StatusOK)
	}
	pause(true)

	ours.tell(service, "Payments fail", map[string]any{"enabled": true, "details": true, "message": "m", "color": "#c00"})
	for _, room := range []room{first, second} {
		room.messages("m")
		got := room.cards(1)[0]
		attachment := got.Attachments[0]
		content := attachment.Content
		if got.Type != "message" || attachment.ContentType != "application/vnd.microsoft.card.adaptive" ||
			content.Type != "AdaptiveCard" || content.Version != "1.4" {
			t.Errorf("not a message with an Adaptive Card 1.4: %+v", got)
		}
		if len(content.Body) < 2 || content.Body[1].Style != "attention" || !strings.Contains(strings.Join(gather(content.Body[1:2]), "|"), "Payments fail") {
			t.Errorf("not the title on red: %+v", content.Body)
		}
		if len(content.Actions) != 1 || content.Actions[0].Type != "Action.OpenUrl" || !strings.HasPrefix(content.Actions[0].URL, ours.DashboardURL+"/events/") {
			t.Errorf("not a link to the event: %+v", content.Actions)
		}
	}

	chosen := ours.tell(service, "Refunds fail", map[string]any{"enabled": true, "message": "the first alone", "channels": []int64{first.legacyID}})
	ours.tellAll(chosen, "of refunds")
	first.messages("m", "the first alone", "of refunds")
	second.messages("m", "of refunds")

	strange := ours.tell(service, "Logins fail", map[string]any{"enabled": true, "message": "nobody", "channels": []int64{foreign.legacyID}})
	ours.tellAll(strange, "of logins")
	first.messages("m", "the first alone", "of refunds", "of logins")
	second.messages("m", "of refunds", "of logins")

	pause(false)
	ours.tellAll(strange, "to all three")
	first.messages("m", "the first alone", "of refunds", "of logins", "to all three")
	second.messages("m", "of refunds", "of logins", "to all three")
	paused.messages("to all three")

	theirs.tell(theirService, "Theirs", map[string]any{"enabled": true, "message": "theirs"})
	foreign.messages("theirs")
}
