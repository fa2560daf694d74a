package delivery_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// A wrong setting stops the start with one line that names it.
func TestAWrongSettingStopsTheStartWithOneLineThatNamesIt(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"DELIVERY_RETRY_SCHEDULE=5s,soon", "DELIVERY_RETRY_SCHEDULE=0s", "DELIVERY_RETRY_SCHEDULE=-1s,5s", "DELIVERY_TIMEOUT=0", "DELIVERY_TIMEOUT=1h",
		"DELIVERY_RESOLVE=hooks.test", "DELIVERY_CA_FILE=/nowhere.pem", "DELIVERY_CA_FILE=" + empty, "INTEGRATIONS_URL=integrations:8080",
		"SUBSCRIBERS_URL=ftp://x", "WHATSAPP_TEMPLATE=HX1", "WHATSAPP_TEMPLATE=MG0123456789abcdef0123456789abcdef", "SMS_URL=https://host/", "DOCUMENTS_URL=files", "KAFKA_BROKERS=nowhere", "BELLBUOY_SECRET=short",
	} {
		refused(t, setting)
	}
}

// refused starts the service with a wrong setting and returns the line with which it ends.
func refused(t *testing.T, setting string) string {
	t.Helper()
	name, _, _ := strings.Cut(setting, "=")
	command := program.Command(t)
	command.Env = append(os.Environ(), "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0",
		"DOCUMENTS_URL=sqlite:"+t.TempDir(), "KAFKA_BROKERS=127.0.0.1:1", "BELLBUOY_SECRET="+platformSecret, setting)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	done := make(chan error, 1)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		if err == nil {
			t.Errorf("%s was accepted", setting)
		}
	case <-time.After(patience):
		_ = command.Process.Kill()
		t.Errorf("%s did not stop the start", setting)
	}
	flag := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	text := strings.TrimSpace(stderr.String())
	if strings.Contains(text, "\n") || !strings.Contains(text, name) && !strings.Contains(text, flag) {
		t.Errorf("%s: %q", setting, text)
	}
	return text
}

// The service has no public paths.
func TestTheServiceHasNoPublicPaths(t *testing.T) {
	w := newWorld(t)
	s := w.start(w.config())
	for path, want := range map[string]int{"/healthz": 204, "/": 403, "/app/notifications/webhook/logs": 403} {
		response, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
	for _, path := range []string{"/readyz", "/readyz?exclude=kafka"} {
		apitest.Eventually(t, "200 of "+path, func() bool { // 503 after a check that took long
			response, err := http.Get(s.url + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			return response.StatusCode == http.StatusOK
		})
	}
	signer := passport.NewSigner(platformSecret, time.Now)
	for audience, want := range map[string]int{"delivery": 404, "events": 403} {
		request, err := http.NewRequest(http.MethodGet, s.url+"/internal/v1/anything", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(passport.Header, signer.Sign(passport.Passport{Audience: audience, Surface: passport.Peer, Organization: organization, Caller: "test"}))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("passport for %s: %d", audience, response.StatusCode)
		}
	}
}
