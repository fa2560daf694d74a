package peer_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"
)

// A service of an earlier version responds with JSON.
func TestDestinationsArePackedOrJSON(t *testing.T) {
	want := []topic.Destination{{ID: "a", State: topic.RecipientActive, URL: "https://hooks.test/a", Secrets: []string{"whsec_a"}}, {ID: "b"}}
	var respond func(http.ResponseWriter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted := r.Header.Get("Accept"); accepted != topic.PackedDestinations {
			t.Errorf("accepted: %q", accepted)
		}
		respond(w)
	}))
	defer server.Close()
	client := peer.Recipients{Client: peer.NewClient("integrations", server.URL, peer.Options{
		Caller: "delivery", Signer: passport.NewSigner("a secret of the platform, for tests only", time.Now),
		Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
	})}
	packed := func(data []byte) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", topic.PackedDestinations)
			_, _ = w.Write(data)
		}
	}
	for name, form := range map[string]func(http.ResponseWriter){
		"packed": packed(topic.Pack(want)),
		"JSON":   func(w http.ResponseWriter) { _ = json.NewEncoder(w).Encode(want) },
	} {
		respond = form
		for range 3 { // buffers are used again
			if got, err := client.Resolve(t.Context(), "o", topic.ResolveQuery{IDs: []string{"a", "b"}}); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
	respond = packed([]byte("\x02"))
	if got, err := client.Resolve(t.Context(), "o", topic.ResolveQuery{IDs: []string{"a", "b"}}); err == nil {
		t.Errorf("damaged: %+v", got)
	}
}
