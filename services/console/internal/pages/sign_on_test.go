package pages

import (
	"net/http"
	"strings"
	"testing"
)

// After a single sign-on the script restores what was typed on the page that the member wanted, as after a sign-in by password.
func TestASingleSignOnLeadsBackToWhatWasTyped(t *testing.T) {
	b := open(t, "Ada")
	b.member.Session = ""
	query := "?kept=1&next=%2Fconsole%2Fusers%2Fnew"
	inHTML := strings.ReplaceAll(query, "&", "&amp;")
	b.expect(b.get("/console/sign-in"+query), http.StatusOK, `href="/console/sign-in/sso/acme`+inHTML+`"`)
	b.expect(b.get("/console/sign-in"), http.StatusOK, `href="/console/sign-in/sso/acme"`)
	b.app.answer("GET /app/sign-in/providers", answer{200, `{"provider": null}`, false})
	b.expect(b.get("/console/sign-in"+query), http.StatusOK, `href="/console/sign-in/sso`+inHTML+`"`)
	b.expect(b.get("/console/sign-in/sso"+query), http.StatusOK, `name="next" value="/console/users/new"`, `name="kept" value="1"`)
	b.app.forget("GET /app/sign-in/providers")
	got := b.get("/console/sign-in/sso" + query + "&name=acme")
	if at := got.header.Get("Location"); at != "/console/sign-in/sso/acme"+query {
		t.Errorf("the name leads to %s", at)
	}

	b.app.answer("POST /app/sign-in/sso/finish", answer{200, strings.Replace(b.app.usual("POST /app/sign-in"), `"next": ""`, `"next": "/console/users/new"`, 1), false})
	enter := func(query string) response {
		t.Helper()
		b.member.Session = ""
		b.expect(b.get("/console/sign-in/sso/acme"+query), http.StatusSeeOther)
		got := b.get("/console/sign-in/sso-callback/o?code=c&state=s")
		if at := got.header.Get("Location"); at != "/console/users/new" {
			t.Errorf("the sign-on leads to %s: %s", at, got.text)
		}
		if body := b.app.body("POST /app/sign-in/sso/finish"); !strings.Contains(body, `"state":"state"`) {
			t.Error(body)
		}
		b.member.Session = session
		return b.get("/console/users/new")
	}
	b.expect(enter(query), http.StatusOK, "data-kept", "You are signed in again.")
	if got := enter("?next=%2Fconsole%2Fusers%2Fnew"); strings.Contains(got.text, "data-kept") {
		t.Errorf("nothing was kept: %s", got.text)
	}

	// Also with a second factor.
	b.app.answer("POST /app/sign-in/sso/finish", answer{200, `{"secondFactor": {"ticket": "t", "app": true}, "next": "/console/users/new"}`, false})
	b.member.Session = ""
	b.expect(b.get("/console/sign-in/sso/acme"+query), http.StatusSeeOther)
	if at := b.get("/console/sign-in/sso-callback/o?code=c&state=s").header.Get("Location"); at != "/console/sign-in/code"+query {
		t.Errorf("the sign-on leads to %s", at)
	}
	// A sign-in in another tab restores the form, too.
	b.member.Session = session
	if at := b.get("/console/sign-in" + query).header.Get("Location"); at != "/console/users/new" {
		t.Errorf("a member who is signed in comes to %s", at)
	}
	b.expect(b.get("/console/users/new"), http.StatusOK, "data-kept")

	// A change of who can sign in asks for a recent sign-in, and the tab keeps the form until the page after it.
	b.app.answer("POST /app/users", answer{403, `{"error": "Sign in again."}`, true})
	b.expect(b.post("/console/users/new", "username", "bob", "email", "b@example.com", "roles", "event"), http.StatusForbidden, `href="/console/sign-in/sso/acme`+inHTML+`"`, "data-keep")
	if got := b.get("/console/sign-in/again?next=%2Fconsole%2Fusers%2Fnew"); strings.Contains(got.text, "data-keep") || strings.Contains(got.text, "kept=1") {
		t.Errorf("nothing was typed: %s", got.text)
	}
}
