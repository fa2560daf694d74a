package identity_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/identity"
)

// text is a writer whose content a test reads while the service writes.
type text struct {
	mu      sync.Mutex
	content strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.String()
}

// written is an operation that the walk calls, with the audit action that it must leave ("" for none).
type written struct{ method, path, body, action string }

// This test calls every write of the console that refuses keys. Each leaves one audit entry, whose actor is the member.
// No secret is in an entry, in a log, in a message, or in the database.
func TestEveryWriteOfTheConsoleLeavesOneAuditEntry(t *testing.T) {
	log := &text{}
	p := start(t, func(c *identity.Config) {
		process := apitest.Process(t, "identity", "debug", log, c.Now)
		process.Listener.Close()
		c.Log = process.Log
	})
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { bus.Close() })
	heard := apitest.Listen(t, bus, topic.Audit)
	m := p.member("ann", `"admin"`)
	var secrets, actions []string
	called := map[string]bool{}
	token := ""
	call := func(w written) answer {
		t.Helper()
		caller := signedOut("192.0.2.1")
		if token != "" {
			var err error
			if caller, err = p.session(token); err != nil {
				t.Fatal(err)
			}
		}
		got := p.send(caller, w.method, w.path, w.body)
		if got.status >= 300 {
			t.Fatalf("%s %s: %d %s", w.method, w.path, got.status, got.text)
		}
		called[w.method+" "+w.path] = true
		if w.action != "" {
			actions = append(actions, w.action)
		}
		return got
	}
	secret := func(value string) string {
		_, after, found := strings.Cut(value, ":")
		if !found {
			after = value
		}
		if len(after) < 12 {
			t.Fatalf("%q is no secret", value)
		}
		secrets = append(secrets, after)
		return value
	}
	const changed = "a very long new password"
	secrets = append(secrets, password, changed)
	_, link, _ := strings.Cut(p.operator(201, "POST", "users/"+m.id+"/invitation", "").URL, "?token=")
	secret(link)

	call(written{"POST", "/app/invitations/read", `{"token": "` + link + `"}`, ""})
	first := secret(call(written{"POST", "/app/invitations/accept", `{"token": "` + link + `", "password": "` + password + `"}`, "session.create"}).Session.Token)
	in := call(written{"POST", "/app/sign-in", `{"username": "ann", "password": "` + password + `"}`, "session.create"})
	second := secret(in.Session.Token)
	secret(in.Browser)
	call(written{"POST", "/app/sign-in/forgotten", `{"username": "ann"}`, "user.forgotten"})
	token = second
	call(written{"POST", "/app/sign-in/again", `{"password": "` + password + `"}`, ""})
	call(written{"PATCH", "/app/profile", `{"firstName": "Ann"}`, "user.update"})
	call(written{"PATCH", "/app/profile", `{"firstName": "Ann"}`, ""})
	call(written{"PATCH", "/app/profile", `{"email": "new@example.com"}`, "user.update"})
	secret(call(written{"POST", "/app/api-keys", `{"name": "console"}`, "api_key.create"}).APIKey)
	secret(call(written{"PUT", "/app/legacy-key", "", "api_key.create"}).Key)
	call(written{"DELETE", "/app/legacy-key", "", "api_key.revoke"})
	id, _, _ := strings.Cut(first, ":")
	call(written{"DELETE", "/app/sessions/" + id, "", "session.delete"})
	token = ""
	call(written{"POST", "/app/sign-in", `{"username": "ann", "password": "` + password + `"}`, "session.create"})
	token = second
	call(written{"DELETE", "/app/sessions", "", "user.sessions.delete"})
	call(written{"DELETE", "/app/sessions", "", ""})
	call(written{"PUT", "/app/profile/password", `{"current": "` + password + `", "password": "` + changed + `"}`, "user.update"})

	called["DELETE /app/sessions/{id}"] = true
	for _, operation := range identity.Operations() {
		name := operation.Method + " " + operation.Path
		if operation.Access != web.Members && operation.Method != "GET" && !called[name] && !provenElsewhere(name) {
			t.Errorf("%s is not called", name)
		}
	}

	var entries []topic.AuditEntry
	apitest.Eventually(t, "all entries", func() bool {
		entries = slices.DeleteFunc(apitest.Messages[topic.AuditEntry](t, heard, topic.Audit), func(e topic.AuditEntry) bool { return e.Surface != "console" })
		return len(entries) >= len(actions)
	})
	slices.SortFunc(entries, func(a, b topic.AuditEntry) int { return strings.Compare(a.ID, b.ID) })
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Action)
		if entry.Actor.Type != topic.ActorUser || entry.Actor.ID != m.id || entry.Actor.KeyID != "" || entry.IP != "192.0.2.1" {
			t.Errorf("%s has the actor %+v and the address %s", entry.Action, entry.Actor, entry.IP)
		}
	}
	slices.Sort(got)
	slices.Sort(actions)
	if !slices.Equal(got, actions) {
		t.Errorf("the entries are %v, want %v", got, actions)
	}

	places := map[string]string{"the log": log.String()}
	for _, record := range heard.Records(topic.Audit) {
		places["a message"] += string(record.Value) + fmt.Sprint(record.Headers)
	}
	audit, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	places["the entries"] = string(audit)
	addFiles(t, places, p.records)
	for place, content := range places {
		for _, secret := range secrets {
			if strings.Contains(content, secret) {
				t.Errorf("%s has the secret %s", place, secret)
			}
		}
	}
	if !strings.Contains(places["the log"], `"path"`) && !strings.Contains(places["the log"], "request") {
		t.Error("the log has no requests")
	}
}

// provenElsewhere reports whether other tests prove the audit entry of the operation.
func provenElsewhere(name string) bool {
	return slices.ContainsFunc([]string{
		"POST /app/sign-in/code", "/app/profile/totp", "/app/profile/recovery-codes", "/app/profile/passkeys", "/second-factors", "/app/sign-in/passkey", "/app/sign-in/sso", "/app/organization/sign-on",
	}, func(part string) bool { return strings.Contains(name, part) })
}

// addFiles adds the files of a SQLite database.
func addFiles(t *testing.T, places map[string]string, records string) {
	folder, is := strings.CutPrefix(records, "sqlite:")
	if !is {
		return
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		places["the file "+filepath.Base(path)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The errors that follow from the declaration of an operation: 400 for an unknown parameter or a body that is no JSON,
// 413 for a large body. The document has them, and no script can send these requests with a key.
func TestErrorsOfTheConsole(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	token := p.invited(m)
	member, err := p.session(token)
	if err != nil {
		t.Fatal(err)
	}
	large := `{"x": "` + strings.Repeat("x", 1<<20) + `"}`
	for _, operation := range identity.Operations() {
		caller := map[web.Access]passport.Passport{web.SignedIn: member, web.SignedOut: signedOut("192.0.2.1")}[operation.Access]
		if caller.Surface == "" {
			continue
		}
		path := strings.NewReplacer("{id}", m.id, "{keyId}", m.id).Replace(operation.Path)
		statuses := operation.Statuses()
		for _, try := range []struct {
			status      int
			query, body string
		}{{400, "?unknown=1", ""}, {400, "", "{"}, {413, "", large}} {
			hasBody := slices.Contains(statuses, 413)
			if !hasBody && try.body != "" || hasBody && try.query != "" {
				continue
			}
			if got := p.send(caller, operation.Method, path+try.query, try.body); got.status != try.status || !strings.Contains(got.text, `"error"`) {
				t.Errorf("%s %s%s %.10s: %d %s", operation.Method, path, try.query, try.body, got.status, got.text)
			}
		}
	}
	p.valid("after wrong requests", token)
}
