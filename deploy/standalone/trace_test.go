package main_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is a finished span that the collector has received.
type span struct {
	service, name, id, parent string
	kind                      trace.Span_SpanKind
	text                      string // text of the whole span
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

// path returns the services on the way from the root of the trace to the span with the id.
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

// traceStore receives traces, and returns the spans of a trace by the trace's id.
type traceStore struct {
	endpoint string
	spans    func(id string) []span
}

// eachTraceStore runs the test with a receiver in this process. If BELLBUOY_TEST_JAEGER contains the OTLP address and
// the query address of a Jaeger, separated by a comma, it also runs the test with this Jaeger.
func eachTraceStore(t *testing.T, test func(*testing.T, traceStore)) {
	t.Run("receiver", func(t *testing.T) {
		traces, endpoint := startTracesReceiver(t)
		test(t, traceStore{endpoint, traces.spans})
	})
	if endpoint, query, found := strings.Cut(os.Getenv("BELLBUOY_TEST_JAEGER"), ","); found {
		t.Run("Jaeger", func(t *testing.T) {
			test(t, traceStore{endpoint, func(id string) []span { return jaegerSpans(t, query, id) }})
		})
	}
}

// jaegerSpans requests the spans of a trace from Jaeger. It returns none if Jaeger does not know the trace.
func jaegerSpans(t *testing.T, query, id string) (spans []span) {
	t.Helper()
	got := send(t, http.MethodGet, query+"/api/traces/"+id, "", nil)
	if got.status == http.StatusNotFound {
		return nil
	}
	var found struct {
		Data []struct {
			Spans []struct {
				SpanID, OperationName, ProcessID string
				References                       []struct{ RefType, SpanID string }
			}
			Processes map[string]struct{ ServiceName string }
		}
	}
	got.expect(t, http.StatusOK).into(t, &found)
	for _, trace := range found.Data {
		for _, s := range trace.Spans {
			made := span{service: trace.Processes[s.ProcessID].ServiceName, name: s.OperationName, id: s.SpanID}
			for _, reference := range s.References {
				if reference.RefType == "CHILD_OF" {
					made.parent = reference.SpanID
				}
			}
			spans = append(spans, made)
		}
	}
	return spans
}

func TestTraceRunsFromTheCallToTheOutgoingRequest(t *testing.T) {
	t.Parallel()
	eachTraceStore(t, func(t *testing.T, traces traceStore) {
		r, env := startReceiver(t)
		cluster := startCluster(t, append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.endpoint)...)
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
	})
}

// Only some of the traces are sent, each with the spans of all services. Neither the sampled flag nor the trace id in a
// client's traceparent decides which.
func TestTraceIsSampledAsAWhole(t *testing.T) {
	t.Parallel()
	eachTraceStore(t, func(t *testing.T, traces traceStore) {
		const requests = 64 // all or none of them are sent once in 2^63 runs
		p, base := started(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.endpoint, "OTEL_TRACES_SAMPLER_ARG=0.5")
		c := seeded(t, p)
		get := func(traceparent string) {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/app/components", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", c.app())
			if traceparent != "" {
				request.Header.Set("traceparent", traceparent)
			}
			exchange(t, request).expect(t, http.StatusOK)
		}
		flags := map[string]string{} // flags that clients sent, by trace id
		for range requests {
			get("")
			for _, flag := range []string{"00", "01"} {
				id := traceID()
				flags[id] = "flag " + flag
				get("00-" + id + "-00f067aa0ba902b7-" + flag)
			}
		}
		if code := p.stop(); code != 0 { // a stop sends the last traces
			t.Fatalf("the platform ended with code %d", code)
		}

		ids := gatewayTraces(p.output())
		var all, sent map[string]int // numbers of traces by flag
		eventually(t, 30*time.Second, "traces with the spans of both services", func() error {
			all, sent = map[string]int{}, map[string]int{}
			for id := range ids {
				spans := traces.spans(id)
				of := func(service string) bool {
					return slices.ContainsFunc(spans, func(s span) bool { return s.service == service })
				}
				if of("gateway") != of("events") {
					return fmt.Errorf("a part of the trace %s was sent: %v", id, spans)
				}
				all[flags[id]]++
				if len(spans) > 0 {
					sent[flags[id]]++
				}
			}
			return nil
		})
		for _, flag := range []string{"", "flag 00", "flag 01"} {
			if all[flag] < requests || sent[flag] == 0 || sent[flag] == all[flag] {
				t.Errorf("%q: %d of %d traces were sent", flag, sent[flag], all[flag])
			}
		}
	})
}

// traceID returns a new trace id. A sampler that decides by the id would select it for any ratio.
func traceID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id[:8]) // never fails
	id[15] = 1
	return hex.EncodeToString(id)
}

// gatewayTraces returns the trace ids of the requests to /app/components in the log of the gateway.
func gatewayTraces(log string) map[string]bool {
	ids := map[string]bool{}
	for line := range strings.Lines(log) {
		var entry struct {
			Service, Msg, Route string
			TraceID             string `json:"trace_id"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Service == "gateway" && entry.Msg == "request" && strings.HasSuffix(entry.Route, "/app/components") {
			ids[entry.TraceID] = true
		}
	}
	return ids
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
