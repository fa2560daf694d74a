package channel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	sampleDelivery = "0190a000-0000-8000-8000-00000000000f"
	samplesFile    = "../../../../libs/bodytemplate/samples.json"
	// hostileText has what could end a JSON string, a template, a mark of HTML or a line.
	hostileText = "\"},{\\\" \\u0022 \x00\x01\x1f\x7f\r\n\t\u2028\u2029\u202e\ufeff <b>&amp;' {{.event}} {{end}} ${x} %s 😀 \xff"
)

// Integrations renders these samples before it stores a template. They are what is sent.
func TestTheSamplesAreWhatIsSent(t *testing.T) {
	if os.Getenv(apitest.Update) != "" {
		writeSamples(t)
		return // the next run has the new file
	}
	samples := bodytemplate.Samples()
	if len(samples) != 13*3 {
		t.Fatalf("there are %d samples", len(samples))
	}
	for _, sample := range samples {
		made := sampleBody(t, sample.Kind, sample.Name)
		payload, err := bodytemplate.Decode(made)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(payload, sample.Payload) {
			t.Errorf("%s with %s: %s=1 go test writes the samples; delivery sends %s", sample.Kind, sample.Name, apitest.Update, made)
		}
		if sample.Name == bodytemplate.Hostile && (len(made) < payloadLimit*9/10 || !bytes.Contains(made, []byte(`"truncated":true`))) {
			t.Errorf("%s: the longest body has %d bytes", sample.Kind, len(made))
		}
	}
}

func writeSamples(t *testing.T) {
	t.Helper()
	all := make(map[bodytemplate.SampleName]json.RawMessage)
	for _, name := range bodytemplate.SampleNames() {
		all[name] = sampleBody(t, topic.IncidentCreated, name)
	}
	text, err := write(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(samplesFile, append(text, '\n'), 0o644); err != nil { //nolint:gosec // a source file
		t.Fatal(err)
	}
}

// sampleBody returns the body that the webhook sends for a sample.
func sampleBody(t *testing.T, kind topic.Kind, name bodytemplate.SampleName) []byte {
	t.Helper()
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	change := topic.EventChange{ID: "c", Kind: kind, OccurredAt: at, Sequence: 3}
	event := &change.Event
	*event = topic.Event{ID: "0190a000-0000-7000-8000-0000000000e0", LegacyID: 1204, Title: "Logins fail", StartAt: at, Hidden: name == bodytemplate.Sparse}
	event.Type, event.Status, event.PreviousStatus = bodytemplate.SampleEvent(kind, name)
	at = at.Add(time.Hour)
	on := topic.Dashboard{ID: "0190a000-0000-7000-8000-00000000000d", Name: "Acme", URL: "https://status.example.com/d/acme"}
	switch name {
	case bodytemplate.Sparse:
		on.URL = ""
	case bodytemplate.Full:
		fillSample(&change, at, 3, "API", "We look into it.")
	case bodytemplate.Hostile:
		event.Title, on.Name = strings.Repeat(hostileText, 255/len(hostileText)), hostileText
		fillSample(&change, at, 60, hostileText, strings.Repeat(hostileText, 400))
	}
	for i := range event.Components {
		event.Components[i].Dashboards = []string{on.ID}
	}
	shared, err := render(&change, on, event.Components)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(sampleDelivery, shared)
}

// fillSample sets all members that may be null.
func fillSample(change *topic.EventChange, at time.Time, components int, name, text string) {
	event := &change.Event
	event.Severity, event.EndAt, event.ScheduledStartAt, event.ScheduledEndAt = "major_outage", &at, &event.StartAt, &at
	for i := range components {
		event.Components = append(event.Components, topic.Component{ID: fmt.Sprintf("0190a000-0000-7000-8000-0000000001%02d", i), Name: name, Group: "Core", Impact: "partial_outage"})
	}
	change.Entry = &topic.Entry{StatusID: "0190a000-0000-7000-8000-0000000000e1", Status: "update", Timestamp: at, Text: text, HTML: "<p>" + text + "</p>"}
}
