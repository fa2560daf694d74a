package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestLegacyScriptsPass runs, through the gateway, the scripts that need the whole platform. Each script has two
// organizations. A request without Authorization is sent with the key of ${ours}, an administrator of the first
// organization. Scripts about one service are in the folder of the service, and tests of the legacy rules are in
// libs/legacy.
func TestLegacyScriptsPass(t *testing.T) {
	t.Parallel()
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "LEGACY_RATE_PER_HOUR=100000")
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	scripts, err := filepath.Glob("testdata/legacy_*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for i, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			user := func(name string) string { return fmt.Sprintf("%s-%d", name, i) }
			ours := provision(t, base, "Acme", user("ann"), "admin")
			api, event := addUser(t, ours, user("api"), "api"), addUser(t, ours, user("eve"), "event", "subscriber")
			theirs := provision(t, base, "Acme", user("bob"), "admin", "api")
			without := provision(t, base, "Frugal", user("cid"), "admin", "api")
			send(t, http.MethodPatch, base+"/operator/v1/organizations/"+without.OrganizationID, without.operator(),
				map[string]any{"enabledFeatures": map[string]any{"api": false}}).expect(t, http.StatusOK)
			target := apitest.Target{OpenAPI: documents, URL: base, Header: http.Header{"Authorization": {ours.legacy()}}, Vars: map[string]string{
				"ours": ours.legacy(), "theirs": theirs.legacy(), "api": api.legacy(), "event": event.legacy(), "without": without.legacy(),
				"username": ours.Username, "key": ours.LegacyKey, "app": ours.app(), "dashboard": ours.DashboardURL, "dashboardId": ours.DashboardID,
				"slug": ours.DashboardSlug,
			}}
			if err := apitest.PlayFile(t.Context(), target, script); err != nil {
				t.Fatal(err)
			}
		})
	}
}
