package source_test

import (
	"strings"
	"testing"

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
