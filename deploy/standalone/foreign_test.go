package main_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// This test calls every App operation with two keys that must not reach any record: the key of an admin of another
// organization, with the ids of our records, and the key of a disabled admin of our organization.
func TestNoOperationServesForeignersAndDisabledUsers(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=100000")...)
	ours := actor{t, provision(t, base, "Acme", "ours", "admin", "api")}
	theirs := provision(t, base, "Other", "theirs", "admin", "api")
	disabled := addUser(t, ours.credentials, "disabled", "admin", "api")
	send(t, http.MethodPatch, base+"/operator/v1/users/"+disabled.UserID, ours.operator(), map[string]any{"disabled": true}).expect(t, http.StatusOK)

	records := ownRecords(ours, base)
	before := records.read(t, base, ours.app())
	// The ids in the examples of request bodies are replaced by ids of our records.
	example := strings.NewReplacer(
		"01890a5d-ac96-774b-bcce-b302099a8060", ours.DashboardID, "01890a5d-ac96-774b-bcce-b302099a8061", records.ids["components"],
		"https://hooks.example.com", "https://"+receiverHost)
	walked := 0
	for _, operation := range declared.Operations() {
		if operation.Surface() != passport.App || operation.Access != web.Members {
			continue // keys cannot call the operations of the console
		}
		walked++
		path := base + records.fill(t, operation.Path)
		var body any
		if operation.Example.Request != "" {
			body = example.Replace(operation.Example.Request)
		}
		switch operation.ID { // these operations also need the time of the log
		case "getDeliveryLog":
			path += "?sentAt=" + records.sentAt
		case "replayDelivery":
			body = `{"sentAt": "` + records.sentAt + `"}`
		}
		t.Run(operation.Method+" "+operation.Path, func(t *testing.T) {
			got := send(t, operation.Method, path, theirs.app(), body)
			// A run is no record: to undo a run of another organization does nothing.
			if ofRecord := strings.NewReplacer("{kind}", "", "{runId}", "").Replace(operation.Path); strings.Contains(ofRecord, "{") && got.status != http.StatusNotFound {
				t.Errorf("a key of another organization got %d %s", got.status, got.body)
			}
			for kind, id := range records.ids {
				if got.status < http.StatusBadRequest && strings.Contains(string(got.body), id) {
					t.Errorf("a key of another organization sees one of our %s: %s", kind, got.body)
				}
			}
			expectRefused(t, send(t, operation.Method, path, disabled.app(), body))
		})
	}
	if walked == 0 {
		t.Error("no operation was walked")
	}
	var undone struct{ Deleted int }
	send(t, http.MethodDelete, base+"/app/events/import/"+records.ids["runId"], ours.app(), nil).expect(t, http.StatusOK).into(t, &undone)
	if undone.Deleted != 1 {
		t.Errorf("%d events of our import were left", undone.Deleted)
	}
	for path, was := range before {
		if now := string(send(t, http.MethodGet, base+path, ours.app(), nil).expect(t, http.StatusOK).body); now != was {
			t.Errorf("%s was\n%s\nand is now\n%s", path, was, now)
		}
	}
	if len(r.Requests()) != 0 {
		t.Errorf("our receiver was notified %d times", len(r.Requests()))
	}
}

// ownedRecords contains the id of one record of each kind that a path can name.
type ownedRecords struct {
	ids    map[string]string
	sentAt string // time of the delivery log
}

func ownRecords(a actor, base string) ownedRecords {
	service, component := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/ours", component)
	body := incident(service, "only ours")
	body["event_update"] = []any{map[string]any{"update": "we are on it"}}
	body["notifications"] = map[string]any{"email": map[string]any{"enabled": true}}
	send(a.t, http.MethodPost, base+"/api/v1/subscribers/email/", a.legacy(), map[string]any{
		"email": map[string]any{"email": "ours@example.com"}, "service": service, "confirmed": true,
	}).expect(a.t, http.StatusCreated)
	send(a.t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), body).expect(a.t, http.StatusCreated)
	var components struct {
		Components []struct{ ActiveEventIDs []string }
	}
	send(a.t, http.MethodGet, base+"/app/components", a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &components)
	event := components.Components[0].ActiveEventIDs[0]
	var subscribers struct{ Subscribers []struct{ ID string } }
	send(a.t, http.MethodGet, base+"/app/subscribers/email", a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &subscribers)
	var note struct{ Note struct{ NoteID string } }
	send(a.t, http.MethodPost, base+"/app/events/"+event+"/notes", a.app(), map[string]any{"note": "internal"}).expect(a.t, http.StatusCreated).into(a.t, &note)
	var shown struct {
		Event struct{ Timeline []struct{ StatusID string } }
	}
	send(a.t, http.MethodGet, base+"/app/events/"+event, a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &shown)
	var template struct{ Template struct{ ID string } }
	send(a.t, http.MethodPost, base+"/app/templates", a.app(), map[string]any{"kind": "update", "name": "Ours"}).expect(a.t, http.StatusCreated).into(a.t, &template)
	run := topic.NewID()
	send(a.t, http.MethodPost, base+"/app/events/import", a.app(), map[string]any{"dashboardId": a.DashboardID, "runId": run, "events": []any{
		map[string]any{"key": "ours", "type": "incident", "title": "Imported", "status": "resolved", "startAt": "2025-01-31T09:30:00Z", "endAt": "2025-01-31T10:00:00Z"},
	}}).expect(a.t, http.StatusOK)
	key, _, _ := strings.Cut(a.AppKey, ":")
	inboundKey, _ := a.signingKey("Alertmanager")
	var sent struct {
		Logs []struct{ LogID, SentAt, Status string }
	}
	eventually(a.t, 30*time.Second, "the log of the mail about the event", func() error {
		send(a.t, http.MethodGet, base+"/app/notifications/email/logs?eventId="+event, a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &sent)
		if len(sent.Logs) != 1 || sent.Logs[0].Status != "delivered" {
			return fmt.Errorf("the logs are %+v", sent.Logs)
		}
		return nil
	})
	return ownedRecords{sentAt: sent.Logs[0].SentAt, ids: map[string]string{
		"logId":      sent.Logs[0].LogID,
		"dashboards": a.DashboardID, "components": component, "events": event, "subscribers": subscribers.Subscribers[0].ID,
		"statusId": shown.Event.Timeline[0].StatusID, "noteId": note.Note.NoteID, "keyId": key, "inboundKeyId": inboundKey, "runId": run,
		"users": a.UserID, "templates": template.Template.ID,
	}}
}

// fill returns the path with the ids of the records. If the path names a kind of record that ownedRecords does not
// contain, the test fails.
func (o ownedRecords) fill(t *testing.T, path string) string {
	t.Helper()
	path = strings.ReplaceAll(path, "{kind}", "email") // the name of a kind, not an id
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(path, func(parameter string) string {
		kind := strings.Trim(parameter, "{}")
		switch {
		case kind == "id":
			kind = strings.Split(path, "/")[2]
		case strings.Contains(path, "/inbound/keys/"):
			kind = "inboundKeyId"
		}
		id, there := o.ids[kind]
		if !there {
			t.Fatalf("%s: ownRecords has no record for %s", path, parameter)
		}
		return id
	})
}

// read returns the responses that the owner gets for each record, by path.
func (o ownedRecords) read(t *testing.T, base, authorization string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, path := range []string{
		"/app/dashboards/" + o.ids["dashboards"], "/app/events/" + o.ids["events"], "/app/components",
		"/app/integrations/webhooks/outbound/endpoints", "/app/integrations/webhooks/inbound/keys", "/app/users", "/app/notifications/email/logs?eventId=" + o.ids["events"], "/app/subscribers/email/" + o.ids["subscribers"],
	} {
		texts[path] = string(send(t, http.MethodGet, base+path, authorization, nil).expect(t, http.StatusOK).body)
	}
	return texts
}
