package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// webhook is a replacement of the inbound webhook. It verifies signatures with the library of Standard Webhooks.
type webhook struct {
	t        *testing.T
	status   int
	requests []*http.Request
	bodies   []string
}

func startWebhook(t *testing.T) *webhook {
	w := &webhook{t: t, status: http.StatusOK}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"INBOUND_URL": server.URL + "/public/webhooks/inbound", "INBOUND_KEY": "the-key", "INBOUND_SECRET": secret, "INBOUND_KEY_FILE": "",
	} {
		t.Setenv(name, value)
	}
	return w
}

func (w *webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	verifier, verifierErr := standardwebhooks.NewWebhook(secret)
	if err = errors.Join(err, verifierErr); err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil || r.Header.Get("webhook-key-id") != "the-key" || r.Header.Get("Content-Type") != "application/json" {
		w.t.Errorf("%v: %v", r.Header, err)
	}
	w.requests, w.bodies = append(w.requests, r), append(w.bodies, string(body))
	out.WriteHeader(w.status)
	_, _ = io.WriteString(out, `{"result": "created"}`)
}

func TestCommandSignsAndPosts(t *testing.T) {
	w := startWebhook(t)
	const message = `{"action": "resolve", "externalId": "é"}`
	file := filepath.Join(t.TempDir(), "message.json")
	keyFile := filepath.Join(t.TempDir(), "key.json")
	if err := errors.Join(os.WriteFile(file, []byte(message), 0o600),
		os.WriteFile(keyFile, []byte(`{"key": {"keyId": "the-key", "name": "a", "secret": "`+secret+`"}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"-id", "msg_1"}, {"-format", "grafana", file}} {
		var out strings.Builder
		if err := run(args, strings.NewReader(message), &out); err != nil || out.String() != "{\"result\": \"created\"}\n" {
			t.Errorf("%v: %q %v", args, out.String(), err)
		}
	}
	t.Setenv("INBOUND_KEY_FILE", keyFile)
	t.Setenv("INBOUND_SECRET", "")
	if err := run(nil, strings.NewReader(message), io.Discard); err != nil {
		t.Error(err)
	}
	if len(w.requests) != 4 || w.requests[1].Header.Get("webhook-id") != "msg_1" || w.requests[2].URL.RawQuery != "format=grafana" || w.requests[0].URL.RawQuery != "" ||
		w.requests[0].Header.Get("webhook-id") == w.requests[2].Header.Get("webhook-id") {
		t.Errorf("%d requests", len(w.requests))
	}
	for _, body := range w.bodies {
		if body != message {
			t.Errorf("posted %s", body)
		}
	}
	w.status = http.StatusForbidden
	err := run(nil, strings.NewReader(message), io.Discard)
	if _, wrong := errors.AsType[usageError](err); err == nil || wrong || !strings.Contains(err.Error(), "403: check the key") {
		t.Error(err)
	}
}

func TestWrongArgumentsAndSettingsAreRefused(t *testing.T) {
	startWebhook(t)
	for name, of := range map[string]struct {
		args  []string
		key   string
		value string
	}{
		"flag":      {args: []string{"-x"}},
		"two files": {args: []string{"a", "b"}},
		"no file":   {args: []string{"missing.json"}},
		"url":       {key: "INBOUND_URL", value: "localhost"},
		"key":       {key: "INBOUND_KEY"},
		"secret":    {key: "INBOUND_SECRET", value: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"key file":  {key: "INBOUND_KEY_FILE", value: "missing.json"},
	} {
		t.Run(name, func(t *testing.T) {
			if of.key != "" {
				t.Setenv(of.key, of.value)
			}
			err := run(of.args, strings.NewReader("{}"), io.Discard)
			if _, wrong := errors.AsType[usageError](err); !wrong {
				t.Error(err)
			}
			if err != nil && strings.Contains(err.Error(), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
	var help strings.Builder
	if err := run([]string{"-h"}, nil, &help); err != nil || !strings.Contains(help.String(), "Exit codes") {
		t.Errorf("%v: %s", err, help.String())
	}
}
