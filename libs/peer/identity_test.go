package peer_test

import (
	"math"
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// During an upgrade, an identity service of the former version does not send a new limit.
func TestALimitThatIsNotSentForbidsNothing(t *testing.T) {
	sent := `{"legacyPerHour": 7, "uniqueEndpoints": 0}`
	identity := peer.Identity{Client: clientOf(t, "identity", func(w http.ResponseWriter, r *http.Request) {
		response := sent
		if r.Method == http.MethodPost {
			response = `{"organization": "o", "limits": ` + sent + `}`
		}
		_, _ = w.Write([]byte(response))
	})}
	want := peer.Limits{LegacyPerHour: 7, AppPerMinute: math.MaxInt, MaxDashboards: math.MaxInt}
	if limits, err := identity.Limits(t.Context(), "o"); err != nil || limits != want {
		t.Errorf("%+v, %v", limits, err)
	}
	if c, err := identity.Credential(t.Context(), peer.KeyLookup{}); err != nil || c.Organization != "o" || c.Limits != want {
		t.Errorf("%+v, %v", c, err)
	}
}
