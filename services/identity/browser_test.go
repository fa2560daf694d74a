package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// browser calls operations of the App interface as the console does: signed out, or with the token of a session.
type browser struct {
	t     testing.TB
	base  string
	token string
}

// browser returns a browser that is signed out.
func (p *platform) browser() *browser {
	p.t.Helper()
	server := httptest.NewServer(p.door())
	p.t.Cleanup(server.Close)
	return &browser{t: p.t, base: server.URL}
}

// reply is the JSON of a response. It contains the fields that tests use.
type reply struct {
	Error   string
	Session *struct{ Token, ID string }
	Browser *string

	SecondFactor  *struct{ Ticket string }
	Next          string
	Secret, URL   string
	RecoveryCodes []string
	Ticket        string
	Options       json.RawMessage
	Passkey       struct{ ID, Name string }
	Passkeys      []struct {
		ID, Name   string
		LastUsedAt *string
	}
	State      string
	Provider   *struct{ Name, Label string }
	OK         bool
	SignOn     json.RawMessage
	User       struct{ UserID string }
	Users      []struct{ Username string }
	Invitation struct{ URL string }
	Profile    struct {
		UserID, Username, Email string
		Roles                   []string
		SecondFactorRequired    bool
		SignOn, SignOnOnly      bool
		SecondFactors           struct {
			TOTP                    bool
			Passkeys, RecoveryCodes int
		}
	}
	Sessions []struct {
		ID, Method string
		Current    bool
	}
}

// call sends a request, and fails the test if the response has another status.
func (b *browser) call(status int, method, path, body string) reply {
	b.t.Helper()
	out, got := b.try(method, path, body)
	if got != status {
		b.t.Fatalf("%s %s: %d %+v, want %d", method, path, got, out, status)
	}
	return out
}

func (b *browser) try(method, path, body string) (out reply, status int) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+"/app/"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Console")
	if b.token != "" {
		request.Header.Set("Authorization", "Session "+b.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			b.t.Fatalf("%s %s: %d %s: %v", method, path, response.StatusCode, text, err)
		}
	}
	return out, response.StatusCode
}

// as returns the browser with the session of a response.
func (b *browser) as(r reply) *browser {
	b.t.Helper()
	if r.Session == nil {
		b.t.Fatalf("no session: %+v", r)
	}
	return &browser{b.t, b.base, r.Session.Token}
}

// welcome lets a user set a password with an invitation of the operator, and returns the browser with the session.
func (p *platform) welcome(user string) *browser {
	p.t.Helper()
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(p.operator(201, "POST", "users/"+user+"/invitation", "").text), &link); err != nil {
		p.t.Fatal(err)
	}
	_, token, _ := strings.Cut(link.URL, "token=")
	b := p.browser()
	return b.as(b.call(200, "POST", "invitations/accept", jsonOf(map[string]any{"token": token, "password": password})))
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// recipients returns the client with which delivery calls the service.
func (p *platform) recipients() peer.Recipients {
	return peer.Recipients{Client: peer.NewClient("identity", p.url, peer.Options{
		Caller: "delivery", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
	})}
}
