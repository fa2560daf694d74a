package events_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestScripts plays what clients, visitors and other services see, each script on an
// empty service of its own with two organizations.
func TestScripts(t *testing.T) {
	broker := startBroker(t)
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		p := start(t, broker)
		return apitest.Target{Handler: p.door(), Vars: map[string]string{
			"orgA": orgA, "orgB": orgB, "dashA": dashA, "dashB": dashB,
		}}
	})
}
