package events_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// TestTheEditionAfterAStateOfAnotherFormatReadsAllRecords stores a state of an older format, in which the dashboard and a
// component lack a value, and then writes an event.
func TestTheEditionAfterAStateOfAnotherFormatReadsAllRecords(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api := created("component", p.must(201, "app admin a", "POST", "/app/components", `{"name": "API", "description": "Takes requests"}`))
	p.incident(api, "")
	before := p.snapshot(records)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}

	head, err := records.Parts.Get(t.Context(), p.edition().ID)
	must(err)
	zip, err := gzip.NewReader(bytes.NewReader(head.Body))
	must(err)
	var state map[string]any
	must(json.NewDecoder(zip).Decode(&state))
	state["format"] = state["format"].(float64) - 1
	snapshot := state["snapshot"].(map[string]any)
	delete(snapshot["dashboard"].(map[string]any), "legacyId")
	delete(snapshot["components"].([]any)[0].(map[string]any), "description")
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	must(json.NewEncoder(packed).Encode(state), packed.Close())
	head.ID, head.Body = topic.NewID(), body.Bytes()
	must(records.Parts.Insert(t.Context(), head))
	_, err = records.Pages.Upsert(t.Context(), dashA, func(page *edition.PublishedPage, _ bool) ([]topic.Message, error) {
		page.EditionID, page.Rows[0].Description = head.ID, ""
		return nil, nil
	})
	must(err)
	if old := p.snapshot(records); old.Dashboard.LegacyID != 0 || old.Components[0].Description != "" {
		t.Fatalf("the old state has the values %d and %q", old.Dashboard.LegacyID, old.Components[0].Description)
	}

	p.incident(api, "")
	after, was := p.snapshot(records), before.Components[0]
	if after.Dashboard.LegacyID == 0 || len(after.Events) != 2 {
		t.Errorf("the dashboard has the legacy id %d and %d events", after.Dashboard.LegacyID, len(after.Events))
	}
	if now := after.Components[0]; now.Description != "Takes requests" || now.LegacyID != was.LegacyID || !now.Since.Equal(was.Since) || !now.FeedChangedAt.Equal(was.FeedChangedAt) {
		t.Errorf("the component is %+v, want %+v", now, was)
	}
	page, err := records.Pages.Get(t.Context(), dashA)
	must(err)
	if got := fmt.Sprint(page.Rows[0].Description, page.Slug, page.Edition); got != fmt.Sprint("Takes requests", "acme-status", before.Edition+1) {
		t.Errorf("the page has %s", got)
	}
}
