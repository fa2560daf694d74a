//go:build soak

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// request sends a request through the gateway. It returns false if the request failed, and keeps the failure. A status
// that is not one of want is a failure that no outage explains.
func (s *soak) request(ctx context.Context, gateway, method, path, authorization string, in any, want ...int) (answer, bool) {
	began := time.Now()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	got, err := try(limited, method, "http://"+s.cluster.addresses[gateway]+path, authorization, in)
	page := strings.HasPrefix(path, "/d/")
	s.judge(began, gateway, fmt.Sprintf("%s %s", method, path), page, got, err, want)
	good := err == nil && slices.Contains(want, got.status)
	if !good {
		rest(ctx)
	}
	return got, good
}

func (s *soak) judge(began time.Time, gateway, what string, page bool, got answer, err error, want []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["requests"]++
	switch {
	case err != nil:
		s.failures = append(s.failures, soakFailure{began, time.Now(), gateway, page, what + ": " + err.Error()})
	case got.status >= http.StatusInternalServerError:
		s.failures = append(s.failures, soakFailure{began, time.Now(), gateway, page, fmt.Sprintf("%s: %d %s", what, got.status, got.body)})
	case !slices.Contains(want, got.status):
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %d %s", what, got.status, got.body))
	}
}

// rest waits between two requests of a writer.
func rest(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}

// acknowledge keeps that a write notifies of the event.
func (s *soak) acknowledge(title, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[title]++
	if path != "" {
		s.events[title] = path
	}
	s.counts["updates"]++
}

// forget deletes the oldest events of the writer whose updates have all arrived.
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
		path, told := s.events[title], s.told[title]
		s.mu.Unlock()
		if s.hooks.complete(title, soakHooks) < told {
			continue // a deletion ends its deliveries
		}
		s.mu.Lock()
		delete(s.events, title) // whether a failed deletion took place is unknown
		s.mu.Unlock()
		s.request(ctx, gateway, http.MethodDelete, path, authorization, nil, http.StatusNoContent)
	}
}

// legacyWriter creates an incident, adds an update that does not notify, resolves the incident and deletes an old one.
func (s *soak) legacyWriter(ctx context.Context, gateway, name string) {
	title := "legacy " + name
	got, ok := s.request(ctx, gateway, http.MethodPost, "/api/v1/event/list/", s.legacy(), incident(s.service, title), http.StatusCreated)
	if rest(ctx); !ok {
		return
	}
	var made struct {
		URI string `json:"resource_uri"`
	}
	got.into(s.t, &made)
	s.acknowledge(title, made.URI)
	if _, ok := s.request(ctx, gateway, http.MethodPost, "/api/v1/event/update/", s.legacy(),
		map[string]any{"event": made.URI, "update": "We still look into it."}, http.StatusCreated); ok {
		s.count("legacy updates")
	}
	rest(ctx)
	if _, ok := s.request(ctx, gateway, http.MethodPut, made.URI, s.legacy(), resolved, http.StatusOK); ok {
		s.acknowledge(title, "")
	}
	rest(ctx)
	s.request(ctx, gateway, http.MethodGet, "/api/v1/event/list/?limit=20&order_by=-id", s.legacy(), nil, http.StatusOK)
	s.forget(ctx, gateway, "legacy ", s.legacy())
}

// appWriter creates an incident, adds to its timeline, resolves the incident and deletes an old one.
func (s *soak) appWriter(ctx context.Context, gateway, name string) {
	title, notify := "app "+name, map[string]any{"webhook": true}
	got, ok := s.request(ctx, gateway, http.MethodPost, "/app/events", s.app(), map[string]any{
		"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": s.component}}, "notify": notify,
	}, http.StatusCreated)
	if rest(ctx); !ok {
		return
	}
	var made struct{ Event struct{ ID string } }
	got.into(s.t, &made)
	path := "/app/events/" + made.Event.ID
	s.acknowledge(title, path)
	for _, entry := range []map[string]any{{"message": "We still look into it.", "notify": notify}, {"message": "It is over.", "status": "resolved", "notify": notify}} {
		if _, ok := s.request(ctx, gateway, http.MethodPost, path+"/timeline", s.app(), entry, http.StatusCreated); ok {
			s.acknowledge(title, "")
		}
		rest(ctx)
	}
	s.request(ctx, gateway, http.MethodGet, "/app/events?limit=20&q="+made.Event.ID, s.app(), nil, http.StatusOK)
	s.request(ctx, gateway, http.MethodGet, "/app/notifications/webhook/logs?limit=20&eventId="+made.Event.ID, s.app(), nil, http.StatusOK)
	s.forget(ctx, gateway, "app ", s.app())
}

// inboundWriter triggers, updates and resolves a problem.
func (s *soak) inboundWriter(ctx context.Context, gateway, name string) {
	title := "inbound " + name
	tool := s.tool
	tool.base = "http://" + s.cluster.addresses[gateway]
	for _, message := range []map[string]any{
		{"action": "trigger", "externalId": name, "title": title, "components": []string{s.component}, "message": "It begins."},
		{"action": "update", "externalId": name, "message": "It goes on."},
		{"action": "resolve", "externalId": name, "message": "It is over."},
	} {
		message["notify"] = map[string]any{"webhook": true}
		began := time.Now()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		got, err := tool.try(limited, name+fmt.Sprint(message["action"]), began, message)
		cancel()
		s.judge(began, gateway, fmt.Sprint("inbound ", message["action"]), false, got, err, []int{http.StatusOK})
		if err != nil || got.status != http.StatusOK {
			return
		}
		var made inboundResponse
		got.into(s.t, &made)
		s.acknowledge(title, "/app/events/"+made.EventID)
		rest(ctx)
	}
	s.forget(ctx, gateway, "inbound ", s.app())
}

// churn creates and deletes an endpoint, a subscriber and a component.
func (s *soak) churn(ctx context.Context, gateway, name string) {
	endpoints := "/app/integrations/webhooks/outbound/endpoints"
	if got, ok := s.request(ctx, gateway, http.MethodPost, endpoints, s.app(), map[string]any{
		"dashboardId": s.DashboardID, "url": "https://" + tallyHost + "/churn/" + name, "managementEmail": "ops@example.com", "componentIds": []string{s.other},
	}, http.StatusCreated); ok {
		s.request(ctx, gateway, http.MethodDelete, endpoints, s.app(), map[string]any{"dashboardId": s.DashboardID, "urlHash": got.endpoint(s.t).URLHash}, http.StatusNoContent)
		s.count("endpoints")
	}
	rest(ctx)
	if got, ok := s.request(ctx, gateway, http.MethodPost, "/app/subscribers/email", s.app(),
		map[string]any{"dashboardId": s.DashboardID, "email": name + "@example.com", "componentIds": []string{s.other}, "confirmed": true}, http.StatusCreated); ok {
		var made struct{ Subscriber struct{ ID string } }
		got.into(s.t, &made)
		s.request(ctx, gateway, http.MethodDelete, "/app/subscribers/email/"+made.Subscriber.ID, s.app(), nil, http.StatusNoContent)
		s.count("subscribers")
	}
	rest(ctx)
	if got, ok := s.request(ctx, gateway, http.MethodPost, "/api/v1/service/", s.legacy(), map[string]any{"service_name": "churn " + name}, http.StatusCreated); ok {
		var made struct {
			URI string `json:"resource_uri"`
		}
		got.into(s.t, &made)
		s.request(ctx, gateway, http.MethodDelete, made.URI, s.legacy(), nil, http.StatusNoContent)
		s.count("services")
	}
	rest(ctx)
}

// visitor reads files of the dashboard.
func (s *soak) visitor(ctx context.Context, gateway, _ string) {
	for _, path := range []string{"/", "/history", "/feed.rss", "/api/v2/summary.json", "/api/v1/dashboard/", "/components/" + s.component} {
		s.request(ctx, gateway, http.MethodGet, "/d/"+s.DashboardSlug+path, "", nil, http.StatusOK)
		rest(ctx)
	}
}
