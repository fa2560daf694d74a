package main_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is a finished span at the collector.
type span struct {
	service, name, id, parent string
	kind                      trace.Span_SpanKind
	said                      string // all that it holds
}

// tracesReceiver is an OTLP/HTTP receiver of traces.
type tracesReceiver struct {
	mu     sync.Mutex
	traces map[string][]span
}

func startTracesReceiver(t *testing.T) (*tracesReceiver, string) {
	r := &tracesReceiver{traces: map[string][]span{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *tracesReceiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	var export collector.ExportTraceServiceRequest
	if in.URL.Path != "/v1/traces" || err != nil || proto.Unmarshal(body, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range export.ResourceSpans {
		service := ""
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				id := hex.EncodeToString(s.TraceId)
				r.traces[id] = append(r.traces[id], span{service, s.Name, hex.EncodeToString(s.SpanId), hex.EncodeToString(s.ParentSpanId), s.Kind, s.String()})
			}
		}
	}
}

func (r *tracesReceiver) spans(id string) []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.traces[id])
}

// path follows the parents of the span with the id to the root. It returns the services on the
// way, beginning with the root.
func path(spans []span, id string) []string {
	var services []string
	for id != "" {
		at := slices.IndexFunc(spans, func(s span) bool { return s.id == id })
		if at < 0 {
			break
		}
		if len(services) == 0 || services[0] != spans[at].service {
			services = slices.Insert(services, 0, spans[at].service)
		}
		id = spans[at].parent
	}
	return services
}

func TestOneTraceRunsFromTheCallToTheOutgoingRequest(t *testing.T) {
	traces, endpoint := startTracesReceiver(t)
	r, env := startReceiver(t)
	cluster := startCluster(t, append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint)...)
	c := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	tour(t, c, r)

	for _, request := range r.Requests() {
		parts := strings.Split(request.Header.Get("traceparent"), "-")
		if len(parts) != 4 {
			t.Fatalf("the outgoing request's traceparent is %q", request.Header.Get("traceparent"))
		}
		eventually(t, 60*time.Second, "the trace of "+request.ID(), func() error {
			spans := traces.spans(parts[1])
			if got := path(spans, parts[2]); len(got) < 3 || got[0] != "gateway" || got[1] != "events" || got[len(got)-1] != "delivery" {
				return fmt.Errorf("the outgoing request's span hangs on %v among %v", got, spans)
			}
			for _, service := range []string{"gateway", "events", "integrations", "delivery"} {
				if !slices.ContainsFunc(spans, func(s span) bool { return s.service == service }) {
					return fmt.Errorf("no span of %s among %v", service, spans)
				}
			}
			return nil
		})
	}
}

func allSpans(r *tracesReceiver) []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []span
	for _, spans := range r.traces {
		all = append(all, spans...)
	}
	return all
}
