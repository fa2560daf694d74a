package legacy_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fuzzed returns a server with a service and an event.
func fuzzed(f *testing.F) http.Handler {
	f.Helper()
	handler := newHandler(newWorld(f), slog.New(slog.DiscardHandler))
	ask(f, handler, http.MethodPost, "/api/v1/service/", `{"service_name": "API"}`, http.StatusCreated)
	ask(f, handler, http.MethodPost, "/api/v1/event/list/", soundEvent, http.StatusCreated)
	return handler
}

const soundEvent = `{"type": "/api/v1/type/1/", "status": {"status": "resolved"}, "description": "d", "start": "2026-01-02T03:04:05", "event_service": ["/api/v1/service/1/"]}`

// ask sends a request. It demands one of the statuses, and for an error a JSON body with a text.
func ask(t testing.TB, handler http.Handler, method, target, body string, statuses ...int) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://example.com/", strings.NewReader(body))
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?") // as it came, however badly escaped
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	content, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range statuses {
		if w.Code == status {
			checkBody(t, w.Code, content)
			return w.Code, string(content)
		}
	}
	t.Fatalf("%s %q %q: %d %s", method, target, body, w.Code, content)
	return 0, ""
}

func checkBody(t testing.TB, status int, content []byte) {
	t.Helper()
	var response map[string]any
	if err := json.Unmarshal(content, &response); err != nil {
		t.Fatalf("%d with %q: %v", status, content, err)
	}
	if text, ok := response["error"].(string); status >= http.StatusBadRequest && (!ok || text == "") {
		t.Fatalf("%d without an error: %s", status, content)
	}
}

func FuzzFilters(f *testing.F) {
	for _, seed := range []string{
		"", "limit=0&offset=5", "type__type=incident&status__status__in=resolved,started", "order_by=-start&order_by=id", "event_service__service__service_name__icontains=a",
		"start__range=2026-01-01T00:00:00,2026-01-03T00:00:00", "id__in=1,2&id__in=3", "severity__isnull=true", "event_service=/api/v1/event/service/1/", "%zz=1&=&&%", "a=%ff&limit=-1",
		"description__startswith=%00", "status__id__gt=9223372036854775807", "limit=9223372036854775807&offset=9223372036854775807", "description__iendswith=%F0%9F%98%80", "end=none&api_key=x&username=y",
	} {
		f.Add(seed)
	}
	handler := fuzzed(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/api/v1/event/list/", "/api/v1/service/", "/api/v1/event/update/", "/api/v1/status/"} {
			status, body := ask(t, handler, http.MethodGet, path+"?"+query, "", http.StatusOK, http.StatusBadRequest)
			if status != http.StatusOK {
				continue
			}
			var list struct {
				Meta struct{ Next, Previous *string }
			}
			if err := json.Unmarshal([]byte(body), &list); err != nil {
				t.Fatal(err)
			}
			// A link leads to a list again.
			for _, link := range []*string{list.Meta.Next, list.Meta.Previous} {
				if link != nil {
					ask(t, handler, http.MethodGet, *link, "", http.StatusOK)
				}
			}
		}
	})
}

func FuzzRelated(f *testing.F) {
	for _, seed := range []string{
		`"/api/v1/type/1/"`, `"http://x/api/v1/type/1"`, `{"resource_uri": "/api/v1/type/2/"}`, `{"id": 1}`, `{"pk": "1"}`, `{"type": "incident"}`, `{"service_name": "x"}`,
		`1`, `null`, `""`, `[]`, `{"id": 1e3}`, `{"id": -1}`, `"http://[::1"`, `{"resource_uri": {}}`, `"/api/v1/type/99999999999999999999/"`, `"/api/v1/type/1/\u0000"`,
	} {
		f.Add(seed)
	}
	handler := fuzzed(f)
	f.Fuzz(func(t *testing.T, value string) {
		if !json.Valid([]byte(value)) {
			return
		}
		event := func(typ, status, severity, service string) string {
			return `{"type": ` + typ + `, "status": ` + status + `, "severity": ` + severity + `, "description": "d", "start": "2026-01-02T03:04:05", "event_service": [` + service + `]}`
		}
		for _, body := range []string{
			event(value, `{"id": 1}`, `null`, `"/api/v1/service/1/"`), event(`{"id": 1}`, value, `null`, `"/api/v1/service/1/"`),
			event(`{"id": 1}`, `{"id": 1}`, value, `"/api/v1/service/1/"`), event(`{"id": 1}`, `{"id": 1}`, `null`, value),
			event(`{"id": 1}`, `{"id": 1}`, `null`, `{"service": `+value+`}`),
		} {
			ask(t, handler, http.MethodPost, "/api/v1/event/list/", body, http.StatusCreated, http.StatusBadRequest)
		}
	})
}

// A refused body stores no event.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		soundEvent, `{}`, `[]`, `null`, ``, `{"type": `, strings.Repeat(`{"notifications": `, 50) + `{}` + strings.Repeat(`}`, 50),
		strings.TrimSuffix(soundEvent, "}") + `, "end": "2025-01-01T00:00:00"}`, strings.TrimSuffix(soundEvent, "}") + `, "notifications": {"email": {"enabled": 1, "email_subject": "x"}, "teams": {"enabled": false, "channels": [1, "2"]}}}`,
		strings.TrimSuffix(soundEvent, "}") + `, "event_service": [{"resource_uri": "/api/v1/event/service/1/"}, {"service": {"id": 1}}]}`, "{\"description\": \"\xff\x00\"}", `{"start": 1e400, "auto": "TRUE", "end": null}`,
	} {
		f.Add(seed)
	}
	handler := fuzzed(f)
	f.Fuzz(func(t *testing.T, body string) {
		before := countEvents(t, handler)
		status, created := ask(t, handler, http.MethodPost, "/api/v1/event/list/", body, http.StatusCreated, http.StatusBadRequest)
		if after := countEvents(t, handler); after != before && status != http.StatusCreated {
			t.Fatalf("%q was refused and left %d events more", body, after-before)
		}
		_, sound := ask(t, handler, http.MethodPost, "/api/v1/event/list/", soundEvent, http.StatusCreated)
		ask(t, handler, http.MethodPut, uriOf(t, sound), body, http.StatusOK, http.StatusBadRequest)
		remove(t, handler, uriOf(t, sound)) // so that it stays as fast as it starts
		if status == http.StatusCreated {
			remove(t, handler, uriOf(t, created))
		}
	})
}

func uriOf(t testing.TB, body string) string {
	t.Helper()
	var object struct {
		URI string `json:"resource_uri"`
	}
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatal(err)
	}
	return object.URI
}

func remove(t testing.TB, handler http.Handler, uri string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, uri, nil))
	if w.Code != http.StatusNoContent {
		t.Fatalf("DELETE %s: %d %s", uri, w.Code, w.Body)
	}
}

func countEvents(t testing.TB, handler http.Handler) int64 {
	t.Helper()
	_, body := ask(t, handler, http.MethodGet, "/api/v1/event/list/?limit=1", "", http.StatusOK)
	var list struct {
		Meta struct {
			Total int64 `json:"total_count"`
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return list.Meta.Total
}
