package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// becoming is a double of the App interface, in which a member creates the dashboard acme after the first list of dashboards.
type becoming struct {
	mutex   sync.Mutex
	listed  int
	deleted []string
}

func (b *becoming) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	body := "{}"
	switch at := request.Method + " " + request.URL.Path; {
	case at == "GET /app/dashboards":
		if b.listed++; b.listed > 1 {
			body = `{"dashboards": [{"id": "d", "slug": "acme"}]}`
		}
	case at == "GET /app/dashboards/d":
		body = `{"dashboard": {"id": "d", "slug": "acme"}}`
	case at == "POST /app/components":
		body = `{"component": {"id": "c", "version": 1}}`
	case strings.HasPrefix(at, "DELETE /app/events/import/"):
		body = `{"deleted": 0, "kept": 0, "remaining": 0}`
	case request.Method == http.MethodDelete:
		b.deleted = append(b.deleted, request.URL.Path)
	}
	_, _ = io.WriteString(w, body) // the command reports a lost response
}

// A dashboard that a member has created between the plan and the write is not one of the run, so undo keeps the dashboard.
func TestUndoKeepsADashboardThatAMemberCreatedAfterThePlan(t *testing.T) {
	t.Parallel()
	double := &becoming{}
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	m := newMover(actor{t, credentials{BaseURL: server.URL, AppKey: "key"}})
	page := filepath.Join(t.TempDir(), "page.jsonl")
	content := `{"kind":"dashboard","key":"x:s:page","name":"Acme","slug":"acme"}` + "\n" + `{"kind":"component","key":"x:s:c","name":"Gate"}` + "\n"
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(0, "import", "lines", page, "--dashboard", "acme")
	m.run(0, "import", "undo", m.runs()[0])
	if got := strings.Join(double.deleted, " "); got != "/app/components/c" {
		t.Errorf("undo deleted %s", got)
	}
}

// A subscriber whose creation got no response is updated by the repeated request. Undo deletes the subscriber all the same.
func TestUndoDeletesASubscriberAfterALostResponse(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	deleted := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		body := "{}"
		switch at := request.Method + " " + request.URL.Path; {
		case at == "GET /app/dashboards":
			body = `{"dashboards": [{"id": "d", "slug": "acme"}]}`
		case at == "POST /app/subscribers/email/import":
			var sent struct{ DryRun bool }
			_ = json.NewDecoder(request.Body).Decode(&sent) // else the test fails below
			if body = `{"results": [{"status": "updated", "id": "s"}]}`; sent.DryRun {
				body = `{"results": [{"status": "created"}]}`
			}
		case at == "GET /app/subscribers/email/s":
			body = `{"subscriber": {"id": "s", "source": "import"}}`
		case strings.HasPrefix(at, "DELETE /app/events/import/"):
			body = `{"deleted": 0, "kept": 0, "remaining": 0}`
		case request.Method == http.MethodDelete:
			deleted += request.URL.Path
		}
		_, _ = io.WriteString(w, body) // the command reports a lost response
	}))
	t.Cleanup(server.Close)
	m := newMover(actor{t, credentials{BaseURL: server.URL, AppKey: "key"}})
	page := filepath.Join(t.TempDir(), "page.jsonl")
	content := `{"kind":"dashboard","key":"x:s:page","name":"Acme","slug":"acme"}` + "\n" + `{"kind":"subscriber","key":"x:s:s","channel":"email","address":"ada@example.com","components":null,"state":"confirmed"}` + "\n"
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(0, "import", "lines", page, "--dashboard", "acme", "--only", "subscribers")
	m.run(0, "import", "undo", m.runs()[0])
	if deleted != "/app/subscribers/email/s" {
		t.Errorf("undo deleted %q", deleted)
	}
}

// An endpoint that a member creates after the interruption of a run, whose piece the run had not begun, is not one of the run. So undo
// keeps the endpoint.
func TestUndoKeepsAnEndpointThatAMemberCreatedAfterTheInterruption(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	interrupted, deleted := false, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		body := "{}"
		switch at := request.Method + " " + request.URL.Path; {
		case at == "GET /app/dashboards":
			body = `{"dashboards": [{"id": "d", "slug": "acme"}]}`
		case at == "POST /app/components":
			interrupted = true
			w.WriteHeader(http.StatusInternalServerError)
		case at == "GET /app/integrations/webhooks/outbound/endpoints":
			if body = `{"usage": {"limit": 5}}`; interrupted {
				body = `{"endpoints": [{"dashboardId": "d", "verified": true, "version": 1, "createdAt": "` + time.Now().Format(time.RFC3339Nano) + `"}]}`
			}
		case strings.HasPrefix(at, "DELETE /app/events/import/"):
			body = `{"deleted": 0, "kept": 0, "remaining": 0}`
		case request.Method == http.MethodDelete:
			deleted += request.URL.Path
		}
		_, _ = io.WriteString(w, body) // the command reports a lost response
	}))
	t.Cleanup(server.Close)
	m := newMover(actor{t, credentials{BaseURL: server.URL, AppKey: "key"}})
	page := filepath.Join(t.TempDir(), "page.jsonl")
	content := `{"kind":"dashboard","key":"x:s:page","name":"Acme","slug":"acme"}` + "\n" + `{"kind":"component","key":"x:s:c","name":"Gate"}` + "\n" +
		`{"kind":"endpoint","key":"x:s:h","channel":"webhook","url":"https://example.com/h","managementEmail":"ops@example.com","components":null}` + "\n"
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(2, "import", "lines", page, "--dashboard", "acme", "--only", "components,endpoints")
	m.run(0, "import", "undo", m.runs()[0])
	if deleted != "" {
		t.Errorf("undo deleted %s", deleted)
	}
}
