package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Seconds are shown with the milliseconds they have, and no digit more.
func TestViewComponentUptime_seconds(t *testing.T) {
	part := catalog.ComponentUptime{Tally: catalog.Tally{Measured: 1527 * time.Millisecond, Major: 1890 * time.Millisecond, Degraded: time.Hour}}
	shown, err := json.Marshal(viewComponentUptime(&part))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"measuredSeconds":1.527,`, `"majorOutageSeconds":1.89,`, `"degradedSeconds":3600,`} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
}
