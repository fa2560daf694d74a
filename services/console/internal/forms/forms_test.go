package forms_test

import (
	"bytes"
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

func sample() *forms.Form {
	return forms.New("/users/new", "Send",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 5},
		&forms.Field{Kind: forms.Email, Name: "email", Label: "Email", Members: []string{"preferences.mail"}},
		&forms.Field{Kind: forms.Password, Name: "password", Label: "Password"},
		&forms.Field{Kind: forms.Segments, Name: "theme", Label: "Theme", Options: []forms.Option{{Value: "light"}, {Value: "dark"}}},
		&forms.Field{Kind: forms.Ticks, Name: "roles", Label: "Roles", Options: []forms.Option{{Value: "admin", Label: "Administrator"}, {Value: "event", Label: "Events"}}},
		&forms.Field{Kind: forms.Tick, Name: "keep", Label: "Keep"})
}

func request(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/users/new?once=1", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestAFormReadsItsFields(t *testing.T) {
	form := sample()
	if err := form.Read(request("name=+Ada+&password=+x+&roles=event&roles=admin&keep=on&version=7&theme=dark")); err != nil || !form.OK() {
		t.Fatal(err, form.Problems())
	}
	if form.Value("name") != "Ada" || form.Value("password") != " x " || !slices.Equal(form.Field("roles").Values, []string{"event", "admin"}) || !form.Ticked("keep") || form.Version != 7 {
		t.Errorf("%+v", form)
	}
	if text := form.Field("roles").Text(); text != "Administrator, Events" {
		t.Error(text)
	}
	if kept := form.Values(); kept.Has("password") || kept.Get("name") != "Ada" || kept.Get("version") != "7" {
		t.Errorf("what outlives a new sign-in: %v", kept)
	}
}

func TestABodyThatNoPageSendsIsRefused(t *testing.T) {
	for body, kind := range map[string]fault.Kind{
		"name=Ada&admin=yes":    fault.Invalid,
		"name=Ada&name=Bob":     fault.Invalid,
		"name=Ada&version=last": fault.Invalid,
		"name=Ada&version=0":    fault.Invalid,
		"name=Ada&version=-1":   fault.Invalid,
		"name=%zz":              fault.Invalid,
	} {
		if err := sample().Read(request(body)); !fault.Is(err, kind) {
			t.Errorf("%s: %v", body, err)
		}
	}
	r := request(`{"name": "Ada"}`)
	r.Header.Set("Content-Type", "application/json")
	if err := sample().Read(r); !fault.Is(err, fault.MediaType) {
		t.Error(err)
	}
	r = request("name=" + strings.Repeat("x", 100))
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 10)
	if err := sample().Read(r); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
}

// A large folder is read no further after the time limit of the request, or after the browser has left.
func TestFilesAreReadUntilTheRequestEnds(t *testing.T) {
	var body bytes.Buffer
	out := multipart.NewWriter(&body)
	for _, name := range []string{"a", "b", "c"} {
		if part, err := out.CreateFormFile("file", name); err != nil || part == nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	saved := 0
	form := forms.New("/import", "Read", &forms.Field{Kind: forms.File, Name: "file", Label: "File", Save: func(*multipart.Part) error {
		saved++
		end()
		return nil
	}})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/import", &body)
	r.Header.Set("Content-Type", out.FormDataContentType())
	if err := form.Read(r); !errors.Is(err, context.Canceled) || saved != 1 {
		t.Errorf("%d files are saved, %v", saved, err)
	}
}

func TestAProblemIsShownAtItsField(t *testing.T) {
	for body, want := range map[string]string{
		"name=":               "name: Enter the name.",
		"":                    "name: Enter the name.",
		"name=Adaline":        "name: Enter at most 5 characters.",
		"name=Ada&theme=blue": "theme: Choose one of the options.",
		"name=A%00":           "name: Enter text without control characters.",
		"name=%ff":            "name: Enter text without control characters.",
		"name=A%0ABcc:":       "name: Enter text without control characters.",
		"name=A%07":           "name: Enter text without control characters.",
	} {
		form := sample()
		if err := form.Read(request(body)); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		found := form.Problems()
		if len(found) != 1 || found[0].Name+": "+found[0].Problem != want {
			t.Errorf("%q: %d problems, %+v", body, len(found), found)
		}
	}
}

func TestAnErrorOfTheAppInterfaceIsShownAtItsField(t *testing.T) {
	for _, row := range []struct{ member, message, field, want string }{
		{"email", "must be an address.", "email", "Email must be an address."},
		{"preferences.mail", "must be an address", "email", "Email must be an address."},
		{"roles[0]", "is unknown", "roles", "Roles is unknown."},
		{"other", "must be set", "", "other must be set."},
		{"", "The name is taken.", "", "The name is taken."},
	} {
		form := sample()
		form.Refuse(row.member, row.message)
		got := form.Problem
		if row.field != "" {
			got = form.Field(row.field).Problem
		}
		if got != row.want || form.OK() {
			t.Errorf("%s: %q", row.member, got)
		}
	}
}

func TestLostLinesOfSecretsAreAProblem(t *testing.T) {
	form := forms.New("/x", "Save", &forms.Field{Kind: forms.Secrets, Name: "headers", Label: "Headers"}, &forms.Field{Kind: forms.Secrets, Name: "secrets", Label: "Secrets"})
	if err := form.Fill(url.Values{"headers": {"Authorization: x"}}); err != nil {
		t.Fatal(err)
	}
	form.SecretsGone()
	if got := form.Problems(); len(got) != 1 || got[0].Problem != "Headers: enter them again. No page shows them." || got[0].Value() != "" {
		t.Errorf("%+v", got)
	}
}

// A page with several forms fills the form to which the values belong.
func TestAFormThatIsNotFilledKeepsItsVersion(t *testing.T) {
	for range 50 { // the order of the values is random
		form := sample()
		form.Version = 7
		if err := form.Fill(url.Values{"version": {"3"}, "unknown": {"x"}}); err == nil || form.Version != 7 {
			t.Fatalf("version %d, %v", form.Version, err)
		}
	}
}

func TestWhatWasTypedComesBackWithoutSecrets(t *testing.T) {
	form := sample()
	if err := form.Fill(url.Values{"name": {"Ada"}, "password": {"secret"}}); err != nil {
		t.Fatal(err)
	}
	form.SecretsGone()
	if form.Value("name") != "Ada" || form.Value("password") != "" {
		t.Errorf("%+v", form.Fields)
	}
}
