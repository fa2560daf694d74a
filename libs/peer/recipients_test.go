package peer_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// clientOf returns the client of a service whose responses handle writes.
func clientOf(t *testing.T, service string, handle http.HandlerFunc) *peer.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return peer.NewClient(service, server.URL, peer.Options{
		Caller: "tests", Signer: passport.NewSigner("a secret of the platform, for tests only", time.Now),
		Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
	})
}

func TestDestinationsAreUnpacked(t *testing.T) {
	want := []topic.Destination{{ID: "a", State: topic.RecipientActive, URL: "https://hooks.test/a", Secrets: []string{"whsec_a"}}, {ID: "b"}}
	response := topic.Pack(want)
	client := peer.Recipients{Client: clientOf(t, "integrations", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", topic.PackedDestinations)
		_, _ = w.Write(response)
	})}
	for range 3 { // buffers are used again
		if got, err := client.Resolve(t.Context(), "o", topic.ResolveQuery{IDs: []string{"a", "b"}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	response = []byte("\x02")
	if got, err := client.Resolve(t.Context(), "o", topic.ResolveQuery{IDs: []string{"a", "b"}}); err == nil {
		t.Errorf("damaged: %+v", got)
	}
}

// During an upgrade, a service of another version knows the packed form by another name, and responds with JSON.
func TestDestinationsOfAnotherVersionAreRead(t *testing.T) {
	want := []topic.Destination{{ID: "a", State: topic.RecipientActive, Secrets: []string{"whsec_a"}}, {ID: "b"}}
	client := peer.Recipients{Client: clientOf(t, "integrations", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(want)
	})}
	if got, err := client.Resolve(t.Context(), "o", topic.ResolveQuery{IDs: []string{"a", "b"}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
