package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// If the platform is killed right after the response to a write, the audit entry of the write is neither lost nor
// repeated.
func TestKillAfterAResponseKeepsItsAuditEntry(t *testing.T) {
	t.Parallel()
	eachDocuments(t, func(t *testing.T, documents string) {
		p, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, documents)
		c := provision(t, base, "Acme", "ada", "admin", "api")
		uri, component := actor{t, c}.service("Checkout")
		var ids []string
		killed := func(method, path, authorization string, body any, status int) {
			got := send(t, method, base+path, authorization, body)
			p.kill()
			ids = append(ids, got.expect(t, status).header.Get("X-Request-Id"))
			p.start()
			eventually(t, 30*time.Second, "ready again", ready(base))
		}
		killed("PATCH", "/operator/v1/organizations/"+c.OrganizationID, c.operator(), map[string]any{"name": "Acme Inc"}, http.StatusOK)
		killed("PATCH", "/operator/v1/users/"+c.UserID, c.operator(), map[string]any{"roles": []string{"admin", "api", "event"}}, http.StatusOK)
		killed("POST", "/api/v1/event/list/", c.legacy(), incident(uri, "slow"), http.StatusCreated)
		killed("PUT", uri, c.legacy(), map[string]any{"service_name": "Cart"}, http.StatusOK)
		killed("POST", "/api/v1/email/", c.legacy(), map[string]any{"email": "ann@example.com"}, http.StatusCreated)
		killed("POST", "/app/integrations/webhooks/outbound/endpoints", c.app(), map[string]any{
			"dashboardId": c.DashboardID, "url": "https://" + receiverHost + "/1", "managementEmail": "ops@example.com", "componentIds": []string{component},
		}, http.StatusCreated)
		killed("POST", "/api/v1/event/list/", c.legacy(), incident(uri, "slower"), http.StatusCreated)
		const before = 5 // entries of provision and of the creation of the service
		eventually(t, 60*time.Second, "the audit entries", func() error {
			entries, err := auditLog(base, c.app(), "")
			if err != nil {
				return err
			}
			if len(entries) < before+len(ids) {
				return fmt.Errorf("%d entries", len(entries))
			}
			seen := map[string]int{}
			for _, entry := range entries {
				seen[entry.RequestID]++
			}
			for i, id := range ids {
				if seen[id] != 1 {
					t.Errorf("write %d has %d audit entries", i, seen[id])
				}
			}
			return nil
		})
	})
}

// A step of the scheduler leaves one audit entry, with the scheduler as its actor.
func TestSchedulerLeavesAuditEntries(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	c := provision(t, base, "Acme", "ada", "admin", "api")
	_, component := actor{t, c}.service("Checkout")
	at := func(in time.Duration) string { return time.Now().UTC().Add(in).Format(time.RFC3339) }
	var made struct{ Event struct{ ID string } }
	send(t, http.MethodPost, base+"/app/events", c.app(), map[string]any{
		"type": "maintenance", "title": "Move", "scheduledStartAt": at(-time.Minute), "scheduledEndAt": at(time.Hour), "autoStart": true,
		"affectedComponents": []any{map[string]any{"componentId": component}},
	}).expect(t, http.StatusCreated).into(t, &made)
	eventually(t, 30*time.Second, "the entry of the start", func() error {
		entries, err := auditLog(base, c.app(), "entityId="+made.Event.ID)
		if err != nil || len(entries) < 2 {
			return fmt.Errorf("%d entries, %w", len(entries), err)
		}
		entry := entries[0]
		if len(entries) > 2 || entry.Actor.Type != "scheduler" || entry.Surface != "scheduler" || entry.Action != "event.update" || entry.RequestID+entry.IP != "" ||
			!slices.Contains(entry.ChangedFields, "status") || !strings.Contains(string(entry.After), `"status":"started"`) {
			t.Errorf("%d entries, the newest %s", len(entries), entry.text)
		}
		return nil
	})
}

// If concurrent changes of an event are stored in one write, each keeps its own origin in the audit log.
func TestConcurrentChangesOfAnEventKeepTheirActors(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	ada := provision(t, base, "Acme", "ada", "admin", "api")
	members := []credentials{ada, addUser(t, ada, "bob", "api"), addUser(t, ada, "eve", "api"), addUser(t, ada, "tom", "api")}
	uri, _ := actor{t, ada}.service("Checkout")
	var event struct {
		URI string `json:"resource_uri"`
	}
	send(t, http.MethodPost, base+"/api/v1/event/list/", ada.legacy(), incident(uri, "slow")).expect(t, http.StatusCreated).into(t, &event)
	type sent struct{ user, text string }
	var mu sync.Mutex
	byRequest := map[string]sent{}
	var writers sync.WaitGroup
	for n := range 32 {
		writers.Go(func() {
			member, text := members[n%len(members)], fmt.Sprintf("update %d", n)
			got, err := try(t.Context(), http.MethodPost, base+"/api/v1/event/update/", member.legacy(), map[string]any{"event": event.URI, "update": text})
			if err != nil || got.status != http.StatusCreated {
				t.Errorf("%d %s %v", got.status, got.body, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			byRequest[got.header.Get("X-Request-Id")] = sent{member.UserID, text}
		})
	}
	writers.Wait()
	var entries []auditEntry
	eventually(t, 60*time.Second, "the audit entries", func() (err error) {
		if entries, err = auditLog(base, ada.app(), "action=event.timeline.create"); err == nil && len(entries) < len(byRequest) {
			err = fmt.Errorf("%d entries", len(entries))
		}
		return err
	})
	for _, entry := range entries {
		var after struct{ Timeline []struct{ Message string } }
		if err := json.Unmarshal(entry.After, &after); err != nil {
			t.Fatal(err)
		}
		want := byRequest[entry.RequestID]
		delete(byRequest, entry.RequestID)
		if len(after.Timeline) != 1 || after.Timeline[0].Message != want.text || entry.Actor.ID != want.user || !slices.Equal(entry.ChangedFields, []string{"timeline"}) {
			t.Errorf("%+v left %s", want, entry.text)
		}
	}
	if len(byRequest) > 0 {
		t.Errorf("writes without an entry: %v", byRequest)
	}
}
