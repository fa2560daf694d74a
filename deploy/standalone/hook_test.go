package main_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// outbound is a kind of endpoint.
type outbound struct {
	kind, path, host string
	url              string // %[1]s stands for the name of an endpoint, %[2]d for a number of its own
}

// at returns the URL of the endpoint with a name. Tokens of Slack have letters and digits only.
func (o outbound) at(name string) string {
	if o.kind == "slack" {
		name = strings.ReplaceAll(name, "-", "")
	}
	if !strings.Contains(o.url, "%[2]d") {
		return fmt.Sprintf(o.url, name)
	}
	return fmt.Sprintf(o.url, name, crc32.ChecksumIEEE([]byte(name)))
}

const (
	slackHost   = "hooks.slack.com"
	discordHost = "discord.com"
)

// outboundHosts returns the hosts of outbounds.
func outboundHosts() (hosts []string) {
	for _, kind := range outbounds() {
		hosts = append(hosts, kind.host)
	}
	return hosts
}

// outbounds returns every kind of endpoint. Each kind has its own host among those of startReceivers.
func outbounds() []outbound {
	return []outbound{
		{"webhook", "/app/integrations/webhooks/outbound", receiverHost, "https://" + receiverHost + "/hooks/%[1]s?token=token-of-%[1]s"},
		{"teams", "/app/integrations/teams", teamsHost1, "https://" + teamsHost1 + "/workflows/%[1]s/triggers/manual/paths/invoke?sig=token-of-%[1]s"},
		{"gchat", "/app/integrations/gchat", spaceHost, "https://" + spaceHost + "/v1/spaces/%[1]s/messages?key=k&token=token-of-%[1]s"},
		{"slack", "/app/integrations/slack", slackHost, "https://" + slackHost + "/services/T0/B0/%[1]s"},
		{"discord", "/app/integrations/discord", discordHost, "https://" + discordHost + "/api/webhooks/%[2]d/%[1]s"},
	}
}

// hook is an endpoint together with its receiver.
type hook struct {
	actor
	outbound
	server         *receiver.Receiver
	component      string
	url, hash, key string // key is the signing secret of a webhook
}

// hookView is an endpoint as the App interface shows it.
type hookView struct {
	DashboardID, URL, URLHash, URLDisplay, Secret string
	Verified, Paused, Locked, Suppressed          bool
	ConsecutiveFailures                           int
	LastSuccessAt                                 *time.Time
	LegacyID                                      int64
}

// hook registers an endpoint of the kind. Its alerts go to <name>@example.com.
func (a actor) hook(kind outbound, servers map[string]*receiver.Receiver, component, name string) *hook {
	a.t.Helper()
	return a.hookFor(name+"@example.com", kind, servers, component, name)
}

func (a actor) hookFor(address string, kind outbound, servers map[string]*receiver.Receiver, component, name string) *hook {
	a.t.Helper()
	h := &hook{actor: a, outbound: kind, server: servers[kind.host], component: component, url: kind.at(name)}
	made := h.send("POST", "/endpoints", map[string]any{
		"dashboardId": a.DashboardID, "url": h.url, "managementEmail": address, "componentIds": []string{component},
	}).expect(a.t, http.StatusCreated).endpoint(a.t)
	if made.URL != h.url || !made.Verified || made.Paused || made.Locked || made.Suppressed || made.ConsecutiveFailures != 0 {
		a.t.Fatalf("created as %+v", made)
	}
	h.hash, h.key = made.URLHash, made.Secret
	return h
}

// send sends a request to a path of the kind.
func (h *hook) send(method, path string, body any) answer {
	h.t.Helper()
	return send(h.t, method, h.BaseURL+h.path+path, h.app(), body)
}

func (a answer) endpoint(t testing.TB) hookView {
	t.Helper()
	var view struct{ Endpoint hookView }
	a.into(t, &view)
	return view.Endpoint
}

// patch changes the endpoint and returns the endpoint in the response.
func (h *hook) patch(members map[string]any) hookView {
	h.t.Helper()
	members["dashboardId"], members["urlHash"] = h.DashboardID, h.hash
	got := h.send("PATCH", "/endpoints", members).expect(h.t, http.StatusOK).endpoint(h.t)
	h.hash = got.URLHash
	return got
}

// listed returns the endpoint's row in the list, and the number of unique URLs of this kind.
func (h *hook) listed() (row hookView, used int, err error) {
	var list struct {
		Endpoints []hookView
		Usage     struct{ UniqueEndpoints int }
	}
	got, err := try(context.Background(), http.MethodGet, h.BaseURL+h.path+"/endpoints?limit=100", h.app(), nil)
	if err != nil || got.status != http.StatusOK {
		return row, 0, fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	got.into(h.t, &list)
	for _, row := range list.Endpoints {
		if row.URLHash == h.hash {
			return row, list.Usage.UniqueEndpoints, nil
		}
	}
	return row, list.Usage.UniqueEndpoints, fmt.Errorf("no endpoint of %s", h.hash)
}

// until waits until check returns true for the endpoint's row.
func (h *hook) until(what string, check func(hookView) bool) hookView {
	h.t.Helper()
	var row hookView
	eventually(h.t, 30*time.Second, h.kind+" "+what, func() (err error) {
		if row, _, err = h.listed(); err == nil && !check(row) {
			err = fmt.Errorf("the endpoint is %+v", row)
		}
		return err
	})
	return row
}

// tell publishes an incident with the title, of which endpoints of this kind are notified, and returns its id.
func (h *hook) tell(title string) string {
	h.t.Helper()
	var made struct{ Event struct{ ID string } }
	send(h.t, http.MethodPost, h.BaseURL+"/app/events", h.app(), map[string]any{
		"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": h.component}}, "notify": map[string]any{h.kind: true},
	}).expect(h.t, http.StatusCreated).into(h.t, &made)
	return made.Event.ID
}

// among returns those requests to the endpoint's URL that contain the text.
func (h *hook) among(all []receiver.Request, text string) (ours []receiver.Request) {
	for _, request := range all {
		if h.takes(request) && bytes.Contains(request.Body, []byte(text)) {
			ours = append(ours, request)
		}
	}
	return ours
}

// takes reports whether the request was sent to the endpoint's URL.
func (h *hook) takes(request receiver.Request) bool {
	u, err := url.Parse(h.url)
	return err == nil && request.Path == u.Path
}

// got waits for n requests that contain the text, and returns them.
func (h *hook) got(text string, n int) []receiver.Request {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 60*time.Second)
	defer cancel()
	all, err := h.server.Wait(ctx, func(all []receiver.Request) bool { return len(h.among(all, text)) >= n })
	if err != nil {
		h.t.Fatalf("waiting for %d requests of %q at the %s endpoint, %d are there: %v", n, text, h.kind, len(h.among(all, text)), err)
	}
	return h.among(all, text)
}

// deliveryLog is a row of the delivery logs.
type deliveryLog struct {
	LogID, SentAt, DeliveryID, Kind, DashboardID, URLHash, URLDisplay, EventID, EventKind, Status string
	ErrorCode, ReplayOf                                                                           *string
	Attempt, MaxAttempts                                                                          int
	HTTPStatus                                                                                    *int
}

// logs returns the delivery logs of this kind that the query selects, newest first.
func (h *hook) logs(query url.Values) (logs []deliveryLog) {
	h.t.Helper()
	query.Set("limit", "7") // so that there are several pages
	for {
		var page struct {
			Logs      []deliveryLog
			NextToken *string
		}
		send(h.t, http.MethodGet, h.BaseURL+"/app/notifications/"+h.kind+"/logs?"+query.Encode(), h.app(), nil).expect(h.t, http.StatusOK).into(h.t, &page)
		logs = append(logs, page.Logs...)
		if page.NextToken == nil {
			return logs
		}
		query.Set("nextToken", *page.NextToken)
	}
}

// logged waits until the delivery logs of the event for the endpoint have these statuses. It returns the logs, newest
// first.
func (h *hook) logged(event string, statuses ...string) []deliveryLog {
	h.t.Helper()
	var logs []deliveryLog
	eventually(h.t, 30*time.Second, h.kind+" logs", func() error {
		logs = h.logs(url.Values{"eventId": {event}, "urlHash": {h.hash}})
		var got []string
		for _, log := range logs {
			got = append(got, log.Status)
		}
		if strings.Join(got, " ") != strings.Join(statuses, " ") {
			return fmt.Errorf("%q instead of %q", got, statuses)
		}
		return nil
	})
	return logs
}

// suppressions returns the list of suppressed URLs of this kind, as JSON objects.
func (h *hook) suppressions() []map[string]any {
	h.t.Helper()
	var list struct{ Entries []map[string]any }
	h.send("GET", "/suppression", nil).expect(h.t, http.StatusOK).into(h.t, &list)
	return list.Entries
}

// invites changes the dashboard so that it offers endpoints of every kind to visitors.
func (a actor) invites() {
	a.t.Helper()
	send(a.t, http.MethodPatch, a.BaseURL+"/app/dashboards/"+a.DashboardID, a.app(),
		map[string]any{"subscriptions": map[string]any{"webhook": true, "teams": true, "gchat": true, "slack": true, "discord": true}}).expect(a.t, http.StatusOK)
}

// asks requests an endpoint, as a visitor of the dashboard does.
func (a actor) asks(kind outbound, name, address string) {
	a.t.Helper()
	send(a.t, http.MethodPost, a.DashboardURL+"/subscribe/"+kind.kind, "",
		map[string]any{"url": kind.at(name), "managementEmail": address}).expect(a.t, http.StatusAccepted)
}
