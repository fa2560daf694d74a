package inbound

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func readAlerts(body string) (topic.InboundMessage, error) {
	s := &Inbound{Now: func() time.Time { return noon }}
	var out Report
	err := s.ReadAlerts([]byte(body), "", &out)
	return out.InboundMessage, err
}

func TestAlertsBecomeAMessage(t *testing.T) {
	text := func(value string) *string { return &value }
	at := func(value string) *time.Time {
		parsed, err := time.Parse(time.RFC3339, value)
		if err != nil {
			t.Fatal(err)
		}
		return &parsed
	}
	for name, of := range map[string]struct {
		body string
		want topic.InboundMessage
	}{
		"common labels": {
			`{"groupKey": "{}:{}", "status": "firing", "orgId": 1, "commonLabels": {"alertname": "Slow", "severity": "Warning", "component": "checkout, shop"},
				"commonAnnotations": {"summary": "Checkout is slow", "description": "p99 is 3 s", "message": "We look into it."},
				"alerts": [{"status": "firing", "startsAt": "2026-01-31T11:30:00.123456789Z", "endsAt": "0001-01-01T00:00:00Z", "values": {"B": 1.5}}]}`,
			topic.InboundMessage{Action: "trigger", ExternalID: "{}:{}", Title: "Checkout is slow", Description: "p99 is 3 s", Message: text("We look into it."),
				Severity: text("minor_performance"), Components: []string{"checkout", "shop"}, Timestamp: at("2026-01-31T11:30:00.123Z")},
		},
		"several alerts": {
			`{"groupKey": "k", "status": "firing", "groupLabels": {"components": "shop"}, "commonLabels": {}, "alerts": [
				{"status": "resolved", "labels": {"alertname": "Gone", "severity": "critical", "component": "gone"}, "startsAt": "2026-01-31T09:00:00Z"},
				{"status": "firing", "labels": {"alertname": "Slow", "severity": "warning", "component": "checkout"}, "startsAt": "2026-01-31T11:00:00+01:00"},
				{"status": "firing", "labels": {"alertname": "Down", "severity": "high"}, "annotations": {"description": "It is down.", "component": "api,shop"}, "startsAt": "2026-01-31T11:00:00Z"}]}`,
			topic.InboundMessage{Action: "trigger", ExternalID: "k", Title: "Slow", Description: "It is down.", Severity: text("minor_outage"),
				Components: []string{"shop", "checkout", "api"}, Timestamp: at("2026-01-31T10:00:00Z")},
		},
		"nothing known": {
			`{"groupKey": "k", "status": "firing", "commonLabels": {"severity": "info", "component": "checkout"}, "commonAnnotations": null,
				"alerts": [{"status": "firing", "startsAt": "2026-01-31T12:00:01Z"}]}`,
			topic.InboundMessage{Action: "trigger", ExternalID: "k", Title: "k", Components: []string{"checkout"}},
		},
		"texts that show nothing": {
			`{"groupKey": "k", "status": "firing", "commonLabels": {"alertname": "Slow", "component": "checkout"},
				"commonAnnotations": {"summary": "\u200b\u202e", "description": "\u2800", "message": "\ufeff"}}`,
			topic.InboundMessage{Action: "trigger", ExternalID: "k", Title: "Slow", Components: []string{"checkout"}},
		},
		"resolved": {
			`{"groupKey": "k", "status": "resolved", "commonLabels": {"component": "checkout"}, "alerts": [{"status": "resolved"}]}`,
			topic.InboundMessage{Action: "resolve", ExternalID: "k"},
		},
		"long texts": {
			fmt.Sprintf(`{"groupKey": %q, "status": "firing", "commonLabels": {"component": "checkout"}, "commonAnnotations": {"summary": %q, "description": %q}}`,
				strings.Repeat("k", 256), strings.Repeat("é", 256), strings.Repeat("é", 20_001)),
			topic.InboundMessage{Action: "trigger", ExternalID: "sha256:ce16fe78208a4e93f7158e62393680e025b2ad584f4e875ce903a654bb74cf93", Title: strings.Repeat("é", 254) + "…",
				Description: strings.Repeat("é", 19_999) + "…", Components: []string{"checkout"}},
		},
	} {
		got, err := readAlerts(of.body)
		if err != nil || !reflect.DeepEqual(got, of.want) {
			have, _ := json.Marshal(got)
			want, _ := json.Marshal(of.want)
			t.Errorf("%s:\n%s (%v)\nwant\n%s", name, have, err, want)
		}
	}
}

// The largest body names tens of thousands of components. Reading them must not take time with the square of their number.
func TestManyComponentsOfAlertsAreReadInLinearTime(t *testing.T) {
	took := func(times, n int) time.Duration {
		var list strings.Builder
		for i := range n {
			fmt.Fprintf(&list, "%x,", i)
		}
		began := time.Now()
		for range times {
			got, err := readAlerts(`{"groupKey": "k", "status": "firing", "commonLabels": {"component": "` + list.String() + `"}}`)
			if err != nil || len(got.Components) != n {
				t.Fatalf("%d components, %v", len(got.Components), err)
			}
		}
		return time.Since(began)
	}
	// Both read 13,000 components. So both are interrupted equally often on a machine with other work.
	few, many := time.Hour, time.Hour
	for range 5 {
		few, many = min(few, took(13, 1_000)), min(many, took(1, 13_000))
	}
	if many > 4*few {
		t.Errorf("13,000 components take %s, 13 times 1,000 take %s", many, few)
	}
}

func TestAlertsThatCannotBecomeAMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"status": "firing"}`:                  "groupKey: is required",
		`{"groupKey": "k"}`:                     "status: must be firing or resolved",
		`{"groupKey": "k", "status": "firing"}`: "components: must be named by a label (or annotation) component or components of the alerts: ids or external references of components, separated by commas",
		`{"groupKey": 1}`:                       "groupKey: must not be a JSON number",
	} {
		if _, err := readAlerts(body); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// Whatever a tool posts, it is refused or becomes a message within the limits.
func FuzzAlerts(f *testing.F) {
	f.Add(`{"groupKey": "k", "status": "firing", "commonLabels": {"component": "a,b"}, "alerts": [{"startsAt": "2026-01-31T09:30:00Z", "labels": null}]}`)
	f.Add(`{"groupKey": "\ud800", "status": "resolved", "alerts": [null]}`)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := readAlerts(body)
		switch {
		case err != nil:
		case got.Action != "trigger" && got.Action != "resolve", len([]rune(got.ExternalID)) > maxExternalID, strings.TrimSpace(got.ExternalID) == "",
			len([]rune(got.Title)) > maxTitle, len([]rune(got.Description)) > maxDescription,
			got.Action == "trigger" && (strings.TrimSpace(got.Title) == "" || len(got.Components) == 0),
			got.Timestamp != nil && got.Timestamp.After(noon):
			t.Errorf("%q became %+v", body, got)
		}
	})
}

// A problem whose name shows nothing gets its reference as the title. No event takes a title that shows nothing, and the
// tool would not send the problem again.
func TestANameThatShowsNothingLosesNoProblem(t *testing.T) {
	s := &Inbound{Now: func() time.Time { return noon }}
	for _, of := range []struct {
		read       func([]byte, *Report) error
		body, want string
	}{
		{s.ReadZabbix, `{"eventid": "7", "value": "1", "name": "\u200b", "components": "api"}`, "zabbix:7"},
		{s.ReadKuma, `{"heartbeat": {"status": 0}, "monitor": {"id": 7, "name": "\u202e"}}`, "kuma:7 is down"},
		{s.ReadGatus, `{"status": "TRIGGERED", "group": "g", "name": "\u2800"}`, "gatus:g/\u2800 is down"},
	} {
		var out Report
		if err := of.read([]byte(of.body), &out); err != nil || out.Action != "trigger" || out.Title != of.want {
			t.Errorf("%s: %s %q, %v", of.body, out.Action, out.Title, err)
		}
	}
}
