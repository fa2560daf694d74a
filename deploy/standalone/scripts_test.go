package main_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// unplayed contains the documented statuses that no script plays, each with the reason.
var unplayed = map[string]string{
	`^(POST|PUT|PATCH|DELETE|GET) /app/(sign-in|invitations|sessions|legacy-key|profile|api-keys|organization/sign-on|users/\{id\}/second-factors)[^ ]* (400|413|429)$`: "the console alone calls them; TestErrorsOfTheConsole of the identity service plays them",
	`^POST /app/notifications/(sms|whatsapp)/test 409$`: "it needs an installation without an account; TestWithoutAnAccountATestMessageIsRefused starts one",
	` 503$`: "a part of the platform must be down; the gateway's tests and the kill tests stop parts",
	`^(DELETE /app/(api-keys|integrations|subscribers).*|PATCH /app/(subscribers|integrations/webhooks/inbound)/.*|POST /app/subscribers/.*/import|POST /app/dashboards/\{id\}/preview|POST /app/notifications/(audience|why)) 409$`: "only an Idempotency-Key of another request conflicts, which the gateway's tests show",
	`^POST /app/sign-in/(code|passkey) 200$`:      "it needs a second factor; TestACodeWorksOnceWithADriftOfOneStep and TestAPasskeySignsInWithoutAName show them",
	`^POST /app/sign-in/sso(/finish)? (200|409)$`: "it needs a provider; TestSingleSignOnSignsInMembersOfTheProvider shows it",
	`^(PUT /app/profile/totp|POST /app/profile/recovery-codes|POST /app/profile/passkeys|PATCH /app/profile/passkeys/\{id\}|DELETE /app/profile/passkeys/\{id\}) (200|201|204)$`:                       "it needs a right code or an authenticator; the tests of second factors in the identity service show them",
	`^POST /app/(profile/(totp|passkeys|passkeys/options)|sign-in/passkey/options) 409$`:                                                                                                               "it needs a right code, 10 passkeys or another setting; the tests of second factors in the identity service show them",
	`^POST (/app|/operator/v1/users/\{id\})/api-keys 409$`:                                                                                                                                             "it needs 51 keys, which TestKeysOfAUserAreBounded makes",
	`^(GET|POST) /d/\{slug\}/(|events/.*|incidents/.*|components/.*|history.*|subscribe(|/sent)|embed.*|feed.*|maintenance.*|badge.*|robots.*|api/v2/.*|enter) (200|303|304|308|400|403|404|413|429)$`: "TestEveryFileOfADashboardIsServed, TestAPrivateDashboardOpensWithItsPassword and the gateway's tests play them, because their bodies are files",
	`^POST (/d/\{slug\})?/subscribe/[^ ]* 403$`:         "the gateway decides who may see a private dashboard; TestVisitorsSubscribeOnAPrivateDashboard and its own tests play it",
	`^POST /app/dashboards/\{id\}/aliases 409$`:         "it needs 100,000 aliases, which TestADashboardHasAtMost100000Aliases makes",
	`^GET /d? (200|302|304|404)$`:                       "the number of dashboards of the installation decides; TestThePlatformsAddressLeadsSomewhere plays them",
	`^POST /public/webhooks/inbound(/\{format\})? 409$`: "it needs a timeline of 1000 entries, which TestAFullTimelineRefusesInboundMessages makes, or 10,000 problems",
	`^GET /api/v1/.*/set/\{ids\}/ `:                     "one implementation for all resources, which the scripts of libs/legacy play",
}

// A script plays each documented status of every operation, or unplayed contains the status. A status in unplayed must
// exist.
func TestScriptsPlayEveryDocumentedStatus(t *testing.T) {
	t.Parallel()
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	scripts := []*txtar.Archive{refusals(documents)}
	for _, pattern := range []string{"testdata/*.txtar", "../../services/*/testdata/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no script matches %s (%v)", pattern, err)
		}
		for _, file := range files {
			script, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			scripts = append(scripts, script)
		}
	}
	missing, err := documents.Unplayed(scripts...)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, status := range missing {
		reason := slices.IndexFunc(slices.Collect(maps.Keys(unplayed)), func(pattern string) bool {
			matches := regexp.MustCompile(pattern).MatchString(status)
			used[pattern] = used[pattern] || matches
			return matches
		})
		if reason < 0 {
			t.Errorf("no script plays %s", status)
		}
	}
	for pattern := range unplayed {
		if !used[pattern] {
			t.Errorf("the scripts play every status that matches %s; remove the reason", pattern)
		}
	}
}

// refusals returns a script of requests whose refusal follows from the documents: a request without a key, a method
// that the path does not have, a body that is too large or of another media type, and a query parameter for an
// operation that has none.
func refusals(documents *apitest.OpenAPI) *txtar.Archive {
	var script strings.Builder
	for _, of := range documents.Operations() {
		path := map[string]string{"legacy.yaml": "1", "public.yaml": "nobody"}[of.Document]
		if path == "" {
			path = "01890a5d-ac96-774b-bcce-b302099a8057"
		}
		path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.NewReplacer("{channel}", "webhook", "{format}", "gatus").Replace(of.Path), path)
		step := func(method, target, header string, status int, body string) {
			if !slices.Contains(of.Statuses, fmt.Sprint(status)) {
				return
			}
			want := "\n{\"error\": \"<text>\"}\n"
			if status == 403 {
				want = ""
			}
			fmt.Fprintf(&script, "-- request: %s %s --\n%s %s\n%s\n%s\n-- response --\n%d\n%s", method, of.Path, method, target, header, body, status, want)
		}
		header := "Content-Type: application/json\n"
		if path == "/api/v1/dashboard/" || strings.HasPrefix(path, "/subscribe") {
			header += "Host: no-dashboard.example.com\n" // the path exists only on a dashboard's own host
		}
		key := header + "Authorization: ${" + strings.TrimSuffix(of.Document, ".yaml") + "}\n"
		if of.Document == "public.yaml" {
			key = header
		}
		if !strings.HasPrefix(path, "/public/endpoints/") && path != "/public/manage" && !strings.HasPrefix(path, "/d/") && !strings.HasPrefix(path, "/subscribe/") { // on these paths, a 403 depends on the record
			step(of.Method, path, header, 403, "")
		}
		methods := []string{"DELETE", "PUT", "POST", "PATCH"}
		other := slices.IndexFunc(methods, func(method string) bool { return !slices.Contains(of.Methods, method) })
		step(methods[other], path, key, 405, "{}")
		if !forKeys(of.Method, of.Path) {
			continue
		}
		if strict := of.Document == "app.yaml" || of.Document == "operator.yaml"; strict && !of.HasInput {
			step(of.Method, path+"?unknown=1", key, 400, "")
		}
		if path == "/d/nobody/enter" {
			continue
		}
		large := `{"description": "<chars:1100000>"}`
		if path == "/app/events/import" { // this operation alone takes 8 MiB
			large = `{"description": "<chars:8400000>"}`
		}
		step(of.Method, path, key+"Idempotency-Key: large\n", 413, large)
		step(of.Method, path, strings.Replace(key, "application/json", "text/plain", 1), 415, "{}")
	}
	return txtar.Parse([]byte(script.String()))
}

func TestRefusalsFollowFromTheDocuments(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	c := provision(t, base, "Acme", "acme-admin", "admin")
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	target := apitest.Target{URL: base, OpenAPI: documents, Vars: map[string]string{"legacy": c.legacy(), "app": c.app(), "operator": c.operator()}}
	if err := apitest.Play(t.Context(), target, "refusals", refusals(documents)); err != nil {
		t.Fatal(err)
	}
}
