package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Identity is killed while members sign in and out. Each session whose start was acknowledged is shown pages after the
// kill, and no session whose end was acknowledged is, also where the kill came between the end and its void entry.
func TestAcknowledgedSessionsSurviveKillsOfIdentity(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, "CONSOLE_URL="+consoleDouble(t))
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	member := addUser(t, acme, "member", "event")
	cluster.signedIn(t, member, "event")
	ip := "192.0.2.1"
	call := func(method, path string, as passport.Passport, in any, out any) (acknowledged bool) {
		as.Audience, as.Surface, as.Caller, as.IP = "identity", passport.App, "console", ip
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(context.Background(), method, "http://"+cluster.addresses["identity"]+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(passport.Header, passport.NewSigner(secret, time.Now).Sign(as))
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return false // identity is down
		}
		got, err := readAnswer(response)
		if err != nil || got.status >= http.StatusMultipleChoices {
			return false
		}
		if out != nil {
			got.into(t, out)
		}
		return true
	}
	shown := func(v browser, gateway string) bool {
		t.Helper()
		var p passport.Passport
		eventually(t, 30*time.Second, "a page", func() error { // a gateway may still hold connections to the killed identity
			got, err := v.visit(t.Context(), gateway)
			if err == nil && got.status == http.StatusServiceUnavailable {
				err = fmt.Errorf("%s", got.body)
			}
			if err != nil {
				return err
			}
			if got.into(t, &p); got.status != http.StatusOK {
				t.Fatalf("%d %s", got.status, got.body)
			}
			return nil
		})
		return p.Session == v.member.Session
	}

	begun, ended := 0, 0
	for round := 0; round < 6 || (begun < 6 || ended < 6) && round < 30; round++ { // a slow machine acknowledges less in a round
		ip = fmt.Sprintf("192.0.2.%d", round+1) // sign-ins that the kills interrupt count as failed ones of their address
		var valid, over []browser
		stop, first := make(chan struct{}), make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if n == 12 { // at most 20 sessions, so that none of these ends another one
					<-stop
					return
				}
				var in struct{ Session struct{ Token string } }
				if !call(http.MethodPost, "/app/sign-in", passport.Passport{}, map[string]any{"username": "member", "password": memberPassword}, &in) {
					continue
				}
				v := cluster.session(t, member, in.Session.Token, []string{"event"})
				if n%2 == 0 {
					valid = append(valid, v)
					continue
				}
				if _, err := v.visit(t.Context(), cluster.gateways[0]); err == nil && // a gateway caches the session
					call(http.MethodDelete, "/app/sessions/"+v.member.Session, v.member, nil, nil) {
					if over = append(over, v); len(over) == 1 {
						close(first)
					}
				}
			}
		}()
		select {
		case <-first:
		case <-time.After(30 * time.Second):
		}
		<-time.After(time.Duration(rand.IntN(700)) * time.Millisecond) // a random moment for the kill
		cluster.processes["identity"].kill()
		close(stop)
		<-done
		cluster.processes["identity"].start()
		eventually(t, time.Minute, "ready again", ready("http://"+cluster.addresses["identity"]))
		for _, gateway := range cluster.gateways {
			for _, v := range valid {
				if !shown(v, gateway) {
					t.Errorf("round %d: a session that was acknowledged is gone", round)
				}
			}
			for _, v := range over {
				if shown(v, gateway) {
					t.Errorf("round %d: a session whose end was acknowledged is shown a page", round)
				}
			}
		}
		begun, ended = begun+len(valid), ended+len(over)
		if len(valid) > 0 {
			eventually(t, 30*time.Second, "the end of the round's sessions", func() error {
				if !call(http.MethodDelete, "/app/sessions", valid[0].member, nil, nil) {
					return errors.New("refused")
				}
				return nil
			})
		}
	}
	if begun < 6 || ended < 6 {
		t.Errorf("only %d starts and %d ends were acknowledged: nothing is proven", begun, ended)
	}
	t.Logf("%d sessions started, %d ended", begun, ended)
}
