package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// consolePage is a row of the table of pages in services/console/internal/pages/routes.go.
type consolePage struct {
	method, path string
	public       bool     // for everybody
	roles        []string // the member needs one of them; empty: any member
}

// consolePages reads the table of pages, which a test of the console writes to a file.
func consolePages(t *testing.T) (pages []consolePage) {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(repository, "services", "console", "internal", "pages", "testdata", "routes.golden"))
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(table)) {
		columns := strings.Fields(row)
		page := consolePage{method: columns[0], path: columns[1], public: columns[2] == "anyone"}
		if len(columns) > 3 {
			page.roles = strings.Split(columns[3], "|")
		}
		pages = append(pages, page)
	}
	return pages
}

// open sends a request to the console through the gateway. An empty token is signed out.
func (c *cluster) open(t *testing.T, method, path, token string, header map[string]string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.base+"/console"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.AddCookie(&http.Cookie{Name: passport.SessionCookie, Value: token})
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	return stay(t, request)
}

// Every page and form of the console is requested through the gateway: signed out, with a session that has ended, by a
// form of another site, with every role, and with ids of another organization.
func TestEveryPageOfTheConsoleAdmitsTheMembersOfItsTable(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	acme, rival := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api"), provision(t, cluster.base, "Rival", "rival-admin", "admin", "api")
	sessions := map[string]string{passport.RoleAdmin: cluster.signedIn(t, acme).token}
	for _, role := range []string{passport.RoleEvent, passport.RoleSubscriber, passport.RoleAPI} {
		sessions[role] = cluster.signedIn(t, addUser(t, acme, "acme-"+role, role)).token
	}
	ended := cluster.signedIn(t, addUser(t, acme, "acme-ended", "admin"))
	ended.call("identity", http.MethodDelete, "/app/sessions/"+ended.member.Session, nil).expect(t, http.StatusNoContent)
	records := ownRecords(actor{t, rival}, cluster.base)
	before, foreign := records.read(t, cluster.base, rival.app()), records.inConsole(t, rival)
	for _, page := range consolePages(t) {
		path, hasID := foreign(page.path)
		name := page.method + " " + page.path
		signIn := func(who, token string) {
			t.Helper()
			got := cluster.open(t, page.method, path, token, nil)
			leads := got.status == http.StatusSeeOther && strings.HasPrefix(got.header.Get("Location"), "/console/sign-in")
			if strings.HasSuffix(page.path, "/preview") { // it is shown in a frame, which the sign-in does not allow
				leads = got.status == http.StatusUnauthorized
			}
			if !page.public && !leads || got.status >= http.StatusInternalServerError {
				t.Errorf("%s, %s: %d to %q", name, who, got.status, got.header.Get("Location"))
			}
		}
		signIn("signed out", "")
		signIn("with an ended session", ended.token)
		if page.method == http.MethodPost {
			got := cluster.open(t, page.method, path, sessions[passport.RoleAdmin], map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
			if got.status != http.StatusForbidden || !strings.Contains(string(got.body), "another site") {
				t.Errorf("%s, of another site: %d", name, got.status)
			}
		}
		for role, token := range sessions {
			allowed := page.public || len(page.roles) == 0 || role == passport.RoleAdmin || slices.Contains(page.roles, role)
			if allowed && page.method == http.MethodPost && !hasID {
				continue // it would change something
			}
			got := cluster.open(t, page.method, path, token, nil)
			switch {
			case !page.public && allowed == (got.status == http.StatusForbidden), got.status >= http.StatusInternalServerError:
				t.Errorf("%s, with the role %s: %d, allowed: %v", name, role, got.status, allowed)
			case allowed && hasID && !page.public && got.status != http.StatusNotFound:
				t.Errorf("%s, with an id of another organization: %d to %q", name, got.status, got.header.Get("Location"))
			}
			for _, theirs := range []string{"Rival", "rival-admin", "only ours", "ours@example.com", receiverHost} {
				if strings.Contains(string(got.body), theirs) {
					t.Errorf("%s shows %s of the other organization", name, theirs)
				}
			}
		}
	}
	for path, was := range before {
		if now := string(send(t, http.MethodGet, cluster.base+path, rival.app(), nil).expect(t, http.StatusOK).body); now != was {
			t.Errorf("%s was\n%s\nand is now\n%s", path, was, now)
		}
	}
}

// inConsole returns a function that fills the path of a page with ids of the records of the organization. It reports
// whether there are any. A page of another channel or kind gets the id of a mail subscriber or a webhook.
func (o ownedRecords) inConsole(t *testing.T, of credentials) func(path string) (string, bool) {
	t.Helper()
	var hooks struct{ Endpoints []hookView }
	send(t, http.MethodGet, of.BaseURL+"/app/integrations/webhooks/outbound/endpoints", of.app(), nil).expect(t, http.StatusOK).into(t, &hooks)
	byName := map[string]string{
		":hash": hooks.Endpoints[0].URLHash, ":dashboard": of.DashboardID, ":log": o.ids["logId"], ":at": url.PathEscape(o.sentAt), ":entry": o.ids["statusId"], ":note": o.ids["noteId"],
		":kind": "email", ":name": "acme", ":organization": of.OrganizationID,
	}
	byPath := map[string]string{
		"/users/": of.UserID, "/profile/keys/": o.ids["keyId"], "/profile/security/": of.UserID, "/dashboards/": of.DashboardID, "/components/": o.ids["components"], "/events/": o.ids["events"],
		"/parts/events/": o.ids["events"], "/templates/": o.ids["templates"], "/subscribers/": o.ids["subscribers"], "/inbound/": o.ids["inboundKeyId"],
	}
	parameter := regexp.MustCompile(`:\w+`)
	return func(path string) (string, bool) {
		filled := parameter.ReplaceAllStringFunc(path, func(name string) string {
			if id, known := byName[name]; known {
				return id
			}
			for prefix, id := range byPath {
				if strings.HasPrefix(path, prefix) {
					return id
				}
			}
			t.Fatalf("%s: no record for %s", path, name)
			return ""
		})
		return filled, filled != path
	}
}

// The sign-in form is sent twice at the same time, as by a double tap. One session begins, and both responses have it.
// After the sign-out, the session opens no page of any gateway.
func TestADoubleTapOfTheSignInBeginsOneSession(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	other := cluster.signedIn(t, acme, "admin") // sets the password
	page := cluster.open(t, http.MethodGet, "/sign-in", "", nil).expect(t, http.StatusOK)
	action := regexp.MustCompile(`action="/console(/sign-in\?once=[^"]+)"`).FindSubmatch(page.body)
	if action == nil {
		t.Fatalf("the page has no form: %s", page.body)
	}
	form := url.Values{"username": {acme.Username}, "password": {memberPassword}}.Encode()
	post := func(path, token string, of string) answer {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cluster.base+"/console"+path, strings.NewReader(of))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		request.AddCookie(&http.Cookie{Name: passport.SessionCookie, Value: token})
		return stay(t, request)
	}
	taps, tokens := make([]answer, 4), make([]string, 4)
	var group sync.WaitGroup
	for i := range taps {
		group.Go(func() { taps[i] = post(string(action[1]), "", form) })
	}
	group.Wait()
	for i, tap := range taps {
		for _, line := range tap.expect(t, http.StatusSeeOther).header.Values("Set-Cookie") {
			if cookie, err := http.ParseSetCookie(line); err == nil && cookie.Name == passport.SessionCookie {
				tokens[i] = cookie.Value
			}
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(tokens)))) != 1 || tokens[0] == "" {
		t.Fatalf("the taps began several sessions, or none")
	}
	var list struct{ Sessions []struct{ Method string } }
	other.call("identity", http.MethodGet, "/app/sessions", nil).expect(t, http.StatusOK).into(t, &list)
	if len(list.Sessions) != 2 {
		t.Errorf("the member has the sessions %v", list.Sessions)
	}
	cluster.open(t, http.MethodGet, "/", tokens[0], nil).expect(t, http.StatusOK)
	post("/sign-out", tokens[0], "").expect(t, http.StatusSeeOther)
	for _, base := range cluster.gateways {
		got, err := browser{t: t, cluster: cluster, token: tokens[0]}.visit(t.Context(), base)
		if err != nil || !strings.Contains(string(got.body), `name="password"`) {
			t.Errorf("after the sign-out: %d %v %s", got.status, err, got.body)
		}
	}
}

// stay sends a request and follows no redirect.
func stay(t *testing.T, request *http.Request) answer {
	t.Helper()
	stays := &http.Client{Transport: client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := stays.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAnswer(response)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Without the console, only its pages are missing, and the gateway stays ready. Without another service, the page says what
// is missing. Without identity there is no page, because every page needs the member's profile.
func TestAnOutageOfTheConsoleAndOfServicesShowsPages(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	v := cluster.signedIn(t, acme, "admin")
	visit := func(status int, texts ...string) {
		t.Helper()
		got := cluster.open(t, http.MethodGet, "/", v.token, nil)
		if got.status != status || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			t.Errorf("%d %s", got.status, got.body)
		}
		for _, text := range texts {
			if !strings.Contains(string(got.body), text) {
				t.Errorf("the page does not have %q: %s", text, got.body)
			}
		}
	}
	visit(http.StatusOK)
	for _, name := range []string{"delivery", "integrations", "subscribers", "events"} {
		cluster.processes[name].kill()
	}
	visit(http.StatusOK, "Acme")
	for _, name := range []string{"events", "subscribers", "integrations", "delivery"} {
		cluster.processes[name].start()
	}
	cluster.processes["identity"].kill()
	visit(http.StatusServiceUnavailable)
	cluster.processes["identity"].start()
	eventually(t, time.Minute, "ready again", ready(cluster.base))
	cluster.processes["console"].kill()
	visit(http.StatusServiceUnavailable, "The console cannot be reached at the moment")
	eventually(t, time.Minute, "ready without the console", func() error {
		got := send(t, http.MethodGet, cluster.base+"/readyz", "", nil)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), "console is not ready") {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		return nil
	})
	send(t, http.MethodGet, cluster.base+"/app/profile", acme.app(), nil).expect(t, http.StatusOK)
	cluster.processes["console"].start()
	eventually(t, 30*time.Second, "a page", func() error {
		if got := cluster.open(t, http.MethodGet, "/", v.token, nil); got.status != http.StatusOK {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		return nil
	})
}
