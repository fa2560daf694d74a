package main_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// consoleUser uses the console without script: it reads pages, and sends their forms with what it types.
type consoleUser struct {
	t      testing.TB
	origin string // origin of the console, such as http://localhost:8080
	ip     string // address of the person, which a trusted proxy names; empty: this machine
	client *http.Client
	at     *url.URL // address of the page
	status int
	text   string // HTML of the page
	page   *html.Node
}

// newConsoleUser returns a consoleUser with a new browser, who opens the console of the platform.
func newConsoleUser(t testing.TB, base string) *consoleUser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return &consoleUser{t: t, origin: "http://localhost:" + address.Port(), client: &http.Client{Jar: jar, Timeout: time.Minute}}
}

// open opens a page. It follows redirects, as a browser does.
func (p *consoleUser) open(path string, status int) *consoleUser {
	p.t.Helper()
	address := path
	if !strings.HasPrefix(address, "http") {
		address = p.origin + "/console" + path
	}
	return p.load(http.MethodGet, address, nil, status)
}

func (p *consoleUser) load(method, address string, form url.Values, status int) *consoleUser {
	p.t.Helper()
	return p.loadBody(method, address, strings.NewReader(form.Encode()), formMedia, status)
}

const formMedia = "application/x-www-form-urlencoded"

// loadBody is load for a body of a media type.
func (p *consoleUser) loadBody(method, address string, body io.Reader, media string, status int) *consoleUser {
	p.t.Helper()
	p.fetch(method, address, body, media)
	return p.expectStatus(method, status)
}

// expectStatus fails the test unless the page has the status.
func (p *consoleUser) expectStatus(method string, status int) *consoleUser {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s %s: %d instead of %d: %s", method, p.at, p.status, status, p.words())
	}
	return p
}

// fetch gets a page of any status.
func (p *consoleUser) fetch(method, address string, body io.Reader, media string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, address, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", media)
		request.Header.Set("Origin", p.origin)
	}
	if p.ip != "" {
		request.Header.Set("X-Forwarded-For", p.ip)
	}
	if p.at != nil {
		request.Header.Set("Referer", p.at.String())
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := readAnswer(response)
	if err != nil {
		p.t.Fatal(err)
	}
	p.at, p.status, p.text = response.Request.URL, got.status, string(got.body)
	if p.page, err = html.Parse(bytes.NewReader(got.body)); err != nil {
		p.t.Fatal(err)
	}
}

// fill sends the form of the page whose action ends with the path. The form keeps the values of the page for the fields that
// the person does not type. If the machine is too busy to check the password of a form in time, fill sends the form again.
func (p *consoleUser) fill(action string, typed url.Values, status int) *consoleUser {
	p.t.Helper()
	address, values := p.form(action)
	maps.Copy(values, typed)
	if status != http.StatusServiceUnavailable && (action == "/welcome" || action == "/sign-in") {
		eventually(p.t, time.Minute, "the password is checked", func() error {
			if p.fetch(http.MethodPost, address, strings.NewReader(values.Encode()), formMedia); p.status == http.StatusServiceUnavailable {
				return errors.New(p.words())
			}
			return nil
		})
		return p.expectStatus(http.MethodPost, status)
	}
	return p.load(http.MethodPost, address, values, status)
}

// form returns the address and the values of the page's form whose action ends with the path.
func (p *consoleUser) form(action string) (string, url.Values) {
	p.t.Helper()
	for form := range p.page.Descendants() {
		target, _, _ := strings.Cut(attribute(form, "action"), "?")
		if form.DataAtom != atom.Form || attribute(form, "method") != "post" || target != "/console"+action {
			continue
		}
		values := url.Values{}
		for field := range form.Descendants() {
			name, kind := attribute(field, "name"), attribute(field, "type")
			switch {
			case name == "" || has(field, "disabled") || (kind == "checkbox" || kind == "radio") && !has(field, "checked"):
			case field.DataAtom == atom.Input:
				values.Add(name, attribute(field, "value"))
			case field.DataAtom == atom.Textarea:
				values.Add(name, strings.ReplaceAll(textOf(field), "\n", "\r\n")) // html.Parse leaves out the first newline, as browsers do
			case field.DataAtom == atom.Select:
				values.Add(name, chosen(field))
			}
		}
		address, err := p.at.Parse(attribute(form, "action"))
		if err != nil {
			p.t.Fatal(err)
		}
		return address.String(), values
	}
	p.t.Fatalf("%s has no form for %s: %s", p.at, action, p.words())
	return "", nil
}

// chosen returns the value of the selected option of a select, or that of its first option if none is selected.
func chosen(field *html.Node) string {
	var options []*html.Node
	for option := range field.Descendants() {
		if option.DataAtom == atom.Option {
			options = append(options, option)
		}
	}
	return attribute(options[max(0, slices.IndexFunc(options, func(o *html.Node) bool { return has(o, "selected") }))], "value")
}

// expect fails the test unless the page is at the path and shows the texts.
func (p *consoleUser) expect(path string, texts ...string) *consoleUser {
	p.t.Helper()
	if p.at.Path != "/console"+path {
		p.t.Fatalf("the page is %s instead of %s: %s", p.at.Path, path, p.words())
	}
	for _, text := range texts {
		if !strings.Contains(p.words(), text) {
			p.t.Errorf("%s does not show %q: %s", path, text, p.words())
		}
	}
	return p
}

// words returns the text of the page.
func (p *consoleUser) words() string { return strings.Join(strings.Fields(textOf(p.page)), " ") }

// byID returns the text of the element with the id.
func (p *consoleUser) byID(id string) string {
	p.t.Helper()
	for node := range p.page.Descendants() {
		if attribute(node, "id") == id {
			return strings.TrimSpace(textOf(node))
		}
	}
	p.t.Fatalf("%s has no element #%s", p.at, id)
	return ""
}

// session returns the secret part of the cookie of the session.
func (p *consoleUser) session() string {
	p.t.Helper()
	if !p.signedIn() {
		p.t.Fatal("there is no session")
	}
	_, secret, _ := strings.Cut(p.cookie(), ":")
	return secret
}

// signedIn reports whether the browser has the cookie of a session.
func (p *consoleUser) signedIn() bool { return p.cookie() != "" }

// cookie returns the cookie of the session, or nothing.
func (p *consoleUser) cookie() string {
	for _, cookie := range p.client.Jar.Cookies(p.at) {
		if cookie.Name == passport.SessionCookie {
			return cookie.Value
		}
	}
	return ""
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(node *html.Node, name string) bool {
	for _, a := range node.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func textOf(node *html.Node) string {
	var text strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode && n.Parent.DataAtom != atom.Script && n.Parent.DataAtom != atom.Style {
			text.WriteString(n.Data)
		}
	}
	return text.String()
}

// app is the authenticator app of a person.
type app struct {
	secret string
	last   string // the code that was used last
}

// code returns a code that was not used yet. A code that the clock shows next is accepted, too.
func (a *app) code(t testing.TB) string {
	t.Helper()
	for _, at := range []time.Time{time.Now(), time.Now().Add(30 * time.Second)} {
		code, err := totp.GenerateCode(a.secret, at)
		if err != nil {
			t.Fatal(err)
		}
		if code != a.last {
			a.last = code
			return code
		}
	}
	t.Fatal("both codes are used")
	return ""
}

// typed returns the values of a form: name, value, name, value.
func typed(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values
}

// welcomed sets the password of the first member with the link that the first start prints.
func welcomed(t testing.TB, p *process, base string) (*consoleUser, credentials) {
	t.Helper()
	of := seeded(t, p)
	return welcome(t, base, of), of
}

// welcome opens the link of a new member, who chooses a password there.
func welcome(t testing.TB, base string, of credentials) *consoleUser {
	t.Helper()
	ada := newConsoleUser(t, base)
	ada.open(of.ConsoleURL, http.StatusOK).expect("/welcome", "You sign in as "+of.Username)
	return ada.fill("/welcome", typed("password", memberPassword), http.StatusOK).expect("/", "Overview")
}

// invited sets the password of a member with the link of an invitation.
func invited(t testing.TB, base string, of credentials) *consoleUser {
	t.Helper()
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	ada := newConsoleUser(t, base)
	ada.origin = base
	return ada.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
}

// TestAMemberUsesTheConsoleWithoutScript goes from the link of the first start to members, keys and second factors. It uses
// forms only.
func TestAMemberUsesTheConsoleWithoutScript(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	of := seeded(t, p)
	ada := newConsoleUser(t, base)

	ada.open("/users", http.StatusOK).expect("/sign-in")
	ada.open(of.ConsoleURL, http.StatusOK)
	ada.fill("/welcome", typed("firstName", "Augusta", "password", "short"), http.StatusUnprocessableEntity).
		expect("/welcome", "There is a problem", "Password must be 12 to 128 characters.")
	if !strings.Contains(ada.text, `value="Augusta"`) || strings.Contains(ada.text, `value="short"`) {
		t.Errorf("the form does not keep what was typed, or keeps the password: %s", ada.text)
	}
	ada.fill("/welcome", typed("password", memberPassword, "lastName", "<b>Lovelace"), http.StatusOK).expect("/", "2 of 9 done", "Augusta <b>Lovelace")
	ada.open(of.ConsoleURL, http.StatusNotFound).expect("/welcome", "It was used, it has expired, or a newer one replaced it.")

	ada.open("/profile", http.StatusOK).fill("/profile", typed("timeZone", "Mars/Base"), http.StatusUnprocessableEntity).expect("/profile", "Enter a name such as Europe/Berlin")
	ada.fill("/profile", typed("timeZone", "Europe/Berlin", "theme", "dark"), http.StatusOK).expect("/profile", "Saved")
	if !strings.Contains(ada.text, `value="Europe/Berlin"`) || !strings.Contains(ada.text, `value="Augusta"`) || !strings.Contains(ada.text, `data-theme="dark"`) {
		t.Errorf("the profile shows %s", ada.words())
	}

	// A second factor: its codes, a recovery code, and both only once.
	ada.open("/profile/security/app", http.StatusOK).fill("/profile/security/app", nil, http.StatusOK).expect("/profile/security/app")
	phone := app{secret: strings.ReplaceAll(ada.byID("secret"), " ", "")}
	ada.fill("/profile/security/app/confirm", typed("code", "000000"), http.StatusUnprocessableEntity)
	ada.fill("/profile/security/app/confirm", typed("code", phone.code(t)), http.StatusOK).expect("/profile/security/app/confirm", "Store these codes now.")
	codes := strings.Fields(ada.byID("codes"))
	if len(codes) != 10 {
		t.Fatalf("the recovery codes are %v", codes)
	}
	ada.open("/", http.StatusOK).expect("/", "3 of 9 done")
	ada.open("/sign-out", http.StatusOK).fill("/sign-out", nil, http.StatusOK).expect("/sign-in")
	ada.open("/profile", http.StatusOK).expect("/sign-in")
	ada.fill("/sign-in", typed("username", of.Username, "password", "a wrong password"), http.StatusUnprocessableEntity).expect("/sign-in", "The name or the password is wrong.")
	ada.fill("/sign-in", typed("username", of.Username, "password", memberPassword), http.StatusOK).expect("/sign-in/code", "Enter a code")
	ada.fill("/sign-in/code", typed("code", phone.last), http.StatusUnprocessableEntity).expect("/sign-in/code", "The code is wrong.")
	ada.fill("/sign-in/code", typed("code", codes[0]), http.StatusOK).expect("/profile")

	// A key, shown once, works with the line that the page shows, and stops when it is revoked.
	ada.open("/profile/keys", http.StatusOK).fill("/profile/keys", typed("name", "deploy"), http.StatusOK).expect("/profile/keys", "Copy the key now.")
	key := "Bearer " + ada.byID("key")
	if !strings.Contains(ada.byID("curl"), key) {
		t.Errorf("the line is %s", ada.byID("curl"))
	}
	send(t, http.MethodGet, base+"/app/profile", key, nil).expect(t, http.StatusOK)
	ada.open("/profile/keys", http.StatusOK).expect("/profile/keys", "deploy")
	if strings.Contains(ada.text, key[40:]) {
		t.Error("the key is shown again")
	}
	keyID, _, _ := strings.Cut(strings.TrimPrefix(key, "Bearer "), ":")
	ada.open("/profile/keys/"+keyID+"/revoke", http.StatusOK).expect("/profile/keys/"+keyID+"/revoke", "Revoke “deploy”?")
	ada.fill("/profile/keys/"+keyID+"/revoke", nil, http.StatusOK).expect("/profile/keys")
	send(t, http.MethodGet, base+"/app/profile", key, nil).expect(t, http.StatusForbidden)

	// A colleague is invited, gets a mail, signs in, and does not see what only admins may.
	ada.open("/users/new", http.StatusOK).fill("/users/new", typed("username", "grace", "email", "not an address"), http.StatusUnprocessableEntity).
		expect("/users/new", "Choose an option.")
	ada.fill("/users/new", typed("roles", "event"), http.StatusUnprocessableEntity).expect("/users/new", "must be an email address")
	ada.fill("/users/new", typed("email", "grace@example.com", "roles", "event"), http.StatusOK).expect("/users/new", "A mail is on its way to grace@example.com")
	link := ada.byID("link")
	mailed := regexp.MustCompile(regexp.QuoteMeta(link[:strings.Index(link, "=")+1]) + `\S+`)
	eventually(t, 30*time.Second, "the mail", func() error {
		for _, mail := range letters(t, dataFolder(p)) {
			if found := mailed.FindString(mail.text); mail.to == "grace@example.com" && found != "" {
				if found == link { // only the mail may have the link that proves the address
					t.Error("the mail has the link that was shown")
				}
				link = found
				return nil
			}
		}
		return errors.New("there is none with a link")
	})
	grace := newConsoleUser(t, base)
	grace.open(link, http.StatusOK).fill("/welcome", typed("password", "a watch over the harbour"), http.StatusOK).expect("/")
	grace.open("/users", http.StatusForbidden).expect("/users", "This page needs the role")
	grace.open("/nowhere", http.StatusNotFound)
	graceID := regexp.MustCompile(`/console/users/([0-9a-f-]{36})"><bdi>grace`).FindStringSubmatch(ada.open("/users", http.StatusOK).text)
	if graceID == nil {
		t.Fatalf("the members are %s", ada.words())
	}
	user := "/users/" + graceID[1]

	// Two admins change one member: the second sees what the first did.
	late := newConsoleUser(t, base)
	late.client.Jar = ada.client.Jar
	late.open(user, http.StatusOK)
	ada.open(user, http.StatusOK).fill(user, typed("firstName", "Grace"), http.StatusOK).expect(user, "Grace")
	late.fill(user, typed("firstName", "Gracie", "lastName", "Hopper"), http.StatusConflict).expect(user, "Grace", "Gracie", "Keep mine")
	late.fill(user, nil, http.StatusOK).expect(user, "Saved", "Gracie")

	ada.open(user, http.StatusOK).fill(user+"/disable", nil, http.StatusOK).expect(user, "Disabled", "Undo")
	grace.open("/profile", http.StatusOK).expect("/sign-in")
	grace.fill("/sign-in", typed("username", "grace", "password", "a watch over the harbour"), http.StatusUnprocessableEntity).expect("/sign-in", "The name or the password is wrong.")
	ada.open(user+"/delete", http.StatusOK).fill(user+"/delete", nil, http.StatusOK).expect("/users")
	ada.open(user, http.StatusNotFound)
	ada.open("/users/"+of.UserID+"/delete", http.StatusOK).fill("/users/"+of.UserID+"/delete", nil, http.StatusUnprocessableEntity).
		expect("/users/"+of.UserID+"/delete", "The organization needs an enabled admin.")

	// The audit log has the sign-ins and the changes, with nobody's secret.
	eventually(t, 30*time.Second, "the entries", func() error {
		if ada.open("/audit", http.StatusOK); !strings.Contains(ada.words(), "Member deleted: grace") {
			return errors.New("the last entry has not arrived")
		}
		return nil
	})
	ada.expect("/audit", "Member deleted: grace", "Signed in: "+of.Username)
	for _, secret := range append(codes, phone.secret, memberPassword) {
		if strings.Contains(ada.text, secret) {
			t.Errorf("the audit log shows %s", secret)
		}
	}

	// A forgotten password: the same page for every name, and a link that works once.
	for _, name := range []string{"nobody", of.Username} {
		grace.open("/forgotten", http.StatusOK).fill("/forgotten", typed("username", name), http.StatusOK).expect("/sign-in", "If there is a member with this name, a mail is on its way.")
	}
	var forgotten string
	eventually(t, 30*time.Second, "the mail with the link", func() error {
		for _, mail := range letters(t, dataFolder(p)) {
			if found := regexp.MustCompile(`http://localhost:\d+/console/forgotten\?token=\S+`).FindString(mail.text); found != "" {
				forgotten = found
				return nil
			}
		}
		return errors.New("there is none")
	})
	grace.open(forgotten, http.StatusOK).fill("/forgotten/new", typed("password", "another lighthouse"), http.StatusOK).expect("/sign-in/code")
	grace.fill("/sign-in/code", typed("code", codes[1]), http.StatusOK).expect("/")
	grace.open(forgotten, http.StatusNotFound)
	ada.open("/profile", http.StatusOK).expect("/sign-in") // the new password ended the other sessions
}

// TestARestoredBackupSignsMembersIn restores a backup elsewhere. With the same secret, the password, the app and a session
// work there; the backup contains none of them.
func TestARestoredBackupSignsMembersIn(t *testing.T) {
	t.Parallel()
	p, base := started(t, "BELLBUOY_SECRET="+secret)
	ada, of := welcomed(t, p, base)
	ada.open("/profile/security/app", http.StatusOK).fill("/profile/security/app", nil, http.StatusOK)
	phone := app{secret: strings.ReplaceAll(ada.byID("secret"), " ", "")}
	ada.fill("/profile/security/app/confirm", typed("code", phone.code(t)), http.StatusOK)
	codes := strings.Fields(ada.byID("codes"))
	session := ada.session()

	file := filepath.Join(t.TempDir(), "backup.zip")
	succeed(t, []string{"BELLBUOY_DATA=" + dataFolder(p)}, "backup", file)
	p.stop()

	other, otherBase := standalone(t, "BELLBUOY_SECRET="+secret)
	succeed(t, []string{"BELLBUOY_DATA=" + dataFolder(other)}, "restore", file)
	places := places{}
	places.addFiles(t, dataFolder(other))
	if len(places.with(of.UserID)) == 0 {
		t.Error("no file holds the member: the search proves nothing")
	}
	for what, text := range map[string]string{"the password": memberPassword, "the app's secret": phone.secret, "a recovery code": codes[0], "the session": session} {
		places.expectWithout(t, what, text)
	}
	other.start()
	eventually(t, 30*time.Second, "ready", ready(otherBase))
	again := newConsoleUser(t, otherBase)
	again.open("/sign-in", http.StatusOK).fill("/sign-in", typed("username", of.Username, "password", memberPassword), http.StatusOK).expect("/sign-in/code")
	again.fill("/sign-in/code", typed("code", codes[0]), http.StatusOK).expect("/")
	moved := newConsoleUser(t, otherBase)
	origin, err := url.Parse(moved.origin)
	if err != nil {
		t.Fatal(err)
	}
	moved.client.Jar.SetCookies(origin, ada.client.Jar.Cookies(ada.at))
	moved.open("/profile", http.StatusOK).expect("/profile")
}
