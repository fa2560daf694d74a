package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// colleague is somebody with a browser, who sends the forms of the console through the gateway.
type colleague struct {
	t      testing.TB
	base   string // of the console
	ip     string
	client *http.Client
}

func newColleague(t testing.TB, base, ip string) *colleague {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &colleague{t, strings.Replace(base, "127.0.0.1", "localhost", 1) + "/console", ip, &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

// do sends a request, follows redirects, and returns the status, the path of the last page, and the page.
func (p *colleague) do(method, path string, form url.Values) (status int, at, page string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("X-Forwarded-For", p.ip)
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Request.URL.Path, string(content)
}

func (p *colleague) signIn(name, password string) (status int, at, page string) {
	p.t.Helper()
	return p.do(http.MethodPost, "/sign-in", url.Values{"username": {name}, "password": {password}})
}

// expectIn fails the test unless the person is signed in after the form.
func (p *colleague) expectIn(what string, status int, at, page string) {
	p.t.Helper()
	if status != http.StatusOK || at != "/console/" || !strings.Contains(page, "/console/sign-out") {
		p.t.Errorf("%s: %d %s %.600s", what, status, at, page)
	}
}

// The link of the first start sets the admin's password. From then on the admin signs in, also while strangers try to
// sign in with the admin's name from everywhere, and on another machine after a restore from a backup.
func TestTheFirstAdminSignsInWhateverStrangersDo(t *testing.T) {
	p, base := started(t, "BELLBUOY_TRUSTED_PROXIES=127.0.0.0/8")
	var c credentials
	readJSON(t, filepath.Join(dataFolder(p), "credentials.json"), &c)
	link, err := url.Parse(c.ConsoleURL)
	if err != nil {
		t.Fatal(err)
	}
	admin := newColleague(t, base, "192.0.2.1")
	accept := url.Values{"token": {link.Query().Get("token")}, "password": {memberPassword}, "firstName": {"Ada"}, "lastName": {"Lovelace"}}
	status, at, page := admin.do(http.MethodPost, "/welcome", accept)
	admin.expectIn("the first link", status, at, page)
	if status, _, page := newColleague(t, base, "192.0.2.2").do(http.MethodPost, "/welcome", accept); status != http.StatusNotFound {
		t.Errorf("the first link, once more: %d %.300s", status, page)
	}
	if status, at, page := admin.do(http.MethodPost, "/sign-out", url.Values{}); status != http.StatusOK || at != "/console/sign-in" {
		t.Errorf("sign out: %d %s %.300s", status, at, page)
	}
	if _, at, _ := admin.do(http.MethodGet, "/", nil); at != "/console/sign-in" {
		t.Errorf("signed out, the console shows %s", at)
	}
	other := newColleague(t, base, "192.0.2.2")
	status, at, page = other.signIn(c.Username, memberPassword)
	other.expectIn("another browser", status, at, page)

	for i := range 10 {
		stranger := newColleague(t, base, fmt.Sprint("198.51.100.", i))
		for range 10 {
			if status, _, page := stranger.signIn(c.Username, "a wrong password"); status != http.StatusUnprocessableEntity {
				t.Fatalf("a stranger: %d %.300s", status, page)
			}
		}
	}
	if status, _, page := newColleague(t, base, "203.0.113.9").signIn(c.Username, memberPassword); status != http.StatusTooManyRequests {
		t.Errorf("a browser that is not known: %d %.300s", status, page)
	}
	status, at, page = admin.signIn(c.Username, memberPassword)
	admin.expectIn("the known browser", status, at, page)

	file := filepath.Join(t.TempDir(), "backup.zip")
	succeed(t, []string{"BELLBUOY_DATA=" + dataFolder(p)}, "backup", file)
	p.stop()
	elsewhere := filepath.Join(t.TempDir(), "data")
	succeed(t, []string{"BELLBUOY_DATA=" + elsewhere}, "restore", file)
	address := apitest.FreeAddress(t)
	restored := newProcess(t, "bellbuoy", "standalone", "BELLBUOY_ADDR="+address, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", "BELLBUOY_DATA="+elsewhere)
	restored.start()
	eventually(t, time.Minute, "ready after the restore", ready("http://"+address))
	admin.base = "http://localhost:" + address[strings.LastIndex(address, ":")+1:] + "/console" // cookies are for all ports
	if status, at, page := admin.do(http.MethodGet, "/", nil); status != http.StatusOK || at != "/console/" {
		t.Errorf("the session after the restore: %d %s %.300s", status, at, page)
	}
	status, at, page = admin.signIn(c.Username, memberPassword)
	admin.expectIn("the password after the restore", status, at, page)
	if status, _, page := admin.signIn(c.Username, "a wrong password"); status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong password after the restore: %d %.300s", status, page)
	}
}
