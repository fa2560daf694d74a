package main_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// refusingPhones is a server for texts that refuses numbers that end with 9.
func refusingPhones(t *testing.T) (*phones, []string) {
	t.Helper()
	accepting := &phones{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.PostFormValue("To"); strings.HasSuffix(to, "9") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code": 21614, "message": "`+to+` is not a mobile number"}`)
			return
		}
		accepting.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return accepting, []string{"SMS_URL=" + strings.Replace(server.URL, "://", "://AC0123456789abcdef0123456789abcdef:token-of-the-account@", 1) + "/?from=+15550100"}
}

// betweenLooks is a pause between two looks at the page, so that the session stays below its rate limit.
const betweenLooks = 300 * time.Millisecond

// result waits until the page shows the result of a test message.
func (p *consoleUser) result(text string) {
	p.t.Helper()
	address := p.at.String()
	eventually(p.t, time.Minute, text, func() error {
		if words := p.open(address, http.StatusOK).words(); !strings.Contains(words, text) {
			<-time.After(betweenLooks)
			return errors.New(words)
		}
		return nil
	})
}

// Test messages arrive at the servers of the channels, and the page shows the result. It shows no secret.
func TestTheSetupSendsTestMessages(t *testing.T) {
	t.Parallel()
	mails, env := startMailServer(t)
	phones, phoneEnv := refusingPhones(t)
	p, base := started(t, slices.Concat(env, phoneEnv)...)
	ada, of := welcomed(t, p, base)
	ada.open("/setup", http.StatusOK).expect("/setup", "Set up in part.", "WHATSAPP_TEMPLATE", "From status@status.test", "No backup is on record.", "http://localhost:", "Proxynone")
	if strings.Contains(ada.text, "token-of-the-account") || strings.Contains(ada.text, "AC0123456789") {
		t.Error("the page shows the account")
	}

	ada.fill("/setup/email", nil, http.StatusOK).result("The server has accepted the test message.")
	mails.read()
	if arrived := mails.accepted["admin@example.com"]; !slices.ContainsFunc(arrived, func(m mailed) bool { return strings.Contains(m.Subject, "Your mail works") }) {
		t.Errorf("the mails are %+v", mails.accepted)
	}
	ada.open("/setup", http.StatusOK).fill("/setup/sms", typed("phone", "+49 151 12345678"), http.StatusOK).result("The server has accepted the test message.")
	ada.open("/setup", http.StatusOK).fill("/setup/whatsapp", typed("phone", "+4915112345678"), http.StatusOK).result("The server has accepted the test message.")
	phones.mu.Lock()
	if len(phones.sent) != 2 || phones.sent[0].Get("To") != "+4915112345678" || phones.sent[1].Get("To") != "whatsapp:+4915112345678" || !strings.Contains(phones.sent[0].Get("Body"), "Test message.") {
		t.Errorf("the phones got %v", phones.sent)
	}
	phones.mu.Unlock()
	ada.open("/setup", http.StatusOK).fill("/setup/sms", typed("phone", "+4915112345679"), http.StatusOK).result("*** is not a mobile number")
	if strings.Contains(ada.text, "15112345679") {
		t.Error("the page shows the number")
	}
	ada.open("/setup", http.StatusOK).fill("/setup/sms", typed("phone", "0151 12345678"), http.StatusUnprocessableEntity).expect("/setup/sms", "There is a problem", "must be a possible phone number")
	for range 3 {
		ada.open("/setup", http.StatusOK).fill("/setup/sms", typed("phone", "+4915112345678"), http.StatusOK)
	}
	ada.open("/setup", http.StatusOK).fill("/setup/sms", typed("phone", "+4915112345678"), http.StatusTooManyRequests).expect("/setup/sms", "There were too many tries.")

	cluster := newConsoleUser(t, base)
	member := addUser(t, of, "eve", "event", "subscriber")
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+member.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	cluster.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	cluster.open("/setup", http.StatusForbidden).expect("/setup", "This page needs the role Administrator")
}

// proxy adds the headers of a proxy to each request.
type proxy struct{ proto string }

// RoundTrip implements http.RoundTripper.
func (p proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-Proto", p.proto)
	return http.DefaultTransport.RoundTrip(r)
}

// The page shows how its request arrived, and names the setting that is wrong. Without the settings of a channel it names
// them, and has no test. After a backup it shows the time.
func TestTheSetupShowsProxiesAndMissingSettings(t *testing.T) {
	t.Parallel()
	for networks, texts := range map[string][]string{
		"":            {"A proxy at 127.0.0.1 names the client", "BELLBUOY_TRUSTED_PROXIES: 127.0.0.1/32", "Your address127.0.0.1", "127.0.0.1, not trusted"},
		"127.0.0.0/8": {"This request arrived by https, but the address of the console begins with http.", "CONSOLE_BASE_URL: https://localhost", "Your address203.0.113.9", "127.0.0.1, trusted"},
	} {
		p, base := started(t, "BELLBUOY_TRUSTED_PROXIES="+networks)
		ada, _ := welcomed(t, p, base)
		ada.open("/setup", http.StatusOK).expect("/setup", "Mail is not set up.", "Missing: SMTP_URL", "Missing: SMS_URL", "No backup is on record.")
		if strings.Contains(ada.text, "not trusted") || strings.Contains(ada.text, `action="/console/setup/`) {
			t.Errorf("the page finds a proxy, or has a test: %s", ada.words())
		}
		ada.load(http.MethodPost, ada.origin+"/console/setup/email", nil, http.StatusUnprocessableEntity).expect("/setup/email", "Mail is not set up: the operator of this installation must set SMTP_URL.")
		ada.ip, ada.client.Transport = "203.0.113.9", proxy{"https"}
		ada.open("/setup", http.StatusOK).expect("/setup", texts...)
		ada.client.Transport = proxy{"gopher"}
		ada.ip = ""
		if ada.open("/setup", http.StatusOK); strings.Contains(ada.text, "not trusted") {
			t.Errorf("an unknown scheme is a proxy: %s", ada.words())
		}
		succeed(t, []string{"BELLBUOY_DATA=" + dataFolder(p)}, "backup", t.TempDir()+"/backup.zip")
		if ada.open("/setup", http.StatusOK).expect("/setup", "Last backup just now"); strings.Contains(ada.text, "No backup is on record.") {
			t.Error("the backup is not on record")
		}
	}
}

// While Kafka is down, the page shows that messages wait, and for how long. A service that was killed is named, and the
// rest of the page shows.
func TestTheSetupNamesWhatIsDown(t *testing.T) {
	t.Parallel()
	engines, env := engineProcesses(t)
	cluster := startCluster(t, env...)
	of := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	var link struct{ URL string }
	send(t, http.MethodPost, cluster.base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	ada := newConsoleUser(t, cluster.base)
	ada.origin = cluster.base
	ada.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	// shows returns the time that the page with the texts took.
	shows := func(within time.Duration, texts ...string) (took time.Duration) {
		t.Helper()
		eventually(t, within, fmt.Sprint(texts), func() error {
			began := time.Now()
			words := ada.open("/setup", http.StatusOK).words()
			took = time.Since(began)
			for _, text := range texts {
				if !strings.Contains(words, text) {
					<-time.After(betweenLooks)
					return fmt.Errorf("%q is missing: %s", text, words)
				}
			}
			return nil
		})
		return took
	}
	a := actor{t, of}
	service, _ := a.service("Checkout")
	var kafka *process
	for engine := range engines {
		if engine.name == "kafka" {
			kafka = engine
		}
	}
	kafka.kill()
	send(t, http.MethodPost, cluster.base+"/api/v1/event/list/", of.legacy(), incident(service, "Checkout is slow")).expect(t, http.StatusCreated)
	shows(time.Minute, "Events cannot reach Kafka.", "KAFKA_BROKERS", "unsent, the oldest")
	first := a.serviceState(cluster.base, "events").Outbox
	shows(2*time.Minute, "Events: the oldest unsent message has waited for 1 min.")
	if now := a.serviceState(cluster.base, "events").Outbox; first.OldestAt == nil || now.Messages < first.Messages || now.OldestAt == nil || !now.OldestAt.Equal(*first.OldestAt) {
		t.Errorf("the outbox was %+v, and is %+v", first, now)
	}
	kafka.start()
	eventually(t, time.Minute, "kafka", listens(engines[kafka]))
	shows(time.Minute, "EventsWorks, SQLite")
	eventually(t, time.Minute, "an empty outbox", func() error {
		if n := a.serviceState(cluster.base, "events").Outbox.Messages; n > 0 {
			return fmt.Errorf("%d messages wait", n)
		}
		return nil
	})

	cluster.processes["delivery"].kill()
	if took := shows(time.Minute, "Delivery: does not respond.", "IdentityWorks, SQLite", "The channels cannot be shown right now"); took > 20*time.Second {
		t.Errorf("the page took %v", took)
	}
}
