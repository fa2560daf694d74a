package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// page is the response of a legacy list or of a public dashboard.
type page struct {
	Meta struct {
		Total int     `json:"total_count"`
		Next  *string `json:"next"`
	} `json:"meta"`
	Objects []map[string]any `json:"objects"`
}

// actor uses the platform through its HTTP interfaces.
type actor struct {
	t testing.TB
	credentials
}

// service creates a service through the legacy interface. It returns the resource_uri and
// the uuid in the App interface.
func (a actor) service(name string) (uri, id string) {
	a.t.Helper()
	var made struct {
		URI string `json:"resource_uri"`
	}
	send(a.t, http.MethodPost, a.BaseURL+"/api/v1/service/", a.legacy(), map[string]any{"service_name": name}).
		expect(a.t, http.StatusCreated).into(a.t, &made)
	next := ""
	for {
		var list struct {
			Components []struct{ ID, Name string }
			NextToken  *string
		}
		send(a.t, http.MethodGet, a.BaseURL+"/app/components?limit=100"+next, a.app(), nil).
			expect(a.t, http.StatusOK).into(a.t, &list)
		for _, component := range list.Components {
			if component.Name == name {
				return made.URI, component.ID
			}
		}
		if list.NextToken == nil {
			a.t.Fatalf("the service %q is not among the components", name)
		}
		next = "&nextToken=" + *list.NextToken
	}
}

// endpoint registers a webhook endpoint and returns its signing secret.
func (a actor) endpoint(url string, components ...string) string {
	a.t.Helper()
	var made struct {
		Endpoint struct{ URL, Secret string }
	}
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/outbound/endpoints", a.app(), map[string]any{
		"dashboardId": a.DashboardID, "url": url, "managementEmail": "ops@example.com", "componentIds": components,
	}).expect(a.t, http.StatusCreated).into(a.t, &made)
	if made.Endpoint.URL != url {
		a.t.Fatalf("the create shows the url as %q", made.Endpoint.URL)
	}
	return made.Endpoint.Secret
}

func incident(service, description string) map[string]any {
	return map[string]any{
		"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": description,
		"start": time.Now().UTC().Format("2006-01-02T15:04:05"), "event_service": []any{map[string]any{"service": service}},
		"notifications": map[string]any{"webhook": map[string]any{"enabled": true}},
	}
}

var resolved = map[string]any{
	"status":        "/api/v1/status/3/",
	"notifications": map[string]any{"webhook": map[string]any{"enabled": true}},
}

// row returns the status of the service on the public dashboard.
func (a actor) row(name string) (string, error) {
	got, err := try(context.Background(), http.MethodGet, a.DashboardURL+"/api/v1/dashboard/", "", nil)
	if err != nil {
		return "", err
	}
	var list page
	if err := json.Unmarshal(got.body, &list); err != nil {
		return "", fmt.Errorf("%d %s: %w", got.status, got.body, err)
	}
	for _, row := range list.Objects {
		if row["service_name"] == name {
			return row["status"].(string), nil
		}
	}
	return "", fmt.Errorf("no row for %q", name)
}

func (a actor) expectRow(name, status string) {
	a.t.Helper()
	eventually(a.t, 30*time.Second, "the dashboard row of "+name, func() error {
		got, err := a.row(name)
		if err == nil && got != status {
			err = fmt.Errorf("%q instead of %q", got, status)
		}
		return err
	})
}

// payload is the part of a request that the test receivers read.
type payload struct {
	ID       string
	Kind     string
	Sequence int64
	Event    struct {
		ID, Title, Status  string
		AffectedComponents []struct{ ID, Name string }
	}
	Dashboard struct{ ID, Name, URL string }
}

func read(t testing.TB, request receiver.Request) payload {
	t.Helper()
	var p payload
	if err := json.Unmarshal(request.Body, &p); err != nil {
		t.Fatalf("%s: %v", request.Body, err)
	}
	return p
}

func arrived(t testing.TB, r *receiver.Receiver, n int) []receiver.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	requests, err := r.Wait(ctx, func(all []receiver.Request) bool { return len(all) >= n })
	if err != nil {
		t.Fatalf("waiting for %d requests: %v", n, err)
	}
	return requests
}

// tour follows the README's tour, from the creation of a service to the resolved incident.
func tour(t testing.TB, c credentials, r *receiver.Receiver) {
	t.Helper()
	a := actor{t, c}
	uri, id := a.service("Checkout")
	signing := a.endpoint("https://"+receiverHost+"/hooks/1", id)
	var event struct {
		URI string `json:"resource_uri"`
	}
	send(t, http.MethodPost, c.BaseURL+"/api/v1/event/list/", c.legacy(), incident(uri, "Checkout is slow")).
		expect(t, http.StatusCreated).into(t, &event)

	first := arrived(t, r, 1)[0]
	if err := first.Verify(signing); err != nil {
		t.Fatalf("the signature does not verify: %v", err)
	}
	got := read(t, first)
	if got.Kind != "incident.created" || got.ID != first.ID() || len(got.Event.AffectedComponents) != 1 ||
		got.Event.AffectedComponents[0].Name != "Checkout" || got.Dashboard.ID != c.DashboardID {
		t.Fatalf("not the incident: %s", first.Body)
	}
	a.expectRow("Checkout", "active incident")

	send(t, http.MethodPut, c.BaseURL+event.URI, c.legacy(), resolved).expect(t, http.StatusOK)
	second := arrived(t, r, 2)[1]
	if err := second.Verify(signing); err != nil {
		t.Fatalf("the second signature does not verify: %v", err)
	}
	if got := read(t, second); got.Kind != "incident.resolved" || got.Event.Status != "resolved" {
		t.Fatalf("not the resolution: %s", second.Body)
	}
	a.expectRow("Checkout", "operational")
}

// expectNoMore posts one more incident and waits until it arrives. Any further requests about earlier incidents would
// have arrived by then.
func expectNoMore(t testing.TB, c credentials, r *receiver.Receiver, so int) {
	t.Helper()
	a := actor{t, c}
	uri, id := a.service("Marker")
	a.endpoint("https://"+receiverHost+"/hooks/marker", id)
	send(t, http.MethodPost, c.BaseURL+"/api/v1/event/list/", c.legacy(), incident(uri, "marker")).expect(t, http.StatusCreated)
	for _, request := range arrived(t, r, so+1)[so:] {
		if request.Path != "/hooks/marker" {
			t.Errorf("another request arrived: %s", request.Body)
		}
	}
}

func TestTheTourWorksOnThePlatformAsOneProcess(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, base := started(t, env...)
	c := seeded(t, p)
	if c.BaseURL != base {
		t.Fatalf("the credentials name %q, it is at %q", c.BaseURL, base)
	}
	tour(t, c, r)
	expectNoMore(t, c, r, 2)
	if code := p.stop(); code != 0 {
		t.Errorf("Ctrl-C ends it with code %d", code)
	}
}

func TestTheTourWorksOnSeparateProcessesWithDeliveryTwice(t *testing.T) {
	t.Parallel()
	eachDocuments(t, func(t *testing.T, documents string) {
		r, env := startReceiver(t)
		cluster := startCluster(t, append(env, documents)...)
		c := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
		tour(t, c, r)
		expectNoMore(t, c, r, 2)
		for _, name := range cluster.names {
			if code := cluster.processes[name].stop(); code != 0 {
				t.Errorf("%s ends with code %d on SIGTERM", name, code)
			}
		}
	})
}

// seeded waits for the credentials of the first start and returns them.
func seeded(t testing.TB, p *process) credentials {
	t.Helper()
	file := filepath.Join(dataFolder(p), "credentials.json")
	eventually(t, 60*time.Second, "credentials", func() error { _, err := os.Stat(file); return err })
	var c credentials
	readJSON(t, file, &c)
	return c
}

// dataFolder returns the data folder of the platform as one process.
func dataFolder(p *process) string {
	for _, setting := range p.env {
		if folder, found := strings.CutPrefix(setting, "BELLBUOY_DATA="); found {
			return folder
		}
	}
	p.t.Fatal("no data folder")
	return ""
}
