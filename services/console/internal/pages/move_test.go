package pages

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/source"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

const (
	moveAt    = root + movePath
	moveParts = root + "/parts" + movePath
	runID     = "01890a5d-ac96-774b-bcce-b302099a8099"
	moveLines = `{"kind":"dashboard","key":"a:d:1","name":"Acme","slug":"acme-old"}
{"kind":"component","key":"a:c:1","name":"Checkout","dashboardIds":["a:d:1"]}
{"kind":"event","key":"a:e:1","type":"incident","title":"Checkout fails","status":"resolved","startAt":"2025-01-31T09:30:00Z","endAt":"2025-01-31T10:00:00Z","components":[{"key":"a:c:1","impact":"major_outage"}],"aliases":["incident/1"],"timeline":[{"key":"a:u:1","at":"2025-01-31T09:30:00Z","status":"investigating","html":"<p>We look.</p>"},{"key":"a:u:2","at":"2025-01-31T10:00:00Z","status":"resolved","html":"<p>Solved.</p>"}]}
{"kind":"event","key":"a:e:2","type":"incident","title":"No such status","status":"burning","startAt":"2025-01-31T09:30:00Z"}
`
)

// moving opens the console with an App interface that has no record of the lines yet.
func moving(t *testing.T) *browser {
	b := open(t, "Acme")
	b.app.answer("GET /app/dashboards", answer{200, `{"dashboards": [], "nextToken": null}`, false})
	b.app.answer("GET /app/components", answer{200, `{"components": [], "nextToken": null}`, false})
	b.app.answer("POST /app/dashboards", answer{201, `{"dashboard": {"id": "` + other + `", "slug": "acme-old", "version": 1}}`, false})
	b.app.answer("POST /app/components", answer{201, `{"component": {"id": "` + member + `", "version": 1}}`, false})
	b.app.answer("POST /app/events/import", answer{200, `{"results": [{"key": "a:e:1", "status": "created", "eventId": "` + other + `", "error": null}]}`, false})
	b.app.answer("DELETE /app/events/import/"+runID, answer{200, `{"deleted": 1, "kept": 0, "remaining": 0}`, false})
	return b
}

// uploadFiles sends a form with files, as a browser does: a file of a chosen folder has its path as its name.
func (b *browser) uploadFiles(at string, files map[string]string, packed bool, fields ...string) response {
	b.t.Helper()
	var body bytes.Buffer
	var to io.Writer = &body
	var pack *gzip.Writer
	if packed {
		pack = gzip.NewWriter(&body)
		to = pack
	}
	form := multipart.NewWriter(to)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	for name, content := range files {
		part, _ := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, name)}, "Content-Type": {"application/octet-stream"}})
		_, _ = io.WriteString(part, content)
	}
	_ = form.Close()
	header := []string{}
	if packed {
		_ = pack.Close()
		header = []string{"Content-Encoding", "gzip"}
	}
	return b.sendBody(post, at, &body, form.FormDataContentType(), header...)
}

// part sends JSON to a part, and decodes the response.
func (b *browser) part(name string, in movePart) (out moveAnswer) {
	b.t.Helper()
	var body bytes.Buffer
	pack := gzip.NewWriter(&body)
	_ = json.NewEncoder(pack).Encode(in)
	_ = pack.Close()
	got := b.sendBody(post, moveParts+"/"+name, &body, "application/json", "Content-Encoding", "gzip")
	b.expect(got, http.StatusOK)
	if err := json.Unmarshal([]byte(got.text), &out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// fieldsOfForm returns the hidden fields of the first form of a page whose action contains at.
func fieldsOfForm(t *testing.T, page, at string) (fields []string) {
	t.Helper()
	_, rest, found := strings.Cut(page, `action="`+at)
	if !found {
		t.Fatalf("the page has no form for %s: %s", at, page)
	}
	form, _, _ := strings.Cut(rest, "</form>")
	for _, input := range strings.Split(form, `<input type="hidden" name="`)[1:] {
		name, rest, _ := strings.Cut(input, `" value="`)
		value, _, _ := strings.Cut(rest, `">`)
		fields = append(fields, name, strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&").Replace(value))
	}
	return fields
}

func TestAStatusPageIsImportedAndUndoneWithoutScript(t *testing.T) {
	b := moving(t)
	b.expect(b.get(moveAt), http.StatusOK, "Statuspage (Atlassian)", "Uptime Kuma", `data-move="/console/parts/import/"`, "move.", "data-found hidden")
	plan := b.uploadFiles(moveAt, map[string]string{"old.jsonl": moveLines + `{"kind":"subscriber","key":"a:s:1","channel":"email","address":"ada@example.com","state":"confirmed","confirmedAt":"2025-01-31T09:30:00Z"}`}, false, "source", "lines", "only", "components", "only", "events")
	b.expect(plan, http.StatusOK, "The plan. Nothing is written yet", "Import now", "No such status</bdi>", "Status: &#34;burning&#34; is unknown", "<b>Old addresses</b></div><div class=\"side-by\"><span>1 new", `<div class="x"><dt>lost or kept</dt><dd>1</dd>`, "The source also has 1 subscriber, which you did not choose.")
	if strings.Contains(plan.text, "line 4") || !strings.Contains(plan.text, `class="field full" hidden`) {
		t.Errorf("the plan has the number of a line, or the list twice: %s", plan.text)
	}
	for _, at := range []string{"POST /app/dashboards", "POST /app/components"} {
		if body := b.app.body(at); body != "" {
			t.Errorf("the plan sends %s: %s", at, body)
		}
	}
	written := b.post(moveAt, fieldsOfForm(t, plan.text, moveAt+"?")...)
	b.expect(written, http.StatusOK, "The import is complete", "Nobody was notified", "Undo the import")
	if body := b.app.body("POST /app/events/import"); !strings.Contains(body, `"dryRun":false`) || !strings.Contains(body, `"title":"Checkout fails"`) {
		t.Errorf("sent %s", body)
	}
	if body := b.app.body("POST /app/dashboards"); !strings.Contains(body, `"slug":"acme-old"`) {
		t.Errorf("sent %s", body)
	}
	undo := fieldsOfForm(t, written.text, moveAt+"/undo?")
	run := undo[slices.Index(undo, "run")+1]
	b.app.answer("DELETE /app/events/import/"+run, answer{200, `{"deleted": 1, "kept": 2, "remaining": 0}`, false})
	b.app.answer("DELETE /app/components/"+member, answer{204, ``, false})
	b.app.answer("GET /app/dashboards/"+other, answer{404, `{}`, false})
	b.expect(b.post(moveAt+"/undo", undo...), http.StatusOK, "The import is undone", "2 events", "changed after the import")
	if queries := b.app.queries("DELETE /app/components/" + member); len(queries) != 1 {
		t.Errorf("the component is deleted %d times", len(queries))
	}
}

func TestThePiecesOfAnImportHaveTheirResultAsJSON(t *testing.T) {
	b := moving(t)
	got := b.uploadFiles(moveParts+"/read", map[string]string{"old.jsonl": moveLines}, true, "source", "lines", "only", "components", "only", "events", "slug", "acme-new")
	b.expect(got, http.StatusOK)
	var read moveAnswer
	if err := json.Unmarshal([]byte(got.text), &read); err != nil || len(read.Pieces) != 3 || len(read.Lost) != 1 || !strings.Contains(read.Pieces[0].Text, `"slug":"acme-new"`) ||
		read.Names["a:e:1"] != (moveName{"Checkout fails", 1}) || read.Lost[0].Name != "No such status" {
		t.Fatalf("%v: %s", err, got.text)
	}
	plan, write := transfer.State{}, transfer.State{RunID: runID}
	for i, piece := range read.Pieces {
		planned := b.part("plan", movePart{State: plan, Text: piece.Text})
		if planned.Problem != "" || i < 2 && planned.Outcomes[0].Status != transfer.Created {
			t.Fatalf("the plan of piece %d: %+v", i, planned)
		}
		plan = *planned.State
	}
	if b.app.body("POST /app/components") != "" {
		t.Error("the plan writes")
	}
	var undo []transfer.Outcome
	for i, piece := range read.Pieces {
		done := b.part("write", movePart{State: write, Text: piece.Text})
		if done.Problem != "" || done.Outcomes[0].Status != transfer.Created {
			t.Fatalf("piece %d: %+v", i, done)
		}
		write, undo = *done.State, append(undo, undoable(done.Outcomes)...)
	}
	if write.Components["a:c:1"] != member || len(undo) != 2 {
		t.Errorf("the state is %+v, undoable are %+v", write, undo)
	}
	if gone := b.part("undo", movePart{RunID: runID}); gone.Gone != 1 || gone.Left != 0 {
		t.Errorf("%+v", gone)
	}
	b.app.answer("DELETE /app/components/"+member, answer{409, `{"error": "The record has changed."}`, false})
	b.app.answer("GET /app/dashboards/"+other, answer{404, `{}`, false})
	if gone := b.part("undo", movePart{RunID: runID, Outcomes: undo}); len(gone.Undone) != 2 || gone.Undone[0].Gone || !gone.Undone[1].Gone {
		t.Errorf("%+v", gone)
	}
	if wrong := b.part("undo", movePart{RunID: "x"}); !strings.Contains(wrong.Problem, "id of a run") {
		t.Errorf("%+v", wrong)
	}
}

// The response to a piece that fails in the middle has what is written, so that the script can go on and undo.
func TestAPieceThatFailsSaysWhatIsWritten(t *testing.T) {
	b := moving(t)
	text := strings.Join(strings.SplitAfter(moveLines, "\n")[:2], "")
	b.app.fails("POST /app/components", 1, false)
	failed := b.part("write", movePart{State: transfer.State{RunID: runID}, Text: text})
	if !failed.Again || !strings.Contains(failed.Problem, "events, components and dashboards") || len(failed.Outcomes) != 1 || failed.State.Dashboards["a:d:1"] != other {
		t.Fatalf("%+v", failed)
	}
	b.app.answer("POST /app/dashboards", answer{403, `{"error": "Your plan has no further dashboard."}`, false})
	refused := b.part("write", movePart{State: transfer.State{RunID: runID}, Text: text})
	if refused.Again || refused.Problem != "Your plan has no further dashboard." || len(refused.Outcomes) != 0 {
		t.Errorf("%+v", refused)
	}
	plan := b.uploadFiles(moveAt, map[string]string{"old.jsonl": moveLines}, false, "source", "lines", "only", "components")
	stopped := b.post(moveAt, fieldsOfForm(t, plan.text, moveAt+"?")...)
	b.expect(stopped, http.StatusOK, "A part is imported", "Your plan has no further dashboard.", "Go on", `name="from" value="0"`)

	// The undo finds the records whose result got lost.
	undo := fieldsOfForm(t, stopped.text, moveAt+"/undo?")
	b.app.answer("DELETE /app/events/import/"+undo[slices.Index(undo, "run")+1], answer{200, `{"deleted": 0, "kept": 0, "remaining": 0}`, false})
	b.app.answer("GET /app/components", answer{200, `{"components": [{"id": "` + member + `", "externalRefs": ["a:c:1"], "version": 1}], "nextToken": null}`, false})
	b.app.answer("DELETE /app/components/"+member, answer{204, ``, false})
	b.expect(b.post(moveAt+"/undo", undo...), http.StatusOK, "The import is undone")
	if queries := b.app.queries("DELETE /app/components/" + member); len(queries) != 1 {
		t.Errorf("the component is deleted %d times", len(queries))
	}
	found := b.part("undo", movePart{RunID: runID, Planned: []transfer.Outcome{{Kind: "component", Key: "a:c:1", Status: transfer.Created}, {Kind: "component", Key: "a:c:2", Status: transfer.Created}}})
	if len(found.Outcomes) != 1 || found.Outcomes[0].ID != member {
		t.Errorf("%+v", found)
	}
}

// An old address and a component can be on several dashboards of a run. A planned record has the key of the dashboard only.
func TestTheFileOfARunHasRecordsOfSeveralDashboards(t *testing.T) {
	written, planned, err := outcomesOf(`{"kind":"run","runId":"` + runID + `","dashboard":"acme"}
{"kind":"alias","key":"old/feed","status":"created","dashboard":"a:d:1","mark":"file /feed.rss","planned":true}
{"kind":"alias","key":"old/feed","status":"created","dashboard":"a:d:2","mark":"file /feed.rss","planned":true}
{"kind":"placement","key":"a:c:1","status":"created","id":"c","dashboard":"a:d:1","planned":true}
{"kind":"placement","key":"a:c:1","status":"created","id":"c","dashboard":"a:d:2","planned":true}
{"kind":"alias","key":"old/feed","status":"created","dashboardId":"1","dashboard":"a:d:1","mark":"file /feed.rss"}
{"kind":"placement","key":"a:c:1","status":"created","id":"c","dashboardId":"1","dashboard":"a:d:1","mark":"default"}
`)
	if err != nil || len(written) != 2 || len(planned) != 2 || planned[0].Dashboard != "a:d:2" || planned[1].Dashboard != "a:d:2" {
		t.Fatalf("%v: written %+v, planned %+v", err, written, planned)
	}
	b := moving(t)
	b.app.answer("GET /app/dashboards/"+other, answer{200, `{"dashboard": {"id": "` + other + `", "components": [{"componentId": "c", "groupName": "default"}]}}`, false})
	made := transfer.Outcome{Kind: "dashboard", Key: "a:d:2", Status: transfer.Created, ID: other}
	if found := b.part("undo", movePart{RunID: runID, Planned: planned, Outcomes: []transfer.Outcome{made}}); len(found.Outcomes) != 2 || found.Outcomes[0].DashboardID != other || found.Outcomes[1].DashboardID != other {
		t.Errorf("found %+v", found)
	}
}

func TestAWrongSourceIsShownWithItsReason(t *testing.T) {
	nothingIsLeft(t)
	b := moving(t)
	for _, row := range []struct {
		files  map[string]string
		fields []string
		want   string
	}{
		{nil, []string{"source", "lines", "only", "events"}, "Choose a file or a folder."},
		{nil, []string{"only", "events"}, "Choose the product."},
		{nil, []string{"source", "lines"}, "Choose what to take."},
		{map[string]string{"a.jsonl": "no lines"}, []string{"source", "lines", "only", "events"}, "The source cannot be read: a.jsonl has no valid line; line 1: is no valid JSON in UTF-8."},
		{map[string]string{"kuma.db": "SQLite format 3\x00 and then nothing"}, []string{"source", "uptime-kuma", "only", "events"}, "There is a problem"},
		{map[string]string{strings.Repeat("a/", 300) + "a.jsonl": moveLines}, []string{"source", "lines", "only", "events"}, "lies more than 20 folders deep"},
		{map[string]string{"../../etc/a.jsonl": moveLines}, []string{"source", "lines", "only", "events"}, "leads out of the folder"},
		{map[string]string{"a.jsonl": moveLines}, []string{"source", "lines", "only", "events", "slug", "cs"}, "Enter 3 to 63 of a-z, 0-9 and -."},
		{map[string]string{"a.jsonl": moveLines}, []string{"source", "lines", "only", "events", "timezone", "Mars"}, "Enter a time zone"},
		{map[string]string{"a.jsonl": moveLines}, []string{"source", "lines", "only", "events", "outages", "5m"}, "Enter a time for Uptime Kuma"},
		{map[string]string{"a.jsonl": moveLines}, []string{"source", "lines", "only", "events", "into", "acme", "slug", "acme"}, "Choose a dashboard, or enter the address of a new one."},
		{map[string]string{"a.jsonl": strings.Repeat(moveLines, 1) + strings.Repeat("\n", 600_000)}, []string{"source", "lines", "only", "nothing"}, "Choose one of the options."},
	} {
		got := b.uploadFiles(moveAt, row.files, false, row.fields...)
		b.expect(got, http.StatusUnprocessableEntity, row.want, "There is a problem")
		if strings.Contains(got.text, "bellbuoy-import-") {
			t.Errorf("the page names the temporary folder: %s", got.text)
		}
		part := b.uploadFiles(moveParts+"/read", row.files, true, row.fields...)
		b.expect(part, http.StatusOK, `"problem":"`)
	}
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"kind":"component","key":"a:c:%d","name":"A component with a longer name %d","description":"%s"}`+"\n", i, i, strings.Repeat("x", 100))
	}
	b.expect(b.uploadFiles(moveAt, map[string]string{"a.jsonl": lines.String()}, false, "source", "lines", "only", "components", "slug", "acme"), http.StatusUnprocessableEntity, "Turn on JavaScript, or use the command bellbuoy import.")
	b.expect(b.post(moveAt+"/undo", "run", "x"), http.StatusUnprocessableEntity, "Enter the id of a run")
	b.expect(b.post(moveAt+"/undo", "run", runID, "record", "no record"), http.StatusUnprocessableEntity, "This is not the file of a run.")
}

// nothingIsLeft fails the test if a temporary file is left at its end.
func nothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Cleanup(func() {
		left, err := os.ReadDir(folder)
		for _, file := range left {
			t.Errorf("%s is left", file.Name())
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// A folder comes with the paths of its files. The name of the folder itself, which browsers send too, is left out.
func TestAFolderIsReadWithItsPaths(t *testing.T) {
	b := moving(t)
	files := map[string]string{
		"status/config.yml":                   "title: Acme\nsystems:\n  - name: Checkout\n",
		"status/content/issues/2025-01-31.md": "---\ntitle: Checkout fails\ndate: 2025-01-31 09:30:00\nresolved: true\nresolvedWhen: 2025-01-31 10:00:00\nseverity: down\naffected:\n  - Checkout\nsection: issue\n---\nWe look.\n",
	}
	got := b.uploadFiles(moveParts+"/read", files, true, "source", "cstate", "only", "components", "only", "events", "slug", "acme")
	b.expect(got, http.StatusOK, `"kind":"component","count":1`, `"kind":"event","count":1`, "Checkout fails")
}

// A folder of a large repository has more files than a form of net/http, and more bytes than it keeps in memory. No
// file of it is left, also not after an error.
func TestALargeFolderIsReadAndNothingIsLeft(t *testing.T) {
	nothingIsLeft(t)
	b := moving(t)
	files := map[string]string{"status/config.yml": "title: Acme\nsystems:\n  - name: Checkout\n", "status/static/logo.svg": strings.Repeat("x", 2<<20)}
	for i := range 1100 {
		files[fmt.Sprintf("status/content/issues/%04d.md", i)] = fmt.Sprintf("---\ntitle: Incident %d\ndate: 2025-01-31 09:30:00\nresolved: true\nresolvedWhen: 2025-01-31 10:00:00\nseverity: down\naffected:\n  - Checkout\nsection: issue\n---\nWe look.\n", i)
	}
	fields := []string{"source", "cstate", "only", "components", "only", "events", "slug", "acme"}
	b.expect(b.uploadFiles(moveParts+"/read", files, true, fields...), http.StatusOK, "Incident 1099", `"kind":"event","count":100`)
	b.expect(b.uploadFiles(moveParts+"/read", files, true, append(fields, "timezone", "Mars")...), http.StatusOK, "Enter a time zone")
	b.expect(b.uploadFiles(moveParts+"/read", files, true, append(fields, "colour", "red")...), http.StatusBadRequest, "colour")
	files["../logo.svg"] = "x"
	b.expect(b.uploadFiles(moveParts+"/read", files, true, fields...), http.StatusOK, "leads out of the folder")
	b.expect(b.uploadFiles(moveParts+"/read", map[string]string{"a.jsonl": strings.Repeat("\n", mostUploaded+1)}, true, "source", "lines", "only", "events"), http.StatusRequestEntityTooLarge)
}

// sourceFiles returns the files of a source, by the names that browsers send: the name of a file, or the paths in a chosen
// folder with the name of the folder. Of a file of SQL, it returns the database that it makes.
func sourceFiles(t *testing.T, at string) (path string, files map[string]string) {
	t.Helper()
	if name, is := strings.CutSuffix(filepath.Base(at), ".sql"); is {
		script, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		at = filepath.Join(t.TempDir(), name+".db")
		db, err := sql.Open("sqlite", at)
		if err == nil {
			_, err = db.ExecContext(t.Context(), string(script))
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files = map[string]string{}
	err := filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(filepath.Dir(at), path)
		files[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return at, files
}

// The page reads the files of each product, databases too, and gives the lines that the reader gives for the same files on
// the disk. So does the page without script, which shows the plan.
func TestThePageReadsTheFilesOfEachProduct(t *testing.T) {
	const fixtures = "../../../../libs/moving/source/testdata/"
	covered := map[string]bool{"lines": true} // most tests here import lines
	for _, row := range []struct{ product, files, slug string }{
		{"statuspage", "statuspage", "acme"}, {"cachet", "cachet2", "acme"}, {"cachet", "cachet3", "acme"}, {"cachet", "cachet3.sql", "acme"}, {"uptime-kuma", "kuma", "acme"}, {"uptime-kuma", "kuma.sql", "harbour"},
		{"cstate", "cstate", "acme"}, {"upptime", "upptime", "acme"}, {"openstatus", "openstatus.sql", "harbour"}, {"gatus", "gatus/config.yaml", "acme"},
	} {
		t.Run(row.product+" "+row.files, func(t *testing.T) {
			covered[row.product] = true
			b := moving(t)
			path, files := sourceFiles(t, fixtures+row.files)
			zone, err := time.LoadLocation("Europe/Berlin")
			if err != nil {
				t.Fatal(err)
			}
			o := source.Options{Only: []string{"components", "events", "subscribers", "endpoints"}, Zone: zone, Now: time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC)}
			fields := []string{"source", row.product, "only", "components", "only", "events", "only", "subscribers", "only", "endpoints", "timezone", "Europe/Berlin", "slug", row.slug}
			if row.product == "uptime-kuma" {
				o.Outages, fields = 5*time.Minute, append(fields, "outages", "5m")
			}
			want, err := source.Read(t.Context(), row.product, path, o)
			if err == nil {
				err = transfer.Prepare(want, row.slug)
			}
			if err != nil {
				t.Fatal(err)
			}
			var pieces []movePiece
			for _, piece := range transfer.Split(want) {
				pieces = append(pieces, pieceOf(piece))
			}
			var got moveAnswer
			response := b.uploadFiles(moveParts+"/read", files, true, fields...)
			b.expect(response, http.StatusOK)
			if err := json.Unmarshal([]byte(response.text), &got); err != nil || got.Problem != "" || len(pieces) < 2 || !slices.Equal(got.Pieces, pieces) || len(got.Lost) != len(want.Warnings) {
				t.Errorf("%v, %s, %d losses instead of %d: %+v instead of %+v", err, got.Problem, len(got.Lost), len(want.Warnings), got.Pieces, pieces)
			}
			b.expect(b.uploadFiles(moveAt, files, false, fields...), http.StatusOK, "The plan. Nothing is written yet", "<b>Components</b>")
		})
	}
	for _, product := range source.Names() {
		if !covered[product] {
			t.Errorf("no files of %s are read", product)
		}
	}
}

// A part takes 8 MiB, and 64 MiB when it is unpacked. A member of another role, or without a session, sends nothing.
func TestThePartsOfAnImportAreBounded(t *testing.T) {
	b := moving(t)
	b.expect(b.sendBody(post, moveParts+"/write", bytes.NewReader(make([]byte, mostPacked+1)), "application/json"), http.StatusRequestEntityTooLarge, "bellbuoy import")
	b.expect(b.sendBody(post, moveParts+"/write", strings.NewReader("{"), "application/json"), http.StatusBadRequest)
	for _, bomb := range []struct {
		body   string
		status int
		text   string
	}{
		{`{"text": "` + strings.Repeat(" ", mostPart) + `"}`, http.StatusRequestEntityTooLarge, "24 MiB"},
		{`{"text": "` + strings.Repeat(`x\n`, 4<<20) + `"}`, http.StatusBadRequest, "more than 5000 lines"},
		{`{"outcomes": [` + strings.Repeat(`{},`, 4<<20) + `{}]}`, http.StatusRequestEntityTooLarge, "more than 200000 records"},
	} {
		var body bytes.Buffer
		pack := gzip.NewWriter(&body)
		_, _ = io.WriteString(pack, bomb.body)
		_ = pack.Close()
		b.expect(b.sendBody(post, moveParts+"/plan", &body, "application/json", "Content-Encoding", "gzip"), bomb.status, bomb.text)
	}
	wrong := b.uploadFiles(moveParts+"/read", map[string]string{"a.jsonl": moveLines + strings.Repeat("x\n", 8<<20)}, true, "source", "lines", "only", "components", "slug", "acme")
	b.expect(wrong, http.StatusOK, "More than 10000 lines are refused; the file is not read after line 10004")
	many := b.uploadFiles(moveParts+"/read", map[string]string{"a.json": "[" + strings.Repeat("{},", 300_000) + "{}]"}, true, "source", "statuspage", "only", "components", "slug", "acme")
	b.expect(many, http.StatusOK, "there are more than 250000 records; the command bellbuoy import reads any number")
	b.member.Roles = []string{"event", "subscriber"}
	b.expect(b.get(moveAt), http.StatusForbidden, "Administrator")
	b.expect(b.sendBody(post, moveParts+"/write", strings.NewReader("{}"), "application/json"), http.StatusForbidden)
}

// The key of the source goes to the host of Statuspage, and is in no response.
func TestAPageIsDownloadedFromStatuspage(t *testing.T) {
	const key = "key-of-the-source"
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.URL.RequestURI())
		switch {
		case r.Header.Get("Authorization") != "OAuth "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/incidents"):
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.Contains(r.URL.Path, "/component"):
			_, _ = io.WriteString(w, "[]")
		default:
			_, _ = io.WriteString(w, `{"id": "kctbh9vrtdwd"}`)
		}
	}))
	defer server.Close()
	b := moving(t)
	client := server.Client()
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com"
	*b.download = *client
	at := moveParts + "/statuspage"
	b.expect(b.post(at, "page", "kctbh9vrtdwd", "key", key), http.StatusOK, `"name":"page.json"`, `"next":{"list":1,"page":0},"wait":0`)
	b.expect(b.post(at, "page", "https://api.statuspage.io/v1/pages/kctbh9vrtdwd", "key", key, "place", `{"list":2,"page":0}`, "people", "on"), http.StatusOK, `"name":"components-00000.json","text":"[]","next":{"list":3,"page":0}`)
	b.expect(b.post(at, "page", "kctbh9vrtdwd", "key", key, "place", `{"list":3,"page":4}`), http.StatusOK, `"next":{"list":3,"page":4},"wait":7`)
	for _, row := range [][]string{
		{"page", "kctbh9vrtdwd", "key", "other"}, {"page", "kctbh9vrtdwd", "key", ""}, {"page", "https://evil.example/v1/pages/x", "key", key}, {"page", "../x", "key", key},
		{"page", "kctbh9vrtdwd", "key", key, "place", "{"}, {"page", "kctbh9vrtdwd", "key", key, "place", `{"list":9,"page":0}`},
	} {
		got := b.post(at, row...)
		b.expect(got, http.StatusOK, `"problem":"`)
		if strings.Contains(got.text, key) || strings.Contains(got.text, "IMPORT_TOKEN") {
			t.Errorf("%s shows a key, or the setting of the command: %s", row, got.text)
		}
	}
	for _, one := range asked {
		if !strings.HasPrefix(one, "api.statuspage.io/v1/pages/kctbh9vrtdwd") {
			t.Errorf("a request went to %s", one)
		}
	}
}

// The script sends the places that the responses name until the download is complete, and then the files as a folder.
func TestADownloadedPageIsReadAsAFolder(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content := map[string]string{
			"":             `{"id": "kctbh9vrtdwd", "name": "Acme", "time_zone": "UTC"}`,
			"/components1": `[{"id": "c1", "name": "Checkout", "status": "operational", "position": 1}]`,
			"/incidents1":  `[{"id": "i1", "name": "Checkout fails", "status": "resolved", "impact": "major", "created_at": "2025-01-31T09:30:00Z", "resolved_at": "2025-01-31T10:00:00Z", "incident_updates": [{"id": "u1", "status": "resolved", "body": "Solved.", "display_at": "2025-01-31T10:00:00Z"}]}]`,
		}[strings.TrimPrefix(r.URL.Path, "/v1/pages/kctbh9vrtdwd")+r.URL.Query().Get("page")]
		_, _ = io.WriteString(w, cmp.Or(content, "[]"))
	}))
	defer server.Close()
	b := moving(t)
	client := server.Client()
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com"
	*b.download = *client
	b.expect(b.post(moveParts+"/statuspage", "page", "", "key", "", "place", "", "people", ""), http.StatusOK, "Enter the id of the page", "choose saved files")
	files, place := map[string]string{}, ""
	for place != "null" {
		got := b.post(moveParts+"/statuspage", "page", "kctbh9vrtdwd", "key", "key-of-the-source", "place", place, "people", "")
		b.expect(got, http.StatusOK)
		var file struct {
			Name, Text string
			Next       json.RawMessage
		}
		if err := json.Unmarshal([]byte(got.text), &file); err != nil || file.Name == "" || len(files) > 10 {
			t.Fatalf("%v: %s", err, got.text)
		}
		files[file.Name], place = file.Text, string(file.Next)
	}
	read := b.uploadFiles(moveParts+"/read", files, true, "source", "statuspage", "only", "components", "only", "events", "slug", "acme")
	b.expect(read, http.StatusOK, `"kind":"component","count":1`, `"kind":"event","count":1`, "Checkout fails")
}

func TestASentenceBeginsWithACapitalLetter(t *testing.T) {
	for text, want := range map[string]string{"": "", "no status": "No status", "über uns": "Über uns", "日本": "日本"} {
		if got := firstUpper(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
