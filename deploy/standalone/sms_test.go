package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// text is a text that the platform wrote to its data folder, because SMS_URL is not set.
type text struct{ To, Body, DeliveryID, EventID string }

// texts returns the texts in the data folder.
func texts(t testing.TB, data string) []text {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "sms", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]text, len(names))
	for i, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &out[i]); err != nil {
			t.Fatalf("%s: %v", content, err)
		}
	}
	return out
}

// A legacy event with notifications.sms is sent once to each confirmed number of its services. Numbers that have
// unsubscribed get nothing.
func TestLegacyEventReachesPhones(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	checkout, _ := a.service("Checkout")
	var secret struct {
		URI string `json:"resource_uri"`
	}
	send(t, http.MethodPost, base+"/api/v1/service/", a.legacy(), map[string]any{"service_name": "Secret", "hidden_notifications": true}).
		expect(t, http.StatusCreated).into(t, &secret)
	subscribe := func(number, service string, confirmed bool) string {
		var made struct {
			URI string `json:"resource_uri"`
		}
		send(t, http.MethodPost, base+"/api/v1/subscribers/sms/", a.legacy(), map[string]any{
			"number": map[string]any{"number": number}, "service": service, "confirmed": confirmed,
		}).expect(t, http.StatusCreated).into(t, &made)
		return made.URI
	}
	const ann, bob, leaving, hidden = "+4915112345671", "+4915112345672", "+4915112345673", "+4915112345674"
	subscribe(ann, checkout, true)
	subscribe(bob, checkout, false)
	gone := subscribe(leaving, checkout, true)
	subscribe(hidden, secret.URI, true)
	tell := func(description string, sms map[string]any) {
		t.Helper()
		event := incident(checkout, description)
		event["event_service"] = []any{checkout, secret.URI}
		event["notifications"] = map[string]any{"sms": sms}
		send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), event).expect(t, http.StatusCreated)
	}
	arrived := func(want int) map[string][]string {
		t.Helper()
		eventually(t, 30*time.Second, "the texts", func() error {
			if all := texts(t, data); len(all) < want {
				return fmt.Errorf("%d of %d are there", len(all), want)
			}
			return nil
		})
		byNumber := map[string][]string{}
		for _, text := range texts(t, data) {
			byNumber[text.To] = append(byNumber[text.To], text.Body)
		}
		return byNumber
	}

	const written, plain = "Checkout is down, we’re on it", "Checkout is down, we're on it"
	tell("Payments fail", map[string]any{"enabled": true, "sms_text": written})
	got := arrived(2)
	if len(got) != 2 || len(got[ann]) != 1 || got[ann][0] != plain || len(got[leaving]) != 1 {
		t.Errorf("texts %v", got)
	}

	send(t, http.MethodDelete, base+gone, a.legacy(), nil).expect(t, http.StatusNoContent)
	tell("Told to nobody", map[string]any{"enabled": false, "sms_text": "not enabled"})
	tell("Refunds fail", map[string]any{"enabled": true})
	got = arrived(3)
	if len(got) != 2 || len(got[ann]) != 2 || len(got[leaving]) != 1 {
		t.Errorf("texts %v", got)
	}

	// The longest text that the interface allows arrives complete, in two segments of UCS-2.
	long := strings.Repeat("Оплата не работает. ", 4) + "Ждём🚨"
	tell("Payments fail again", map[string]any{"enabled": true, "sms_text": long})
	if got = arrived(4); utf8.RuneCountInString(long) != 85 || !slices.Contains(got[ann], long) {
		t.Errorf("the text %q is not among %q", long, got[ann])
	}
	if all := strings.Join(got[ann], "\n"); !strings.Contains(all, "incident investigating: ") || !strings.Contains(all, "Refunds fail") {
		t.Errorf("the default text among %q", all)
	}
}
