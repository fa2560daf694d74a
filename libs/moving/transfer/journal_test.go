package transfer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// journalOf returns the journal of a run whose file has the lines.
func journalOf(t *testing.T, text string) transfer.Journal {
	t.Helper()
	journal := transfer.NewJournal()
	for line := range strings.Lines(text) {
		var l transfer.JournalLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		journal.Add(l)
	}
	return journal
}

func names(all []transfer.Outcome) string {
	var out []string
	for _, o := range all {
		out = append(out, strings.TrimSpace(o.Name()+" "+string(o.Status)+" "+o.ID+" "+o.Mark))
	}
	return strings.Join(out, ", ")
}

// A run that was interrupted can update what it has written, if its source has changed meanwhile. An undo then deletes or restores
// the record, if it is as the last write has left it.
func TestARecordThatARunWritesTwiceIsTakenBackAsOne(t *testing.T) {
	journal := journalOf(t, `{"kind":"component","key":"a","status":"created","planned":true}
{"kind":"component","key":"a","status":"created","id":"1","mark":"1"}
{"kind":"component","key":"a","status":"updated","id":"1","was":"1","mark":"2","before":{"name":"First"}}
{"kind":"component","key":"b","status":"updated","id":"2","was":"4","mark":"5","before":{"name":"Second"}}
{"kind":"component","key":"b","status":"updated","id":"2","was":"5","mark":"6","before":{"name":"Third","description":"d"}}
{"kind":"dashboard","key":"e","status":"created","id":"5","mark":"settings+content"}
{"kind":"dashboard","key":"e","status":"updated","id":"5","was":"settings","mark":"others","before":{"name":"First"}}
{"kind":"component","key":"f","status":"created","id":"6","mark":"1"}
{"kind":"component","key":"f","status":"created","id":"7","mark":"1"}
{"kind":"component","key":"g","status":"created","id":"8","mark":"1"}
{"kind":"component","key":"g","status":"updated","id":"8","was":"2","mark":"3","before":{"name":"A member's"}}
{"kind":"component","key":"h","status":"created","id":"9","mark":"1"}
{"kind":"component","key":"h","status":"updated","id":"10","was":"1","mark":"2","before":{"name":"Another component"}}
{"kind":"subscriber","key":"c","status":"updated","id":"3"}
{"kind":"event","key":"d","status":"created","id":"4"}
`)
	undoable := journal.Undoable()
	if got := names(undoable); got != "component a created 1 2, component b updated 2 6, component f created 7 1, component g created 8 1, component h updated 10 2, dashboard e created 5 others+content" {
		t.Fatalf("an undo needs %s", got)
	}
	if before, _ := json.Marshal(undoable[1].Before); string(before) != `{"description":"d","name":"Second"}` {
		t.Errorf("an undo restores %s", before)
	}
	if left := journal.Unsettled(); len(left) > 0 {
		t.Errorf("unsettled are %s", names(left))
	}
}

func TestARecordThatWasTakenBackIsNotTakenBackAgain(t *testing.T) {
	journal := journalOf(t, `{"kind":"component","key":"a","status":"created","id":"1"}
{"kind":"component","key":"b","status":"created","id":"2"}
{"kind":"component","key":"a","status":"undone"}
{"kind":"component","key":"b","status":"undone"}
{"kind":"component","key":"b","status":"created","id":"3"}
`)
	if got := journal.Undoable(); names(got) != "component b created 3" || journal.Undone {
		t.Errorf("an undo needs %+v", got)
	}
	journal.Add(transfer.JournalLine{Outcome: transfer.Outcome{Kind: "undone"}})
	if !journal.Undone {
		t.Error("the run is not undone")
	}
}

// A member has deleted the record, or an undo, and the run is about to create it again when it is killed.
func TestARecordThatIsPlannedAgainIsUnsettled(t *testing.T) {
	for _, end := range []string{"", `{"kind":"component","key":"a","status":"undone"}` + "\n"} {
		journal := journalOf(t, `{"kind":"component","key":"a","status":"created","planned":true}
{"kind":"component","key":"a","status":"created","id":"1","mark":"1"}
`+end+`{"kind":"component","key":"a","status":"created","planned":true}
`)
		if written, left := names(journal.Undoable()), names(journal.Unsettled()); written != "" || left != "component a created" {
			t.Errorf("an undo needs %q, and unsettled are %q", written, left)
		}
	}
}

func TestARecordWithoutAResultIsUnsettledUntilTheRunIsDone(t *testing.T) {
	const lines = `{"kind":"endpoint","key":"a","status":"created","planned":true}
{"kind":"endpoint","key":"b","status":"created","planned":true}
{"kind":"endpoint","key":"b","status":"created","id":"2"}
`
	journal := journalOf(t, lines)
	if got := names(journal.Unsettled()); got != "endpoint a created" {
		t.Errorf("unsettled are %s", got)
	}
	if journal = journalOf(t, lines+`{"kind":"done"}`); !journal.Done || len(journal.Unsettled()) > 0 {
		t.Errorf("after the end, unsettled are %s", names(journal.Unsettled()))
	}
}

// A run creates a component and a dashboard, is interrupted, and updates them. If a member has changed the component between,
// an undo compares it with what the run had left first, and keeps it.
func TestTheEngineSaysWhichStateItHasUpdated(t *testing.T) {
	const dashboard = `"id": "d", "slug": "acme", "name": "Acme", "enabled": false`
	for _, version := range []string{"1", "2"} {
		p := &platform{t: t, responses: map[string]any{
			"POST /app/dashboards": `{"dashboard": {` + dashboard + `}}`, "GET /app/dashboards/d/content": `{"content": {}}`,
			"POST /app/components": `{"component": {"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "version": 1}}`,
		}}
		piece := &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:page", Name: "Acme", Slug: "acme"}}, Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:page"}}}}
		journal := transfer.NewJournal()
		write := func() {
			outcomes, err := (&transfer.Engine{Sender: p, Force: true}).Write(t.Context(), &transfer.State{}, piece)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range outcomes {
				journal.Add(transfer.JournalLine{Outcome: o})
			}
		}
		write()
		p.responses["GET /app/dashboards"] = `{"dashboards": [{` + dashboard + `}]}`
		p.responses["GET /app/components"] = `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "version": ` + version + `}]}`
		p.responses["PATCH /app/dashboards/d"] = `{"dashboard": {` + dashboard + `, "publicId": "p"}}`
		p.responses["PATCH /app/components/c"] = `{"component": {"id": "c", "name": "Door", "groupName": "default", "externalRefs": ["x:s:c"], "version": 3}}`
		before := journal.Undoable()
		piece.Components[0].Name, piece.Dashboards[0].PublicID = "Door", "p"
		write()
		after := journal.Undoable()
		if len(after) != 2 || len(before) != 2 || after[0].Status != transfer.Created || after[1].Status != transfer.Created || after[1].Mark == before[1].Mark {
			t.Fatalf("version %s: an undo needs %s, and before %s", version, names(after), names(before))
		}
		if want := map[string]string{"1": "3", "2": "1"}[version]; after[0].Mark != want {
			t.Errorf("version %s: an undo takes back the component in version %s, want %s", version, after[0].Mark, want)
		}
	}
}
