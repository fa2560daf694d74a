package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

func TestADatabaseOfAnotherProductIsNamed(t *testing.T) {
	for name, words := range map[string]string{"openstatus": "has no status page of OpenStatus", "uptime-kuma": "has no status page and no monitor", "cachet": "has no records of Cachet"} {
		script := map[string]string{"openstatus": "testdata/kuma.sql", "uptime-kuma": "testdata/openstatus.sql", "cachet": "testdata/openstatus.sql"}[name]
		if _, err := source.Read(t.Context(), name, database(t, script), options()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s reads %s: %v", name, script, err)
		}
	}
}

func TestAFileWithoutAValidLineIsAnError(t *testing.T) {
	root := folder(t, map[string]string{"empty": "", "html": "<html>\n</html>\n"})
	for _, file := range []string{"empty", "html"} {
		if _, err := source.Read(t.Context(), "lines", root+"/"+file, options()); err == nil || !strings.Contains(err.Error(), "has no valid line") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestASourceThatIsNoFileIsAnError(t *testing.T) {
	for _, name := range source.Names() {
		if _, err := source.Read(t.Context(), name, "testdata/none", options()); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := source.Read(t.Context(), "pigeon", "testdata", options()); err == nil || !strings.Contains(err.Error(), "possible are lines, statuspage") {
		t.Errorf("an unknown source: %v", err)
	}
}

// An endpoint that is imported gets messages at once. So a webhook must have been accepted there.
func TestOnlyAcceptedWebhooksOfOpenStatusBecomeEndpoints(t *testing.T) {
	script, err := os.ReadFile("testdata/openstatus.sql")
	if err != nil {
		t.Fatal(err)
	}
	root := folder(t, map[string]string{"openstatus.sql": string(script) +
		"INSERT INTO page_subscriber VALUES (6, NULL, 1, 'webhook', 'https://hooks.reader.example/asked', NULL, 'vendor', 'x', NULL, NULL, NULL, 1735725000);"})
	set, err := source.Read(t.Context(), "openstatus", database(t, filepath.Join(root, "openstatus.sql")), options())
	if err != nil {
		t.Fatal(err)
	}
	left := slices.ContainsFunc(set.Warnings, func(w lines.Warning) bool {
		return w.Key == "openstatus:harbour:subscriber-6" && w.Field == "accepted_at"
	})
	if len(set.Endpoints) != 1 || set.Endpoints[0].Key != "openstatus:harbour:subscriber-4" || !left {
		t.Errorf("endpoints %v, warnings %v", set.Endpoints, set.Warnings)
	}
}
