package peer_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestNoComponentHasNoID(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var query peer.ComponentQuery
		if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode([]topic.ComponentRecord{{ID: "a"}}) // for any query, also for one without ids
	}))
	defer server.Close()
	client := peer.Events{Client: peer.NewClient("events", server.URL, peer.Options{
		Caller: "delivery", Signer: passport.NewSigner("a secret of the platform, for tests only", time.Now),
		Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
	})}
	if found, err := client.ComponentsByID(t.Context(), "o", []string{"a"}); err != nil || found["a"].ID != "a" {
		t.Errorf("by an id: %v, %v", found, err)
	}
	for _, ids := range [][]string{nil, {}} {
		if found, err := client.ComponentsByID(t.Context(), "o", ids); err != nil || len(found) != 0 {
			t.Errorf("without ids: %v, %v", found, err)
		}
	}
}
