package legacy_test

import (
	"bytes"
	"log/slog"
	"net/http"
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

// A set has at most as many objects as a list, also if it names an object twice.
func TestSetIsBounded(t *testing.T) {
	handler := newHandler(newWorld(t), slog.New(slog.DiscardHandler))
	ask(t, handler, http.MethodPost, "/api/v1/service/", `{"service_name": "API"}`, http.StatusCreated)
	target := "/api/v1/service/set/" + strings.Repeat("1;", 1000)
	if _, body := ask(t, handler, http.MethodGet, target, "", http.StatusOK); strings.Count(body, `"API"`) != 1000 {
		t.Errorf("1000 ids: %.200s", body)
	}
	ask(t, handler, http.MethodGet, target+"2/", "", http.StatusBadRequest)
}
