package legacy_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

func TestScripts(t *testing.T) {
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		t.Cleanup(func() {
			if text := logged.String(); text != "" && !strings.HasPrefix(t.Name(), "TestScripts/errors") {
				t.Errorf("an operation failed:\n%s", text)
			}
		})
		return apitest.Target{Handler: newHandler(newWorld(t), log)}
	})
}
