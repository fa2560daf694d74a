package pages

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/assets"
)

// leavesAtOnce are pages that respond with a redirect to a member who is signed in.
func leavesAtOnce(r route) bool {
	return slices.Contains([]string{"/sign-in", "/sign-in/code", "/sign-in/sso/:name", "/sign-in/sso-callback/:organization"}, r.path)
}

func TestEveryPageShowsHostileTextAsText(t *testing.T) {
	for _, text := range []string{hostile, "", strings.Repeat("W", 5000)} {
		for _, empty := range []bool{false, true} {
			if empty && text != hostile {
				continue // the same pages, without records that could have the text
			}
			b := open(t, text)
			b.app.change(func(s *service) { s.empty = empty })
			for _, r := range b.pages {
				if r.method != get || leavesAtOnce(r) {
					continue
				}
				want := http.StatusOK
				if empty && (strings.HasSuffix(r.path, "/revoke") && strings.Contains(r.path, ":id") || r.path == "/inbound/:id" || strings.Contains(r.path, "/passkeys/:id") || strings.Contains(r.path, ":hash") || strings.Contains(r.path, ":entry") || strings.Contains(r.path, ":note")) {
					want = http.StatusNotFound
				}
				if r.path == findPath && len(text) > findMax {
					want = http.StatusUnprocessableEntity
				}
				got := b.get(address(r) + "?token=x&q=" + url.QueryEscape(text))
				if got.status != want {
					t.Errorf("%s has the status %d: %s", r, got.status, got.text)
				}
				if file := got.header.Get("Content-Disposition"); strings.HasPrefix(file, "attachment;") && !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
					continue // browsers store it, and never show it
				}
				isPage := strings.HasPrefix(got.header.Get("Content-Type"), "text/html")
				if isPage && (strings.Contains(got.text, "<script>alert") || strings.Contains(got.text, "<img src=x")) {
					t.Errorf("%s shows hostile text as HTML: %s", r, got.text)
				}
				if strings.Contains(got.text, "ZgotmplZ") || strings.Contains(got.text, "&lt;nil&gt;") {
					t.Errorf("%s shows a value that is none: %s", r, got.text)
				}
			}
		}
	}
}

// Each string of each response is hostile, also those of which the documents name the values, and addresses. A page may
// refuse such a response, and shows none of it as HTML or as an address.
func TestNoMemberOfAResponseIsShownAsHTML(t *testing.T) {
	for _, text := range []string{hostile, "javascript:alert(1)//<script>alert(1)</script>"} {
		b := open(t, text)
		b.app.change(func(s *service) { s.all = true })
		shown := 0
		for _, r := range b.pages {
			if r.method != get || leavesAtOnce(r) {
				continue
			}
			got := b.get(address(r))
			if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") || strings.HasSuffix(r.path, "/preview") {
				continue // the preview is sandboxed, and events makes its HTML
			}
			if got.status == http.StatusOK {
				shown++
			}
			for _, bad := range []string{"<script>alert", "<img src=x", `href="javascript:`, `src="javascript:`, `action="javascript:`, "&lt;nil&gt;"} {
				if strings.Contains(got.text, bad) {
					t.Errorf("%s shows %s: %s", r, bad, got.text)
				}
			}
		}
		if shown < 100 {
			t.Errorf("only %d pages were shown", shown)
		}
	}
}

func TestAWrongPositionInAListLeadsToItsFirstPage(t *testing.T) {
	b := open(t, "Ada")
	lists := 0
	for _, r := range b.pages {
		if r.method != get || r.access != signedIn {
			continue
		}
		asked := b.app.positions(wrongToken)
		got := b.get(address(r) + "?q=a&after=" + wrongToken)
		if b.app.positions(wrongToken) == asked {
			continue
		}
		lists++
		b.expect(got, http.StatusBadRequest, "Begin at the first page.", `href="`+address(r)+`?q=a"`)
	}
	if lists < 20 {
		t.Errorf("only %d pages read a later page of a list", lists)
	}
}

// A member who repeats a form in another tab learns what the state is.
func TestWhatWasDoneBeforeIsSaidInstead(t *testing.T) {
	b := open(t, "Ada")
	none := func(at, name string) {
		b.app.answer("GET "+at, answer{200, `{"` + name + `": [], "nextToken": null}`, false})
	}
	said := func(path, to, status string) {
		t.Helper()
		got := b.send(post, path, url.Values{})
		if b.expect(got, http.StatusSeeOther); got.header.Get("Location") != to {
			t.Errorf("%s leads to %s", path, got.header.Get("Location"))
		}
		b.expect(b.get(to), http.StatusOK, status)
	}
	gone := answer{404, `{"error": "There is no such record."}`, false}
	const webhook = "/app/integrations/webhooks/outbound"

	b.app.answer("DELETE "+webhook+"/suppression", gone)
	at := "/console/integrations/webhook/" + other
	b.app.answer("GET "+webhook+"/endpoints", answer{200, `{"endpoints": [{"urlHash": "` + other + `", "dashboardId": "` + other + `", "urlDisplay": "hooks.example.com"}, {"urlHash": "` + other + `", "dashboardId": "` + member + `"}], "nextToken": null}`, false})
	said(at+"/clear", at, "hooks.example.com is not suppressed any more.")
	none(webhook+"/suppression", "entries")
	said(at+"/clear", at, "hooks.example.com is not suppressed any more.")
	none(webhook+"/endpoints", "endpoints")
	b.expect(b.send(post, at+"/clear", url.Values{}), http.StatusNotFound, "Go to Integrations")

	b.app.answer("GET /app/subscribers/email/"+other, answer{200, `{"subscriber": {"id": "` + other + `", "email": "ann@example.com", "confirmed": true}}`, false})
	said("/console/subscribers/email/"+other+"/clear", "/console/subscribers/email/"+other, "ann@example.com is not suppressed any more.")
	if sent := b.app.body("PATCH /app/subscribers/email/" + other); sent != "" {
		t.Errorf("a subscriber who is not suppressed is changed: %s", sent)
	}

	said("/console/inbound/"+member+"/revoke", "/console/inbound", "Ada was revoked before.")
	b.app.answer("DELETE /app/legacy-key", gone)
	said("/console/profile/legacy-key/revoke", "/console/profile/keys", "You have no legacy key any more.")
	b.app.answer("DELETE /app/api-keys/"+other, gone)
	b.expect(b.send(post, "/console/profile/keys/"+other+"/revoke", url.Values{}), http.StatusNotFound, "If it was in your list before, it is revoked.", "Go to Keys")
	none("/app/api-keys", "apiKeys")
	b.expect(b.send(post, "/console/profile/keys/"+other+"/revoke", url.Values{}), http.StatusNotFound, "If it was in your list before, it is revoked.", "Go to Keys")
}

func TestEveryResponseHasTheHeadersOfTheConsole(t *testing.T) {
	b := open(t, "Ada")
	for _, path := range []string{"/console/", "/console/nothing", "/console/sign-in", "/console/users"} {
		got := b.get(path)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": policy,
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
	}
}

func TestAPageNeedsASessionAndItsRole(t *testing.T) {
	b := open(t, "Ada")
	for _, r := range b.pages {
		b.member.Session, b.member.Roles = "", nil
		got := b.send(r.method, address(r), nil)
		leads := got.status == http.StatusSeeOther && strings.HasPrefix(got.header.Get("Location"), "/console/sign-in")
		if strings.HasSuffix(r.path, "/preview") { // a frame
			leads = got.status == http.StatusUnauthorized
		}
		if r.access == signedIn && !leads {
			t.Errorf("%s without a session: %d to %s", r, got.status, got.header.Get("Location"))
		}
		b.member.Session, b.member.Roles = session, []string{"subscriber"}
		got = b.send(r.method, address(r), nil)
		if refused := got.status == http.StatusForbidden; r.access == signedIn && refused != (r.role != "" && !strings.Contains(r.role, "subscriber")) {
			t.Errorf("%s for a subscriber: %d", r, got.status)
		}
		if r.role == "admin" && !strings.Contains(got.text, "Administrator") {
			t.Errorf("%s does not name the missing role", r)
		}
	}
	overview := b.get("/console/")
	if strings.Contains(overview.text, `href="/console/users"`) || !strings.Contains(overview.text, `href="/console/profile"`) {
		t.Errorf("the navigation of a subscriber: %s", overview.text)
	}
}

func TestASignInLeadsOnlyToPagesOfTheConsole(t *testing.T) {
	for next, want := range map[string]string{
		"/console/sign-on": "/console/sign-on", "/console/sign-in/again": "/console/",
		"/console/users?q=a": "/console/users?q=a", "": "/console/", "/console": "/console/", "https://evil.example/console/": "/console/", "//evil.example/console/": "/console/",
		"/console/../api": "/console/", "/console/\\evil": "/console/", "/consoles/": "/console/", "javascript:alert(1)": "/console/", "/console/sign-out": "/console/", "/console/%0d%0aX: y": "/console/%0d%0aX:%20y",
	} {
		if got := safeNext(next); got != want && !(strings.HasPrefix(got, "/console/") && strings.HasPrefix(next, "/console/%")) {
			t.Errorf("%q becomes %q", next, got)
		}
	}
	b := open(t, "Ada")
	b.member.Session = ""
	got := b.post("/console/sign-in", "username", "ada", "password", "secret", "next", "https://evil.example/", "kept", "")
	b.expect(got, http.StatusSeeOther)
	if got.header.Get("Location") != "/console/" {
		t.Error(got.header.Get("Location"))
	}
	cookie := strings.Join(got.header.Values("Set-Cookie"), "\n")
	for _, part := range []string{"__Host-bellbuoy=" + session + ":secret; Path=/;", "__Host-bellbuoy-browser=ticket;", "HttpOnly; Secure; SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookies lack %s: %s", part, cookie)
		}
	}
}

func TestAWrongPasswordShowsOneText(t *testing.T) {
	b := open(t, "Ada")
	b.member.Session = ""
	b.app.answer("POST /app/sign-in", answer{403, `{"error": "The name or the password is wrong."}`, false})
	got := b.post("/console/sign-in", "username", "ada<b>", "password", "my-secret", "keep", "on", "next", "/console/users", "kept", "")
	b.expect(got, http.StatusUnprocessableEntity, "There is a problem", "The name or the password is wrong.", `value="ada&lt;b&gt;"`, `value="/console/users"`, "checked")
	if strings.Contains(got.text, "my-secret") {
		t.Error("the page shows the password")
	}
	b.app.answer("POST /app/sign-in", answer{429, `{"error": "There were too many tries."}`, false})
	b.expect(b.post("/console/sign-in", "username", "ada", "password", "x", "next", "", "kept", ""), http.StatusTooManyRequests, "too many tries")
}

func TestASecondFactorIsAskedForOnItsOwnPage(t *testing.T) {
	b := open(t, "Ada")
	b.member.Session = ""
	b.app.answer("POST /app/sign-in", answer{200, `{"session": null, "browser": null, "secondFactor": {"ticket": "t/1", "methods": ["totp"]}, "next": ""}`, false})
	got := b.post("/console/sign-in", "username", "ada", "password", "secret", "next", "/console/users", "kept", "")
	b.expect(got, http.StatusSeeOther)
	next := got.header.Get("Location")
	b.expect(b.get(next), http.StatusOK, `name="code"`, `value="/console/users"`)
	b.app.answer("POST /app/sign-in/code", answer{403, `{"error": "The code is wrong."}`, false})
	b.expect(b.post("/console/sign-in/code", "code", "123456", "next", "/console/users", "kept", ""), http.StatusUnprocessableEntity, "The code is wrong.", `aria-invalid="true"`)
	b.app.forget("POST /app/sign-in/code")
	got = b.post("/console/sign-in/code", "code", "123456", "next", "/console/users", "kept", "")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/users" || !strings.Contains(b.app.body("POST /app/sign-in/code"), `"ticket":"t/1"`) {
		t.Errorf("%d to %s after %s", got.status, got.header.Get("Location"), b.app.body("POST /app/sign-in/code"))
	}
}

func TestWrongInputComesBackWithItsError(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("POST /app/users", answer{400, `{"error": "email: must be a mail address."}`, false})
	got := b.post("/console/users/new", "username", "bob", "email", "bob@", "firstName", "Bob", "lastName", "", "roles", "event")
	b.expect(got, http.StatusUnprocessableEntity, "There is a problem", `href="#email"`, "Email must be a mail address.", `value="bob@"`, `value="Bob"`, `value="event" checked`, `aria-describedby="email-problem"`)
	b.app.answer("POST /app/users", answer{409, `{"error": "username: is taken."}`, false})
	b.expect(b.post("/console/users/new", "username", "bob", "email", "b@example.com", "roles", "event"), http.StatusUnprocessableEntity, "User name is taken.")
	b.expect(b.post("/console/users/new", "username", "bob", "admin", "yes"), http.StatusBadRequest, "admin is not a field", "request-1")
	b.expect(b.post("/console/users/new", "username", ""), http.StatusUnprocessableEntity, "Enter the user name.", "Choose an option.")
	large := b.send(post, "/console/users/new", url.Values{"username": {strings.Repeat("x", 1<<20)}})
	b.expect(large, http.StatusRequestEntityTooLarge, "request-1")
}

func TestAnOldSignInLeadsBackToTheFormAsItWasFilled(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("POST /app/users", answer{403, `{"error": "Sign in again."}`, true})
	got := b.post("/console/users/new", "username", "bob<b>", "email", "b@example.com", "firstName", "Bob", "lastName", "", "roles", "event", "roles", "api")
	b.expect(got, http.StatusForbidden, "Confirm that it is you", `name="password"`, `name="code"`)
	hidden := func(name string) string {
		found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(got.text)
		return strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(found[1])
	}
	was, next := hidden("was"), hidden("next")
	b.app.answer("POST /app/sign-in/again", answer{403, `{"error": "The password is wrong."}`, false})
	wrong := b.post("/console/sign-in/again", "password", "wrong-secret", "code", "", "next", next, "was", was)
	b.expect(wrong, http.StatusUnprocessableEntity, "The password is wrong.", "What you typed is kept.")
	if strings.Contains(wrong.text, "wrong-secret") {
		t.Error("the page shows the password")
	}
	b.app.forget("POST /app/sign-in/again")
	filled := b.post("/console/sign-in/again", "password", "secret", "code", "123456", "next", next, "was", was)
	b.expect(filled, http.StatusOK, "Thank you. Check what you typed, and send it again.", "Invite a member", `value="bob&lt;b&gt;"`, `value="Bob"`, `value="event" checked`, `value="api" checked`)
	b.expect(b.post("/console/sign-in/again", "password", "secret", "code", "123456", "next", next, "was", ""), http.StatusSeeOther)
	b.expect(b.get(next), http.StatusOK, "<p dir=\"auto\">Thank you. Nothing is changed yet.</p>") // nothing was typed
	b.app.answer("PUT /app/profile/password", answer{403, `{"error": "Sign in again."}`, true})
	if again := b.post("/console/profile/security/password", "current", "old-secret", "password", "new-secret"); strings.Contains(again.text, "-secret") {
		t.Errorf("a password is kept: %s", again.text)
	}
}

func TestAConflictShowsBothValues(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("PATCH /app/users/"+other, answer{409, `{"error": "The record has changed."}`, false})
	got := b.post("/console/users/"+other, "firstName", "Grace", "lastName", "Ada", "email", "Ada", "roles", "admin", "allowPasswordAuth", "on", "version", "2")
	b.expect(got, http.StatusConflict, "Keep mine", "Take theirs", "Grace", "Administrator, Events", `name="version" value="3"`, `name="firstName" value="Grace"`)
	b.app.answer("PATCH /app/users/"+other, answer{409, `{"error": "The last administrator stays."}`, false})
	b.expect(b.post("/console/users/"+other, "firstName", "Grace", "lastName", "Ada", "email", "Ada", "roles", "event", "version", "3"), http.StatusUnprocessableEntity, "The last administrator stays.")
}

func TestAnEndedSessionLeadsBackToThePage(t *testing.T) {
	b := open(t, "Ada")
	b.member.Session = ""
	if got := b.get("/console/users?q=a").header.Get("Location"); got != "/console/sign-in?next=%2Fconsole%2Fusers%3Fq%3Da" {
		t.Error(got)
	}
	form := url.Values{"username": {"bob"}}
	if got := b.send(post, "/console/users/new", form, "Referer", "https://console.example.com/console/users/new").header.Get("Location"); got != "/console/sign-in?kept=1&next=%2Fconsole%2Fusers%2Fnew" {
		t.Error(got)
	}
	b.expect(b.get("/console/sign-in?kept=1&next=%2Fconsole%2Fusers%2Fnew"), http.StatusOK, `name="kept" value="1"`)
	b.post("/console/sign-in", "username", "ada", "password", "secret", "next", "/console/users/new", "kept", "1")
	b.member.Session = session
	b.expect(b.get("/console/users/new"), http.StatusOK, "data-kept", "You are signed in again.")
	if got := b.get("/console/users/new"); strings.Contains(got.text, "data-kept") {
		t.Error("a status line is shown twice")
	}
}

func TestASuccessLeadsToAPageWithAStatusLine(t *testing.T) {
	b := open(t, "Ada")
	got := b.post("/console/users/"+other+"/disable", "once", "x")
	b.expect(got, http.StatusBadRequest) // once belongs to the address
	got = b.send(post, "/console/users/"+other+"/disable?once=x", url.Values{})
	b.expect(got, http.StatusSeeOther)
	b.expect(b.get(got.header.Get("Location")), http.StatusOK, `role="status"`, "Ada Ada can no longer sign in.", "/console/users/"+other+"/enable", "Undo")
	if body := b.app.body("PATCH /app/users/" + other); body != `{"disabled":true}` {
		t.Error(body)
	}
	for _, cookie := range []string{"saved.!.!", "unknown..", "disabled." + "QQ." + "L2V2aWw", strings.Repeat("x", 3000)} {
		b.cookies["__Host-bellbuoy-notice"] = cookie
		if got := b.get("/console/profile"); got.status != http.StatusOK || strings.Contains(got.text, "Undo") {
			t.Errorf("%s: %d", cookie, got.status)
		}
	}
}

func TestASecretIsShownOnceAndNotCompressed(t *testing.T) {
	b := open(t, "Ada")
	for _, got := range []response{
		b.post("/console/profile/keys", "name", "deploy"),
		b.post("/console/profile/legacy-key"),
		b.post("/console/users/new", "username", "bob", "email", "b@example.com", "roles", "event"),
		b.post("/console/profile/security/app"),
		b.post("/console/profile/security/app/confirm", "code", "123456", "secret", "JBSWY3DPEHPK3PXP", "url", "otpauth://totp/x"),
		b.post("/console/profile/security/recovery-codes"),
	} {
		if got.status != http.StatusOK || got.header.Get("Content-Encoding") != "" || got.header.Get(web.SecretHeader) == "" {
			t.Errorf("%d %v: %s", got.status, got.header, got.text)
		}
	}
	b.expect(b.post("/console/profile/keys", "name", "deploy"), http.StatusOK, other+":secret", "https://app.example.com/app/profile")
}

func TestAPartThatIsDownLeavesTheRestOfThePage(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/profile/passkeys", answer{503, `{}`, false})
	b.expect(b.get("/console/profile/security"), http.StatusOK, "The passkeys cannot be shown right now.", "Sessions")
	b.app.answer("GET /app/users", answer{503, `{}`, false})
	got := b.get("/console/users")
	b.expect(got, http.StatusServiceUnavailable, "cannot be reached", "request-1", "Try again")
	b.app.answer("GET /app/users/"+other, answer{404, `{"error": "There is no such user."}`, false})
	b.expect(b.get("/console/users/"+other), http.StatusNotFound, "Page not found", "request-1")
	b.app.answer("GET /app/profile", answer{503, `{}`, false})
	b.expect(b.get("/console/profile"), http.StatusServiceUnavailable, "request-1")
	b.expect(b.send(http.MethodDelete, "/console/users", nil), http.StatusMethodNotAllowed, "request-1")
}

func TestAMemberWithoutARequiredSecondFactorSetsOneUpFirst(t *testing.T) {
	b := open(t, "Ada")
	b.member.Roles = nil
	profile := func(change ...string) {
		b.app.answer("GET /app/profile", answer{200, strings.NewReplacer(change...).Replace(b.app.usual("GET /app/profile")), false})
	}
	profile(`"secondFactorRequired": false`, `"secondFactorRequired": true`)
	for _, path := range []string{"/console/", "/console/users", "/console/profile"} {
		if got := b.get(path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/profile/security" {
			t.Errorf("%s: %d to %s", path, got.status, got.header.Get("Location"))
		}
	}
	b.expect(b.get("/console/profile/security"), http.StatusOK, "requires a second factor", "Show yours")
	b.expect(b.get("/console/profile/security/app"), http.StatusOK)
	if got := b.get("/console/sign-in/again"); strings.Contains(got.text, lostFactors) {
		t.Errorf("a member with an app can use a recovery code: %s", got.text)
	}

	// A passkey alone cannot be replaced by a password.
	profile(`"secondFactorRequired": false`, `"secondFactorRequired": true`, `"totp": true`, `"totp": false`)
	b.expect(b.get("/console/profile/security"), http.StatusOK, "Show yours")
	b.expect(b.get("/console/sign-in/again"), http.StatusOK, "Use a passkey", lostFactors)

	// With single sign-on only, the passkey is not accepted.
	profile(`"secondFactorRequired": false`, `"secondFactorRequired": true`, `"totp": true`, `"totp": false`, `"signOn": true, "signOnOnly": false`, `"signOn": false, "signOnOnly": true`, `"allowPasswordAuth": true`, `"allowPasswordAuth": false`)
	b.expect(b.get("/console/profile/security"), http.StatusOK, "Set up an app to continue.")
	got := b.get("/console/sign-in/again")
	b.expect(got, http.StatusOK, "/console/sign-in/sso")
	for _, refused := range []string{"Use a passkey", `name="password"`, lostFactors, "What you typed"} {
		if strings.Contains(got.text, refused) {
			t.Errorf("the page offers %q: %s", refused, got.text)
		}
	}
}

const lostFactors = "Have you lost your passkey?"

func TestPagesAndFilesAreSmall(t *testing.T) {
	b := open(t, "Ada Lovelace")
	first, scripts := b.get("/console/").size, 0
	for _, name := range []string{"style.css", "console.js", "icons.svg", "passkey.js", "order.js", "work.js", "import.js", "move.js"} {
		files, err := assets.New()
		if err != nil {
			t.Fatal(err)
		}
		got := b.send(get, files.Address(name), nil, "Accept-Encoding", "gzip, br")
		b.expect(got, http.StatusOK)
		if got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %s", name, got.header.Get("Cache-Control"))
		}
		if strings.HasSuffix(name, ".js") {
			scripts += got.size
		}
		if !slices.Contains([]string{"passkey.js", "order.js", "work.js", "import.js", "move.js"}, name) {
			first += got.size
		}
	}
	if first > 40<<10 || scripts > 12<<10 { // the goal for all scripts is 10 KB; without the two imports they are below
		t.Errorf("the first visit has %d bytes, all scripts have %d", first, scripts)
	}
	t.Logf("the first visit has %d bytes, all scripts have %d", first, scripts)
	for _, r := range b.pages {
		if r.method != get || leavesAtOnce(r) {
			continue
		}
		if got := b.get(address(r) + "?token=x"); got.size > 12<<10 {
			t.Errorf("%s has %d bytes", r, got.size)
		}
	}
}

// Without a session, with any method, and for an unknown name, a request for a file gets no page and no redirect. A browser
// refuses a page as a script.
func TestAFileIsNeverAPage(t *testing.T) {
	b := open(t, "Ada")
	files, err := assets.New()
	if err != nil {
		t.Fatal(err)
	}
	name := files.Address("console.js")
	for _, signedIn := range []string{session, ""} {
		b.member.Session = signedIn
		for path, want := range map[string]int{
			name: http.StatusOK, assets.Prefix + "console.AAAAAAAAAAAA.js": http.StatusOK,
			assets.Prefix + "console.css": http.StatusNotFound, assets.Prefix + "no.AAAAAAAAAAAA.js": http.StatusNotFound, assets.Prefix: http.StatusNotFound, assets.Prefix + "../users": http.StatusNotFound,
		} {
			got := b.get(path)
			media, cache := "text/plain; charset=utf-8", "no-store"
			if want == http.StatusOK {
				media = "text/javascript; charset=utf-8"
			}
			if path == name {
				cache = "public, max-age=31536000, immutable"
			}
			if got.status != want || got.header.Get("Content-Type") != media || got.header.Get("Cache-Control") != cache || got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", path, got.status, got.header)
			}
		}
		for _, method := range []string{post, http.MethodPut, http.MethodOptions} {
			if got := b.send(method, name, nil); got.status != http.StatusMethodNotAllowed || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s: %d %v", method, got.status, got.header)
			}
		}
	}
	least := 0
	for _, coding := range []string{"br", "gzip", ""} {
		file := b.send(get, name, nil, "Accept-Encoding", coding)
		head := b.send(http.MethodHead, name, nil, "Accept-Encoding", coding)
		if file.header.Get("Content-Encoding") != coding || file.header.Get("Content-Length") != strconv.Itoa(file.size) || file.size <= least {
			t.Errorf("%q: %d bytes, %v", coding, file.size, file.header)
		}
		if !reflect.DeepEqual(head.header, file.header) || head.status != http.StatusOK {
			t.Errorf("HEAD with %q: %d %v", coding, head.status, head.header)
		}
		least = file.size
	}
	for accept, coding := range map[string]string{"br;q=0, gzip": "gzip", "gzip;q=0": "", "BR": "br", "x-brand, broken": ""} {
		if file := b.send(get, name, nil, "Accept-Encoding", accept); file.header.Get("Content-Encoding") != coding {
			t.Errorf("%q: the coding is %q", accept, file.header.Get("Content-Encoding"))
		}
	}
	// While an upgrade is under way, a page of another version gets the style and the scripts of this one.
	if old, own := b.get(assets.Prefix+"console.AAAAAAAAAAAA.js"), b.get(name); old.text != own.text || old.text == "" {
		t.Errorf("the script of another version: %s", old.text)
	}
}

func TestACredentialOfAPasskeyReachesTheService(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.post("/console/profile/security/passkeys/options"), http.StatusOK, `"ticket":"t"`)
	b.expect(b.post("/console/profile/security/passkeys/new", "name", "Laptop", "ticket", "t", "credential", `{"id": "x"}`), http.StatusSeeOther)
	if body := b.app.body("POST /app/profile/passkeys"); body != `{"ticket":"t","credential":{"id":"x"},"name":"Laptop"}` {
		t.Error(body)
	}
	b.expect(b.post("/console/profile/security/passkeys/new", "name", "Laptop"), http.StatusUnprocessableEntity, "Passkeys need JavaScript.")
	b.app.answer("POST /app/profile/passkeys/options", answer{403, `{"error": "Sign in again."}`, true})
	b.expect(b.post("/console/profile/security/passkeys/options"), http.StatusForbidden, `{"again":true}`)
	got := b.post("/console/sign-in/again", "password", "secret", "next", "/console/profile/security/passkeys/new?name=Work+%26+home", "was", "")
	b.expect(b.get(got.header.Get("Location")), http.StatusOK, `name="name" type="text" maxlength="60" value="Work &amp; home"`)
}

func TestSingleSignOnKeepsItsStateInACookie(t *testing.T) {
	b := open(t, "Ada")
	b.member.Session = ""
	got := b.get("/console/sign-in/sso/acme?next=/console/users")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "https://login.example.com/authorize?x=1" || b.cookies["__Host-bellbuoy-sign-on"] != "state" {
		t.Errorf("%d to %s, %v", got.status, got.header.Get("Location"), b.cookies)
	}
	got = b.get("/console/sign-in/sso-callback/o?code=c&state=s")
	b.expect(got, http.StatusSeeOther)
	if body := b.app.body("POST /app/sign-in/sso/finish"); body != `{"state":"state","organizationId":"o","query":"code=c\u0026state=s"}` {
		t.Error(body)
	}
	b.expect(b.get("/console/sign-in/sso-callback/o?code=c"), http.StatusForbidden, "expired")
	b.app.answer("POST /app/sign-in/sso/finish", answer{403, `{"error": "The address is not verified."}`, false})
	b.cookies["__Host-bellbuoy-sign-on"] = "state"
	b.expect(b.get("/console/sign-in/sso-callback/o?code=c"), http.StatusForbidden, "The sign-in did not work", "The address is not verified.", "request-1")
	b.app.answer("GET /app/sign-in/providers", answer{200, `{"provider": null}`, false})
	b.expect(b.get("/console/sign-in/sso?name=nobody"), http.StatusUnprocessableEntity, "No organization signs in with this name.")
}

func TestTheRolesOfAProviderAreReadByLine(t *testing.T) {
	byValue, wrong := readRoleMap("admins = admin, event\n\n a=b = api\n")
	if wrong != "" || !slices.Equal(byValue["admins"], []string{"admin", "event"}) || !slices.Equal(byValue["a=b"], []string{"api"}) {
		t.Error(byValue, wrong)
	}
	for _, text := range []string{"admins", "admins = root", "= admin"} {
		if _, wrong := readRoleMap(text); wrong == "" {
			t.Errorf("%q is read", text)
		}
	}
}

func TestTheAuditLogCutsLongValuesUntilOneRecordIsChosen(t *testing.T) {
	b := open(t, "Ada")
	entry := func(value string) string {
		return `{"entries": [{"id": "1", "occurredAt": "2026-01-31T09:30:00.000Z", "actor": {"type": "scheduler"}, "action": "subscriber.import", "entityType": "subscriber", "entityId": "` + other + `", "entityName": "x",
			"changedFields": ["note"], "before": {"note": "` + value + `a"}, "after": {"note": "` + value + `b"}, "ip": null, "requestId": null, "surface": "app"}], "nextToken": null}`
	}
	long := strings.Repeat("ä", maxValue)
	b.app.answer("GET /app/audit", answer{200, entry(long), false})
	got := b.get("/console/audit?entityType=subscriber")
	b.expect(got, http.StatusOK, ">"+long[2:]+"…<", `href="/console/audit?action=subscriber.import&amp;entityId=`+other+`">Show the whole values`)
	if strings.Contains(got.text, long+"a") || strings.Contains(got.text, long+"b") {
		t.Error("a value is not cut")
	}
	got = b.get("/console/audit?action=subscriber.import&entityId=" + other)
	b.expect(got, http.StatusOK, ">"+long+"a<", ">"+long+"b<")
	if strings.Contains(got.text, "Show the whole values") {
		t.Error("the whole values link to themselves")
	}
	b.app.answer("GET /app/audit", answer{200, entry(long[2:]), false})
	if got := b.get("/console/audit"); !strings.Contains(got.text, ">"+long[2:]+"a<") || strings.Contains(got.text, "Show the whole values") {
		t.Error("a value of the longest length is cut")
	}
}

func TestEveryActionOfTheAuditLogReadsAsWords(t *testing.T) {
	for action, want := range map[string]string{
		"event.timeline.create": "Event timeline created", "event.post_mortem.update": "Event post mortem updated", "endpoint.verify": "Endpoint verified",
		"endpoint.manage": "Endpoint managed", "subscriber.resend": "Subscriber resent", "user.sign_in.refuse": "Sign-in refused",
	} {
		if got := phrase(action); got != want {
			t.Errorf("%s: %q instead of %q", action, got, want)
		}
	}
}

// If no administrator has a way back in, the one who enforces single sign-on becomes this administrator, but only with the
// tick.
func TestTheAdminWhoEnforcesSingleSignOnKeepsAPassword(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("PUT /app/organization/sign-on", answer{409, `{"error": "Allow one admin who has a password to use it."}`, false})
	save := func(more ...string) string {
		b.expect(b.post("/console/sign-on", append(more, "name", "acme", "label", "Acme", "issuer", "https://login.example.com", "clientId", "status", "enforced", "on")...),
			http.StatusUnprocessableEntity, "Allow one admin who has a password to use it.", "Keep my password as this way back in")
		return b.app.body("PATCH /app/users/" + member)
	}
	if sent := save(); sent != "" {
		t.Errorf("without the tick, the console sends %s", sent)
	}
	if sent := save("keepPassword", "on"); sent != `{"allowPasswordAuth":true}` {
		t.Errorf("with the tick, the console sends %s", sent)
	}
}
