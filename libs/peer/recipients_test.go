package peer_test

import (
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

func TestDestinationsAreUnpacked(t *testing.T) {
	want := []topic.Destination{{ID: "a", State: topic.RecipientActive, URL: "https://hooks.test/a", Secrets: []string{"whsec_a"}}, {ID: "b"}}
	response := topic.Pack(want)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(response) }))
	defer server.Close()
	client := peer.Recipients{Client: peer.NewClient("integrations", server.URL, peer.Options{
		Caller: "delivery", Signer: passport.NewSigner("a secret of the platform, for tests only", time.Now),
		Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
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
