//go:build soak

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// request sends a request through the gateway and decodes the response into out, unless out is nil. If the request
// failed, it records the failure and returns false. No outage explains a 4xx or a response that cannot be decoded.
func (s *soak) request(ctx context.Context, gateway, method, path, authorization string, in any, want int, out any) bool {
	return s.judge(ctx, gateway, method+" "+path, want, out, func(ctx context.Context) (answer, error) {
		return try(ctx, method, "http://"+s.cluster.addresses[gateway]+path, authorization, in)
	})
}

// judge does the same for a request that send sends.
func (s *soak) judge(ctx context.Context, gateway, request string, want int, out any, send func(context.Context) (answer, error)) bool {
	began := time.Now()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	got, err := send(limited)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["requests"]++
	switch {
	case err != nil:
		s.failures = append(s.failures, soakFailure{began, time.Now(), gateway, request, err.Error()})
	case got.status >= http.StatusInternalServerError:
		s.failures = append(s.failures, soakFailure{began, time.Now(), gateway, request, fmt.Sprintf("%d %s", got.status, got.body)})
	case got.status != want, out != nil && json.Unmarshal(got.body, out) != nil:
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %d %s", request, got.status, got.body))
	default:
		return true
	}
	return false
}

// rest waits for the pause between two requests of a writer.
func rest(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}

// acknowledge records that the platform acknowledged a write to an event that notifies. The writes to an event are
// numbered from 1. After a failed write, the writer stops using the event, because the number of the next write is
// unknown.
func (s *soak) acknowledge(title, path string, sequence int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates[title] = append(s.updates[title], sequence)
	s.events[title] = path
	s.counts["updates"]++
}

// forget deletes the oldest events of the writer, if all their updates have arrived.
func (s *soak) forget(ctx context.Context, gateway, prefix, authorization string) {
	s.mu.Lock()
	var titles []string
	for title := range s.events {
		if strings.HasPrefix(title, prefix) {
			titles = append(titles, title)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(titles, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, '-'):], b[strings.LastIndexByte(b, '-'):])
	})
	for _, title := range titles[:max(0, len(titles)-soakKeeps)] {
		s.mu.Lock()
		path, updates := s.events[title], s.updates[title]
		s.mu.Unlock()
		if slices.ContainsFunc(updates, func(sequence int64) bool { return s.hooks.reached(title, sequence) < soakHooks }) {
			continue // to delete an event ends its deliveries
		}
		s.mu.Lock()
		delete(s.events, title) // after a failed deletion, the event may or may not exist
		s.mu.Unlock()
		s.request(ctx, gateway, http.MethodDelete, path, authorization, nil, http.StatusNoContent, nil)
	}
}

// legacyWriter creates an incident, adds an update that does not notify, resolves the incident, and deletes an old
// incident.
func (s *soak) legacyWriter(ctx context.Context, gateway, name string) {
	defer rest(ctx)
	title := "legacy " + name
	var made struct {
		URI string `json:"resource_uri"`
	}
	if !s.request(ctx, gateway, http.MethodPost, "/api/v1/event/list/", s.legacy(), incident(s.service, title), http.StatusCreated, &made) {
		return
	}
	s.acknowledge(title, made.URI, 1)
	rest(ctx)
	quiet := map[string]any{"event": made.URI, "update": "We still look into it."}
	if !s.request(ctx, gateway, http.MethodPost, "/api/v1/event/update/", s.legacy(), quiet, http.StatusCreated, nil) {
		return
	}
	s.count("legacy updates")
	rest(ctx)
	if !s.request(ctx, gateway, http.MethodPut, made.URI, s.legacy(), resolved, http.StatusOK, nil) {
		return
	}
	s.acknowledge(title, made.URI, 3)
	rest(ctx)
	s.request(ctx, gateway, http.MethodGet, "/api/v1/event/list/?limit=20&order_by=-id", s.legacy(), nil, http.StatusOK, nil)
	s.forget(ctx, gateway, "legacy ", s.legacy())
}

// appWriter creates an incident, adds timeline entries, resolves the incident, and deletes an old incident.
func (s *soak) appWriter(ctx context.Context, gateway, name string) {
	defer rest(ctx)
	title, notify := "app "+name, map[string]any{"webhook": true}
	var made struct{ Event struct{ ID string } }
	if !s.request(ctx, gateway, http.MethodPost, "/app/events", s.app(), map[string]any{
		"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": s.component}}, "notify": notify,
	}, http.StatusCreated, &made) {
		return
	}
	path := "/app/events/" + made.Event.ID
	s.acknowledge(title, path, 1)
	for n, entry := range []map[string]any{{"message": "We still look into it.", "notify": notify}, {"message": "It is over.", "status": "resolved", "notify": notify}} {
		rest(ctx)
		if !s.request(ctx, gateway, http.MethodPost, path+"/timeline", s.app(), entry, http.StatusCreated, nil) {
			return
		}
		s.acknowledge(title, path, int64(n)+2)
	}
	rest(ctx)
	s.request(ctx, gateway, http.MethodGet, "/app/events?limit=20&q="+made.Event.ID, s.app(), nil, http.StatusOK, nil)
	s.request(ctx, gateway, http.MethodGet, "/app/notifications/webhook/logs?limit=20&eventId="+made.Event.ID, s.app(), nil, http.StatusOK, nil)
	s.forget(ctx, gateway, "app ", s.app())
}

// inboundWriter opens, updates and resolves a problem with messages of a monitoring tool.
func (s *soak) inboundWriter(ctx context.Context, gateway, name string) {
	defer rest(ctx)
	title := "inbound " + name
	tool := s.tool
	tool.base = "http://" + s.cluster.addresses[gateway]
	for n, message := range []map[string]any{
		{"action": "trigger", "externalId": name, "title": title, "components": []string{s.component}, "message": "It begins."},
		{"action": "update", "externalId": name, "message": "It goes on."},
		{"action": "resolve", "externalId": name, "message": "It is over."},
	} {
		message["notify"] = map[string]any{"webhook": true}
		var made inboundResponse
		if !s.judge(ctx, gateway, "POST /public/webhooks/inbound", http.StatusOK, &made, func(ctx context.Context) (answer, error) {
			return tool.try(ctx, name+fmt.Sprint(message["action"]), time.Now(), message)
		}) {
			return
		}
		s.acknowledge(title, "/app/events/"+made.EventID, int64(n)+1)
		rest(ctx)
	}
	s.forget(ctx, gateway, "inbound ", s.app())
}

// churn creates and deletes an endpoint, a subscriber and a component.
func (s *soak) churn(ctx context.Context, gateway, name string) {
	var endpoint struct{ Endpoint hookView }
	if s.request(ctx, gateway, http.MethodPost, soakEndpoints, s.app(), map[string]any{
		"dashboardId": s.DashboardID, "url": "https://" + tallyHost + "/churn/" + name, "managementEmail": "ops@example.com", "componentIds": []string{s.other},
	}, http.StatusCreated, &endpoint) {
		s.request(ctx, gateway, http.MethodDelete, soakEndpoints, s.app(),
			map[string]any{"dashboardId": s.DashboardID, "urlHash": endpoint.Endpoint.URLHash}, http.StatusNoContent, nil)
		s.count("endpoints")
	}
	rest(ctx)
	var made struct{ Subscriber struct{ ID string } }
	if s.request(ctx, gateway, http.MethodPost, "/app/subscribers/email", s.app(),
		map[string]any{"dashboardId": s.DashboardID, "email": name + "@example.com", "componentIds": []string{s.other}, "confirmed": true}, http.StatusCreated, &made) {
		s.request(ctx, gateway, http.MethodDelete, "/app/subscribers/email/"+made.Subscriber.ID, s.app(), nil, http.StatusNoContent, nil)
		s.count("subscribers")
	}
	rest(ctx)
	var service struct {
		URI string `json:"resource_uri"`
	}
	if s.request(ctx, gateway, http.MethodPost, "/api/v1/service/", s.legacy(), map[string]any{"service_name": "churn " + name}, http.StatusCreated, &service) {
		s.request(ctx, gateway, http.MethodDelete, service.URI, s.legacy(), nil, http.StatusNoContent, nil)
		s.count("services")
	}
	rest(ctx)
}

// visitor reads files of the dashboard.
func (s *soak) visitor(ctx context.Context, gateway, _ string) {
	for _, path := range []string{"/", "/history", "/feed.rss", "/api/v2/summary.json", "/api/v1/dashboard/", "/components/" + s.component} {
		s.request(ctx, gateway, http.MethodGet, "/d/"+s.DashboardSlug+path, "", nil, http.StatusOK, nil)
		rest(ctx)
	}
}
