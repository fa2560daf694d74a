package pages

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The file has each route with its roles. A test of the whole platform requests them all, and cannot import the table.
func TestTheFileOfRoutesHasTheTable(t *testing.T) {
	const (
		path   = "testdata/routes.golden"
		update = "APITEST_UPDATE" // apitest.Update; apitest would add the engines to the requirements of this module
	)
	var rows strings.Builder
	for _, r := range (&pages{}).table() {
		who := "anyone"
		if r.access == signedIn {
			who = "signedIn"
		}
		fmt.Fprintln(&rows, strings.TrimSpace(r.method+" "+r.path+" "+who+" "+r.role))
	}
	if os.Getenv(update) != "" {
		if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil || string(stored) != rows.String() {
		t.Errorf("%s differs from the table (%v). Run the test with %s=1.", path, err, update)
	}
}
