package events_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestScripts runs the scripts of requests and responses. Each script gets an empty service with
// two organizations.
func TestScripts(t *testing.T) {
	broker := startBroker(t)
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		p := start(t, broker)
		return apitest.Target{OpenAPI: documents, Handler: p.door(), Header: http.Header{"Content-Type": {"application/json"}}, Vars: map[string]string{
			"orgA": orgA, "orgB": orgB, "dashA": dashA, "dashB": dashB,
		}}
	})
}

// TestEventIsBounded checks the limit of 1000 updates of an event.
func TestEventIsBounded(t *testing.T) {
	p := start(t, startBroker(t))
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	updates := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"update": "x"}, `, n), ", ") }
	p.must(400, "", "POST", "/api/v1/event/list/", incident+`, "event_update": [`+updates(1001)+`]}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`, "event_update": [`+updates(999)+`]}`)
	p.must(400, "", "PUT", "/api/v1/event/list/1/", `{"event_update": [`+updates(2)+`]}`)
	p.must(201, "", "POST", "/api/v1/event/update/", `{"event": "/api/v1/event/list/1/", "update": "the last"}`)
	p.must(400, "", "POST", "/api/v1/event/update/", `{"event": "/api/v1/event/list/1/", "update": "one more"}`)
	p.must(200, "", "PUT", "/api/v1/event/list/1/", `{"event_update": [{"resource_uri": "/api/v1/event/update/1/", "update": "corrected"}]}`)
	list := p.must(200, "", "GET", "/api/v1/event/update/?limit=1", "")
	if total := list["meta"].(map[string]any)["total_count"]; total != float64(1000) {
		t.Errorf("%v updates", total)
	}
}
