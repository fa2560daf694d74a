package app

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// The query of a call may have the address of a person, for which a member searches. No span has it.
func TestTheSpanOfACallHasNoQuery(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	spans := tracetest.NewInMemoryExporter()
	process := boot.Process{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), Propagator: propagation.TraceContext{}}
	client := New(map[string]string{"subscribers": server.URL}, passport.NewSigner(strings.Repeat("s", 32), time.Now), process)
	caller := client.For(passport.Passport{Organization: "o"}, http.Header{})
	if _, err := caller.Subscribers(t.Context(), Email, url.Values{"q": {"ann@example.com"}}); err != nil || asked != "q=ann%40example.com" {
		t.Fatalf("%q, %v", asked, err)
	}
	server.Close()
	if _, err := caller.Subscribers(t.Context(), Email, url.Values{"q": {"ann@example.com"}}); err == nil {
		t.Error("a call without a service succeeds")
	}
	found := spans.GetSpans()
	for _, span := range found {
		for _, a := range span.Attributes {
			if strings.Contains(a.Value.Emit(), "ann") {
				t.Errorf("%s is %s", a.Key, a.Value.Emit())
			}
			if a.Key == "url.full" && a.Value.AsString() != server.URL+"/app/subscribers/email" {
				t.Errorf("%s is %s", a.Key, a.Value.AsString())
			}
		}
		for _, event := range span.Events {
			for _, a := range event.Attributes {
				if strings.Contains(a.Value.Emit(), "ann") {
					t.Errorf("%s of an event is %s", a.Key, a.Value.Emit())
				}
			}
		}
		if strings.Contains(span.Name+span.Status.Description, "ann") {
			t.Errorf("the span %s ends with %s", span.Name, span.Status.Description)
		}
	}
	if len(found) < 2 {
		t.Errorf("%d spans", len(found))
	}
}
