package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// An entry of an event shows only those of its parts that the write changed, in their former and in their new version.
func TestAuditEntryOfAnEventShowsItsChangedParts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text := func(text string) Rich { return Rich{Text: text, Format: richtext.Plain} }
	before := Event{
		ID: "e", OrganizationID: "o", Title: "Slow", Description: text(strings.Repeat("long ", 3000)),
		Timeline: []Entry{{StatusID: "1", Message: text("one")}, {StatusID: "2", Message: text("two")}, {StatusID: "3", Message: text("three")}},
		Notes:    []Note{{ID: "n1", Text: "note"}},
	}
	after := before
	after.Timeline = []Entry{before.Timeline[0], {StatusID: "2", Message: text("TWO"), EditedAt: &at}, before.Timeline[2], {StatusID: "4", Message: text("four")}}
	after.Notes = nil
	after.PostMortem = &PostMortem{Summary: text("It was DNS.")}
	messages := audit.Entry(audit.Origin{Surface: "app"}, ActionTimelineUpdate, at, &before, &after)
	entry := messages[0].(topic.AuditEntry)
	if got := strings.Join(entry.ChangedFields, " "); got != "notes postMortem timeline" || entry.EntityName != "Slow" || entry.Organization != "o" {
		t.Errorf("%s %+v", got, entry)
	}
	type part struct{ StatusID, Message, Note string }
	var sides [2]struct {
		Description string
		Timeline    []part
		Notes       []part
		PostMortem  *struct{ Summary string }
	}
	for i, side := range []json.RawMessage{entry.Before, entry.After} {
		if err := json.Unmarshal(side, &sides[i]); err != nil {
			t.Fatal(err)
		}
		if sides[i].Description != before.Description.Text {
			t.Errorf("the description has %d characters", len(sides[i].Description))
		}
	}
	former, next := sides[0], sides[1]
	if len(former.Timeline) != 1 || former.Timeline[0].Message != "two" || len(former.Notes) != 1 || former.Notes[0].Note != "note" || former.PostMortem != nil {
		t.Errorf("before: %+v", former)
	}
	if len(next.Timeline) != 2 || next.Timeline[0].Message != "TWO" || next.Timeline[1].Message != "four" || len(next.Notes) != 0 || next.PostMortem.Summary != "It was DNS." {
		t.Errorf("after: %+v", next)
	}
}
