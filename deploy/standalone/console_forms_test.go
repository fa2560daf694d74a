package main_test

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// plainBrowser is a browser without script: it opens pages of the console and sends the forms that are on them.
type plainBrowser struct {
	t       *testing.T
	console string
	http    *http.Client
	path    string // of the page that is shown
	page    answer
}

func (c *cluster) plainBrowser(t *testing.T) *plainBrowser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &plainBrowser{t: t, console: c.base + "/console", http: &http.Client{Transport: client.Transport, Jar: jar}}
}

// show sends the request, follows redirects, and expects the status and the texts on the page.
func (r *plainBrowser) show(request *http.Request, status int, texts ...string) {
	r.t.Helper()
	response, err := r.http.Do(request.WithContext(r.t.Context()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.path = response.Request.URL.RequestURI()
	if r.page, err = readAnswer(response); err != nil {
		r.t.Fatal(err)
	}
	r.page.expect(r.t, status)
	for _, text := range texts {
		if !strings.Contains(string(r.page.body), text) {
			r.t.Fatalf("%s lacks %q: %s", r.path, text, r.page.body)
		}
	}
}

func (r *plainBrowser) open(path string, status int, texts ...string) {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodGet, r.console+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.show(request, status, texts...)
}

var (
	formPattern   = regexp.MustCompile(`(?s)<form[^>]*method="post" action="([^"?]*)(\?once=[^"]*)?".*?</form>`)
	hiddenPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// send sends the form of the page with this action, with its hidden fields and these values.
func (r *plainBrowser) send(action string, fields url.Values, status int, texts ...string) {
	r.t.Helper()
	for _, form := range formPattern.FindAllStringSubmatch(string(r.page.body), -1) {
		if form[1] != "/console"+action {
			continue
		}
		for _, field := range hiddenPattern.FindAllStringSubmatch(form[0], -1) {
			if !fields.Has(field[1]) {
				fields.Set(field[1], html.UnescapeString(field[2]))
			}
		}
		request, err := http.NewRequest(http.MethodPost, strings.TrimSuffix(r.console, "/console")+form[1]+form[2], strings.NewReader(fields.Encode()))
		if err != nil {
			r.t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.show(request, status, texts...)
		return
	}
	r.t.Fatalf("%s has no form for %s: %s", r.path, action, r.page.body)
}

// find returns the first group of the pattern on the page.
func (r *plainBrowser) find(pattern string) string {
	r.t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(r.page.body)
	if found == nil {
		r.t.Fatalf("%s lacks %s: %s", r.path, pattern, r.page.body)
	}
	return html.UnescapeString(string(found[1]))
}

// A member without script signs in by an invitation, changes the profile, invites a colleague, meets a conflict, and
// creates a key that works.
func TestMembersUseTheConsoleWithoutScript(t *testing.T) {
	cluster := startCluster(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	var invitation struct{ URL string }
	send(t, http.MethodPost, cluster.base+"/operator/v1/users/"+acme.UserID+"/invitation", acme.operator(), nil).expect(t, http.StatusCreated).into(t, &invitation)
	_, welcome, _ := strings.Cut(invitation.URL, "/console")

	r := cluster.plainBrowser(t)
	r.open("/users?q=a", http.StatusOK, "Sign in")
	r.open(welcome, http.StatusOK, "Welcome to Acme")
	r.send("/welcome", url.Values{"password": {"short"}}, http.StatusUnprocessableEntity, "There is a problem", `aria-describedby="password-problem`)
	r.send("/welcome", url.Values{"password": {memberPassword}, "firstName": {"Ada"}, "lastName": {"<b>Lovelace"}}, http.StatusOK, "Overview", "Ada &lt;b&gt;Lovelace")
	r.open(welcome, http.StatusNotFound, "This link does not work")

	r.open("/profile", http.StatusOK)
	r.send("/profile", url.Values{"firstName": {"Ada"}, "lastName": {"Lovelace"}, "email": {"ada@acme.example"}, "timeZone": {"Nowhere/City"}, "theme": {"dark"}, "density": {"compact"}},
		http.StatusUnprocessableEntity, "Enter a name such as Europe/Berlin", `value="Nowhere/City"`)
	r.send("/profile", url.Values{"firstName": {"Ada"}, "lastName": {"Lovelace"}, "email": {"ada@acme.example"}, "timeZone": {"Asia/Tokyo"}, "theme": {"dark"}, "density": {"compact"}},
		http.StatusOK, "Saved.", `data-theme="dark"`, `value="Asia/Tokyo"`)

	grace := url.Values{"username": {"grace"}, "email": {"grace@acme.example"}, "firstName": {"Grace"}, "lastName": {"Hopper"}, "roles": {"event"}}
	r.open("/users/new", http.StatusOK)
	wrong := url.Values{"username": {"gr ace"}, "email": {"grace"}, "firstName": {"Grace"}}
	r.send("/users/new", wrong, http.StatusUnprocessableEntity, `value="gr ace"`, "Choose an option.")
	r.send("/users/new", grace, http.StatusOK, "Grace Hopper is invited", "/console/welcome?token=")
	r.open("/users", http.StatusOK, "Grace Hopper")
	member := r.find(`href="/console(/users/[0-9a-f-]{36})"><bdi>Grace`)

	r.open(member, http.StatusOK)
	other := cluster.plainBrowser(t)
	other.http.Jar = r.http.Jar
	other.open(member, http.StatusOK)
	other.send(member, url.Values{"email": {"grace@acme.example"}, "firstName": {"Grace"}, "lastName": {"Brewster"}, "roles": {"event"}}, http.StatusOK, "Saved.")
	r.send(member, url.Values{"email": {"grace@acme.example"}, "firstName": {"Amazing"}, "lastName": {"Hopper"}, "roles": {"event"}}, http.StatusConflict, "Brewster", "Amazing", "Keep mine")
	r.send(member, url.Values{}, http.StatusOK, "Saved.", `value="Amazing"`, `value="Hopper"`)
	r.send(member+"/disable", url.Values{}, http.StatusOK, "Amazing Hopper can no longer sign in.", "Undo")
	r.send(member+"/enable", url.Values{}, http.StatusOK, "can sign in again")
	r.open(member+"/delete", http.StatusOK, "All keys of Amazing Hopper stop working")
	r.send(member+"/delete", url.Values{}, http.StatusOK, "Amazing Hopper is deleted.")

	r.open("/profile/keys", http.StatusOK)
	r.send("/profile/keys", url.Values{"name": {"deploy"}}, http.StatusOK, "It is shown only this once.")
	key := r.find(`<code id="key">([^<]*)</code>`)
	send(t, http.MethodGet, cluster.base+"/app/profile", "Bearer "+key, nil).expect(t, http.StatusOK)
	r.open("/profile/keys", http.StatusOK, "deploy")
	r.open(r.find(`href="/console(/profile/keys/`+strings.Split(key, ":")[0]+`/revoke)"`), http.StatusOK)
	r.send("/profile/keys/"+strings.Split(key, ":")[0]+"/revoke", url.Values{}, http.StatusOK, "The key is revoked.")
	send(t, http.MethodGet, cluster.base+"/app/profile", "Bearer "+key, nil).expect(t, http.StatusForbidden)

	r.send("/sign-out", url.Values{}, http.StatusOK, "You are signed out.")
	r.open("/users", http.StatusOK, "Sign in")
	if !strings.HasSuffix(r.path, "next=%2Fconsole%2Fusers") {
		t.Errorf("the sign-in is at %s", r.path)
	}
	r.send("/sign-in", url.Values{"username": {"acme-admin"}, "password": {"wrong"}}, http.StatusUnprocessableEntity, "There is a problem", `value="acme-admin"`)
	r.send("/sign-in", url.Values{"username": {"acme-admin"}, "password": {memberPassword}}, http.StatusOK, "Members")
}
