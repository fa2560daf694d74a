package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

// fastTime is the speed of the clock of the two services. Their clock must not jump: the service integrations takes a
// minute in which it did not read the time as one in which it did not run, and not as silence. A busy machine must also
// handle each request within the time for which its passport is valid, a minute of this faster time.
const fastTime = 12

// If a signing key expects a request every 5 minutes and gets none, its management address gets a mail. A request ends the
// silence. The services integrations and delivery, a broker and a mail server take part. A double replaces the other services,
// which are asked only for the organization's plan.
func TestASilentKeySendsAMail(t *testing.T) {
	t.Parallel()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	bus := stream.Connect(stream.Options{Brokers: []string{broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { bus.Close() })
	topics := []stream.Topic{{Name: topic.Deliveries, Partitions: topic.Buckets}}
	for _, name := range []string{topic.EventChanges, topic.ComponentChanges, topic.DashboardChanges, topic.Notices, topic.DeliveryOutcomes, topic.Audit} {
		topics = append(topics, stream.Topic{Name: name, Partitions: 12})
	}
	if err := bus.EnsureTopics(t.Context(), topics...); err != nil {
		t.Fatal(err)
	}
	redis, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Close() })
	const secret = "a secret of the test of silent keys, long enough"
	begun := time.Now().UTC()
	now := func() time.Time { return begun.Add(fastTime * time.Since(begun)).Truncate(time.Millisecond) }
	signer := passport.NewSigner(secret, now)
	organization := uuid.NewString()
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/organizations/"+organization+"/features") {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(passport.Features{API: true, Integrations: true})
	}))
	t.Cleanup(identity.Close)
	mails, _ := startMailServer(t)

	var of integrations.Config
	of.Process = apitest.Process(t, "integrations", "error", io.Discard, now)
	of.DocumentsURL, of.KafkaBrokers, of.RedisURL, of.Secret.Secret = apitest.Documents(t), []string{broker.Addr()}, redis.URL(), secret
	of.EventsURL, of.IdentityURL, of.AppBaseURL = identity.URL, identity.URL, "https://status.example.com"
	of.Suppression, of.Confirmation = boot.Suppression{AlertAfter: 5, SuppressAfter: 10}, boot.Confirmation{ConfirmWithin: 48 * time.Hour}
	url, _ := apitest.Launch(t, of.Process, func(ctx context.Context) error { return integrations.Run(ctx, of) })

	var by delivery.Config
	by.Process = apitest.Process(t, "delivery", "error", io.Discard, now)
	by.DocumentsURL, by.KafkaBrokers, by.Secret.Secret = apitest.Documents(t), []string{broker.Addr()}, secret
	by.EventsURL, by.IdentityURL, by.SubscribersURL, by.IntegrationsURL = identity.URL, identity.URL, identity.URL, url
	by.SMTPURL, by.MailFrom = "smtp://"+mails.address, "status@status.test"
	by.RetrySchedule, by.Timeout = []time.Duration{time.Second}, 10*time.Second
	apitest.Launch(t, by.Process, func(ctx context.Context) error { return delivery.Run(ctx, by) })

	call := func(as passport.Passport, status int, method, path, authorization string, body, into any) {
		t.Helper()
		content, _ := json.Marshal(body)
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		as.Audience = "integrations"
		request.Header.Set(passport.Header, signer.Sign(as))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", authorization)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != status {
			err = fmt.Errorf("status %d: %s", response.StatusCode, got)
		}
		if err == nil && into != nil {
			err = json.Unmarshal(got, into)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	admin := passport.Passport{Surface: passport.App, Organization: organization, User: uuid.NewString(), Username: "ada", KeyID: uuid.NewString(), Roles: []string{passport.RoleAdmin}, Features: passport.Features{API: true, Integrations: true}}
	const keys = "/app/integrations/webhooks/inbound/keys"
	var made struct {
		Key struct{ KeyID, Secret string }
	}
	call(admin, http.StatusCreated, http.MethodPost, keys, "", map[string]any{"name": "Nightly backup", "bearer": true, "expectEvery": "5m", "managementEmail": "ops@status.test"}, &made)
	heartbeat := func() {
		t.Helper()
		call(passport.Passport{Surface: passport.Public, IP: "192.0.2.9"}, http.StatusOK, http.MethodPost, "/public/webhooks/inbound/generic", "Bearer "+made.Key.KeyID+":"+made.Key.Secret, map[string]any{"action": "heartbeat"}, nil)
	}
	silentSince := func() *time.Time {
		t.Helper()
		var listed struct {
			Keys []struct{ SilentSince *time.Time }
		}
		call(admin, http.StatusOK, http.MethodGet, keys, "", nil, &listed)
		return listed.Keys[0].SilentSince
	}
	heartbeat()
	heard := now()
	mails.await(1)
	if got := mails.accepted["ops@status.test"]; len(got) != 1 || !strings.Contains(got[0].Subject, "Nightly backup") || now().Sub(heard) < 5*time.Minute {
		t.Errorf("%s after the last request the mails are %+v", now().Sub(heard), mails.accepted)
	}
	if silentSince() == nil {
		t.Error("the key is not silent after its mail")
	}
	heartbeat()
	if since := silentSince(); since != nil {
		t.Errorf("after a request the key is silent since %s", since)
	}
}
