package events_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

const acme = "/public/v1/dashboards/acme-status"

// edition returns the current edition of the dashboard of organization a.
func (p *platform) edition() peer.Edition {
	p.t.Helper()
	a := p.send("public", "GET", acme+"/edition", "")
	var edition peer.Edition
	if err := json.Unmarshal(a.body, &edition); a.status != 200 || err != nil {
		p.t.Fatalf("the edition: %d %s", a.status, a.body)
	}
	return edition
}

// records opens the records of the service, beside it.
func (p *platform) records() *store.Store {
	p.t.Helper()
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return store.Declare(db)
}

// snapshot returns the snapshot of the current edition.
func (p *platform) snapshot(records *store.Store) edition.Snapshot {
	p.t.Helper()
	snapshot, err := records.Snapshot(p.t.Context(), p.edition().ID)
	if fault.Is(err, fault.NotFound) { // the clock went on, and the edition was followed by another one and deleted
		return p.snapshot(records)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return snapshot
}

// file requests a file of an edition in a content coding.
func (p *platform) file(edition, name, coding string, header ...string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), "GET", p.url+"/public/v1/editions/"+edition+"/files/"+name, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set(passport.Header, p.token("public"))
	request.Header.Set("Accept-Encoding", coding)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { response.Body.Close() })
	return response
}

// created returns the id of the record that a response of the App interface shows.
func created(kind string, body map[string]any) string {
	return body[kind].(map[string]any)["id"].(string)
}

// component creates a component on the dashboard of organization a and returns its id.
func (p *platform) component(name string) string {
	p.t.Helper()
	return created("component", p.must(201, "app admin a", "POST", "/app/components", fmt.Sprintf(`{"name": %q}`, name)))
}

// incident creates an incident with a major outage and returns its id.
func (p *platform) incident(component, more string) string {
	p.t.Helper()
	return created("event", p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(
		`{"type": "incident", "title": "Down", "affectedComponents": [{"componentId": %q, "impact": "major_outage"}]%s}`, component, more)))
}

// TestEditionOfEachChange checks that each change of what visitors see makes an edition before its response, and that
// no other write does.
func TestEditionOfEachChange(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api, other := p.component("API"), p.component("Mail")
	event := p.incident(api, `, "initialTimelineMessage": "We look."`)
	draft := p.incident(api, `, "publish": false`)
	path, dashboard := "/app/events/"+event, "/app/dashboards/"+dashA
	entry := p.must(200, "app admin a", "GET", path, "")["event"].(map[string]any)["timeline"].([]any)[0].(map[string]any)["statusId"].(string)
	last := p.edition()
	check := func(changes bool, name string, status int, method, path, body string) {
		t.Helper()
		p.must(status, "app admin a", method, path, body)
		now := p.edition()
		if want := last.Number + map[bool]int64{true: 1}[changes]; now.Number != want || changes == (now.ID == last.ID) {
			t.Errorf("%s: the edition is %d after %d", name, now.Number, last.Number)
		}
		last = now
	}
	shows := func(name string, status int, method, path, body string) {
		t.Helper()
		check(true, name, status, method, path, body)
	}
	hides := func(name string, status int, method, path, body string) {
		t.Helper()
		check(false, name, status, method, path, body)
	}

	shows("title", 200, "PATCH", path, `{"title": "Down again"}`)
	shows("description", 200, "PATCH", path, `{"description": "It does not respond."}`)
	shows("impact analysis", 200, "PATCH", path, `{"impactAnalysis": "Costly"}`)
	shows("impact", 200, "PATCH", path, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q, "impact": "partial_outage"}]}`, api))
	shows("components", 200, "PATCH", path, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q}, {"componentId": %q}]}`, api, other))
	shows("entry", 201, "POST", path+"/timeline", `{"message": "We know.", "status": "identified"}`)
	shows("edited entry", 200, "PUT", path+"/timeline/"+entry, `{"message": "We looked."}`)
	shows("deleted entry", 204, "DELETE", path+"/timeline/"+entry, "")
	shows("end", 201, "POST", path+"/timeline", `{"message": "Over.", "status": "resolved"}`)
	shows("post-mortem", 200, "PUT", path+"/post-mortem", `{"summary": "A cable.", "published": true}`)
	shows("post-mortem text", 200, "PUT", path+"/post-mortem", `{"summary": "A plug.", "published": true}`)
	shows("withdrawn post-mortem", 200, "PUT", path+"/post-mortem", `{"summary": "A plug.", "published": false}`)
	shows("hidden", 200, "PATCH", path, `{"hiddenFromDashboard": true}`)
	shows("visible", 200, "PATCH", path, `{"hiddenFromDashboard": false}`)
	shows("component name", 200, "PATCH", "/app/components/"+api, `{"name": "The API"}`)
	shows("component description", 200, "PATCH", "/app/components/"+api, `{"description": "Of all."}`)
	shows("component group", 200, "PATCH", "/app/components/"+api, `{"groupName": "Core"}`)
	for _, override := range []string{`{"status": "major_outage"}`, `{"status": "degraded_performance", "countInUptime": true}`, `null`} {
		shows("state by hand "+override, 200, "PATCH", "/app/components/"+api, `{"statusOverride": `+override+`}`)
	}
	shows("hidden component", 200, "PATCH", "/app/components/"+other, `{"hidden": true}`)
	shows("visible component", 200, "PATCH", "/app/components/"+other, `{"hidden": false}`)
	shows("order", 200, "PUT", dashboard+"/components", fmt.Sprintf(`{"components": [{"componentId": %q}, {"componentId": %q}]}`, other, api))
	for _, setting := range []string{
		`"name": "Acme!"`, `"description": "All of it"`, `"timezone": "Asia/Tokyo"`, `"locale": "de"`, `"branding": {"primaryColor": "#aa0000"}`,
		`"links": {"supportUrl": "https://help.example"}`, `"subscriptions": {"webhook": true}`, `"searchIndexing": false`, `"customDomains": ["status.acme.example"]`,
		`"access": {"mode": "password", "password": "a good password"}`,
	} {
		shows(setting, 200, "PATCH", dashboard, "{"+setting+"}")
	}
	content := p.must(200, "app admin a", "GET", dashboard+"/content", "")["content"].(map[string]any)
	content["announcement"] = "We move."
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	shows("announcement", 200, "PUT", dashboard+"/content", string(body))
	shows("published", 200, "PATCH", "/app/events/"+draft, `{"publish": true}`)
	shows("deleted", 204, "DELETE", "/app/events/"+draft, "")

	hidden := p.incident(api, `, "hiddenFromDashboard": true`)
	draft = p.incident(api, `, "publish": false`)
	hides("nothing", 200, "PATCH", path, `{"title": "Down again"}`)
	hides("note", 201, "POST", path+"/notes", `{"note": "Blame Bob."}`)
	hides("draft", 200, "PATCH", "/app/events/"+draft, `{"title": "Not yet"}`)
	hides("entry of a draft", 201, "POST", "/app/events/"+draft+"/timeline", `{"message": "Not yet"}`)
	hides("hidden event", 200, "PATCH", "/app/events/"+hidden, `{"title": "Secret"}`)
	hides("coordinator", 200, "PATCH", path, `{"coordinator": "Ann"}`)
	hides("uptime reports", 200, "PATCH", path, `{"hiddenFromUptimeReports": true}`)
	hides("deleted draft", 204, "DELETE", "/app/events/"+draft, "")
	hides("deleted hidden event", 204, "DELETE", "/app/events/"+hidden, "")
	if snapshot := p.snapshot(records); len(snapshot.Events) != 1 || snapshot.Events[0].Title != "Down again" || snapshot.Edition != last.Number || snapshot.URL != "https://status.acme.example" {
		t.Errorf("the last snapshot is %+v", snapshot)
	}
}

// TestSnapshotHidesWhatVisitorsMustNotSee checks that no byte of an edition has a hidden text.
func TestSnapshotHidesWhatVisitorsMustNotSee(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	shown, hidden := p.component("API"), p.component("secret component")
	event := p.incident(shown, `, "coordinator": "secret coordinator", "externalId": "secret external"`)
	path := "/app/events/" + event
	p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q}, {"componentId": %q}]}`, shown, hidden))
	p.must(201, "app admin a", "POST", path+"/timeline", fmt.Sprintf(`{"message": "Both", "status": "resolved", "componentImpacts": [{"componentId": %q, "impact": "partial_outage"}]}`, hidden))
	p.must(201, "app admin a", "POST", path+"/notes", `{"note": "secret note"}`)
	p.must(200, "app admin a", "PUT", path+"/post-mortem", `{"summary": "A cable.", "actionItems": [{"text": "Buy", "owner": "secret owner"}], "published": true}`)
	p.must(200, "app admin a", "PATCH", "/app/components/"+hidden, `{"hidden": true, "description": "secret description"}`)
	p.incident(shown, `, "publish": false, "description": "secret draft"`)
	p.incident(shown, `, "hiddenFromDashboard": true, "description": "secret event"`)
	p.incident(hidden, `, "description": "secret event of a secret component"`)
	p.must(200, "app admin a", "PUT", "/app/events/"+p.incident(shown, `, "status": "resolved", "description": "Plain"`)+"/post-mortem", `{"summary": "secret post-mortem", "published": false}`)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"access": {"mode": "password", "password": "secret password"}}`)
	snapshot := p.snapshot(records)
	text, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"secret", hidden, "argon2", `"ann"`, orgA, "0190bbbb"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("the snapshot has %q: %s", word, text)
		}
	}
	if len(snapshot.Events) != 2 || len(snapshot.Components) != 1 || len(snapshot.Events[1].Entries) != 1 && len(snapshot.Events[0].Entries) != 1 {
		t.Errorf("the snapshot is %s", text)
	}
}

// TestFilesOfAnEdition checks the codings, the ETags and the conditional requests of stored files.
func TestFilesOfAnEdition(t *testing.T) {
	p := start(t, startBroker(t))
	event := p.incident(p.component("API"), "")
	edition := p.edition()
	for _, name := range []string{"", "events/" + event, "history/" + p.now().Format("2006-01")} {
		var plain []byte
		tags := map[string]bool{}
		for _, coding := range []string{"identity", "gzip", "br"} {
			response := p.file(edition.ID, name, coding)
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != 200 {
				t.Fatalf("%q in %s: %d %v %s", name, coding, response.StatusCode, err, body)
			}
			var reader io.Reader = bytes.NewReader(body)
			switch coding {
			case "gzip":
				if reader, err = gzip.NewReader(reader); err != nil {
					t.Fatal(err)
				}
			case "br":
				reader = brotli.NewReader(reader)
			}
			if body, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
			if coding == "identity" {
				plain = body
			}
			tag := response.Header.Get("ETag")
			want := coding
			if coding == "identity" {
				want = ""
			}
			if !bytes.Equal(body, plain) || len(plain) == 0 || tags[tag] || !strings.HasPrefix(tag, `"`) || response.Header.Get("Content-Encoding") != want || response.Header.Get("Content-Type") == "" {
				t.Errorf("%q in %s has the header %v", name, coding, response.Header)
			}
			tags[tag] = true
			if again := p.file(edition.ID, name, coding, "If-None-Match", tag); again.StatusCode != 304 {
				t.Errorf("%q in %s with its ETag: %d", name, coding, again.StatusCode)
			}
		}
	}
	for _, unknown := range []string{"nothing", "events/0190bbbb-0000-7000-8000-00000000000a", "events/x", "history/2000-01", "history/x", strings.Repeat("x", 300)} {
		if response := p.file(edition.ID, unknown, "br"); response.StatusCode != 404 {
			t.Errorf("%q: %d", unknown, response.StatusCode)
		}
	}
	if response := p.file("0190bbbb-0000-7000-8000-00000000000a", "", "br"); response.StatusCode != 404 {
		t.Errorf("an unknown edition: %d", response.StatusCode)
	}
	a := p.send("public", "GET", acme+"/edition", "")
	request, _ := http.NewRequest("GET", p.url+acme+"/edition", nil)
	request.Header.Set("If-None-Match", a.header.Get("ETag"))
	request.Header.Set(passport.Header, p.token("public"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.Body.Close(); response.StatusCode != 304 {
		t.Errorf("the edition with its ETag: %d", response.StatusCode)
	}
}

// TestFormerEditionsAreDeleted checks that a file of a former edition stays for a while, and that then former editions
// and orphans are deleted with their files.
func TestFormerEditionsAreDeleted(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	event := p.incident(p.component("API"), "")
	former := p.edition()
	if response := p.file(former.ID, "events/"+event, "br"); response.StatusCode != 200 {
		t.Fatalf("the event: %d", response.StatusCode)
	}
	orphan := edition.Part{ID: "0190cccc-0000-7000-8000-000000000001", DashboardID: dashA, Number: former.Number + 1, CreatedAt: p.now()}
	if err := records.Parts.Insert(t.Context(), orphan); err != nil { // a part of a process that was killed between its two writes
		t.Fatal(err)
	}
	p.must(201, "app admin a", "POST", "/app/events/"+event+"/timeline", `{"message": "Over.", "status": "resolved"}`)
	if response := p.file(former.ID, "", "br"); response.StatusCode != 200 {
		t.Errorf("a file of the former edition: %d", response.StatusCode)
	}
	kept := p.edition()
	p.ahead.Add(int64(6 * time.Minute))
	left := func(from interface {
		Keys(query find.Query) []find.Row
	}) int {
		return len(from.Keys(find.Query{Where: []find.Condition{find.Eq(edition.FieldDashboard, dashA)}}))
	}
	head, err := records.Parts.Get(t.Context(), kept.ID)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "one edition is left", func() bool {
		return left(keys(func(q find.Query) ([]find.Row, error) { return records.Parts.Keys(t.Context(), q) })) == 1+len(head.Chunks)+len(head.Days) &&
			left(keys(func(q find.Query) ([]find.Row, error) { return records.Files.Keys(t.Context(), q) })) == 0
	})
	if now := p.edition(); now.ID != kept.ID {
		t.Errorf("the edition is %d, want %d", now.Number, kept.Number)
	}
	if snapshot := p.snapshot(records); len(snapshot.Events) != 1 || len(snapshot.Events[0].Entries) != 1 {
		t.Errorf("the edition has %+v", snapshot.Events)
	}
}

// TestFormerEditionsAreForgotten checks that the process does not keep an old edition in memory that it has read for a
// gateway: after the next write it reads the edition again, and so finds that it was deleted.
func TestFormerEditionsAreForgotten(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	path := "/app/events/" + p.incident(p.component("API"), "")
	old := p.edition()
	change := func(title string) { p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"title": %q}`, title)) }
	change("Second")
	change("Third")
	if response := p.file(old.ID, "", "br"); response.StatusCode != 200 {
		t.Fatalf("a file of an old edition: %d", response.StatusCode)
	}
	change("Fourth")
	where := []find.Condition{find.Eq(edition.FieldDashboard, dashA), find.In(catalog.FieldID, old.ID)}
	if n, err := records.Parts.DeleteMany(t.Context(), find.Query{Where: where, Scan: edition.IndexDashboard}); n != 1 || err != nil {
		t.Fatalf("%d editions were deleted, %v", n, err)
	}
	if response := p.file(old.ID, "history", "br"); response.StatusCode != 404 {
		t.Errorf("another file of the deleted edition: %d", response.StatusCode)
	}
}

// keys is a collection's Keys that ignores errors.
type keys func(find.Query) ([]find.Row, error)

func (k keys) Keys(query find.Query) []find.Row {
	rows, _ := k(query)
	return rows
}

// TestTimeMakesEditions checks the editions that time makes: at the start of an event, each minute while an uptime changes, and
// at the end of the day.
func TestTimeMakesEditions(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Europe/Berlin"}`)
	p.ahead.Store(int64(time.Until(time.Date(2040, 3, 25, 20, 59, 30, 0, time.UTC)))) // a day of 23 hours that ends at 22:00
	api := p.component("API")
	until := func(what string, is func(edition.Snapshot) bool) edition.Snapshot {
		t.Helper()
		var last edition.Snapshot
		apitest.Eventually(t, what, func() bool { last = p.snapshot(records); return is(last) })
		return last
	}
	until("the page follows the clock", func(s edition.Snapshot) bool { return p.now().Sub(s.At) < time.Hour })
	event := p.incident(api, "")
	before := p.snapshot(records)
	p.ahead.Add(int64(time.Minute))
	after := until("the uptime falls", func(s edition.Snapshot) bool { return s.Components[0].Uptime != nil && *s.Components[0].Uptime < 50 })
	if after.Edition != before.Edition+1 {
		t.Errorf("the edition is %d after %d", after.Edition, before.Edition)
	}
	p.must(201, "app admin a", "POST", "/app/events/"+event+"/timeline", `{"message": "Over.", "status": "resolved"}`)
	still := p.snapshot(records)
	p.ahead.Add(int64(10 * time.Minute))
	begin := p.now().Add(5 * time.Minute).Truncate(time.Second)
	p.must(201, "", "POST", "/api/v1/event/list/", fmt.Sprintf(`{"type": {"id": 1}, "status": {"status": "identified"}, "description": "d", "start": %q, "event_service": ["/api/v1/service/1/"]}`, begin.Format("2006-01-02T15:04:05")))
	planned := p.snapshot(records)
	if planned.Edition != still.Edition+1 || planned.Components[0].State != catalog.Operational {
		t.Errorf("before its start: the edition %d after %d, %s", planned.Edition, still.Edition, planned.Components[0].State)
	}
	p.ahead.Add(int64(5 * time.Minute))
	until("the event begins", func(s edition.Snapshot) bool { return s.Components[0].State != catalog.Operational })
	p.must(200, "", "PUT", "/api/v1/event/list/2/", `{"status": {"status": "resolved"}}`)
	p.ahead.Store(int64(time.Until(time.Date(2040, 3, 25, 21, 59, 50, 0, time.UTC))))
	evening := p.snapshot(records)
	p.ahead.Add(int64(time.Minute))
	night := until("the day ends", func(s edition.Snapshot) bool { return s.Edition > evening.Edition })
	days := night.Components[0].Days
	if last := days[len(days)-1]; last.Date != "2040-03-25" || last.Tally.Measured >= 2*time.Hour || last.Tally.Major == 0 {
		t.Errorf("the last day is %+v", last)
	}
	p.ahead.Add(int64(6 * time.Hour)) // nothing is open: nothing changes
	if again := p.snapshot(records); again.Edition != night.Edition {
		t.Errorf("the edition is %d after %d", again.Edition, night.Edition)
	}
}

// TestEditionsOfManyTexts checks that no record of an edition grows with the texts of a page, because MongoDB allows 16 MiB,
// and that a write stores few parts and shares the others with the former edition.
func TestEditionsOfManyTexts(t *testing.T) {
	const events, textSize = 60, 100_000
	p := start(t, startBroker(t))
	records := p.records()
	api := p.component("API")
	c := &copier{p: p, records: records}
	p.must(201, "", "POST", "/api/v1/event/list/", fmt.Sprintf(`{"type": {"id": 1}, "status": {"status": "resolved"}, "description": "d", "start": %q, "event_service": ["/api/v1/service/1/"]}`, p.now().AddDate(0, 0, -1).Format("2006-01-02T15:04:05")))
	c.read(t.Context())
	random := rand.New(rand.NewPCG(1, 2))
	made := make([]catalog.Event, events)
	for i := range made {
		made[i] = c.events[0]
		text := make([]byte, textSize*3/4)
		for at := range text {
			text[at] = byte(random.Uint32())
		}
		made[i].ID, made[i].LegacyID = uuid.Must(uuid.NewV7()).String(), int64(1000+i)
		made[i].Timeline = []catalog.Entry{{
			StatusID: uuid.Must(uuid.NewV7()).String(), Status: catalog.StatusUpdate, Timestamp: made[i].StartAt, CreatedAt: made[i].StartAt,
			Message: catalog.Rich{Format: "plain", Text: base64.StdEncoding.EncodeToString(text)},
		}}
	}
	c.must(records.Events.(interface {
		UpsertMany(ctx context.Context, items []catalog.Event) error
	}).UpsertMany(t.Context(), made))
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Asia/Tokyo"}`) // reads all events
	parts := func() (keys []string) {
		rows, err := records.Parts.Keys(t.Context(), find.Query{Where: []find.Condition{find.Eq(edition.FieldDashboard, dashA)}})
		c.must(err)
		for _, row := range rows {
			keys = append(keys, row.Key)
		}
		return keys
	}
	apitest.Eventually(t, "all events are shown", func() bool { return len(p.snapshot(records).Events) == events+1 })
	before := parts()
	total, largest := 0, 0
	found, err := records.Parts.GetMany(t.Context(), before)
	c.must(err)
	for _, part := range found {
		total, largest = total+len(part.Body), max(largest, len(part.Body))
	}
	if total < 4<<20 || largest > 1<<20 {
		t.Errorf("the parts have %d bytes, and the largest has %d", total, largest)
	}
	p.incident(api, "")
	added := slices.DeleteFunc(parts(), func(key string) bool { return slices.Contains(before, key) })
	if len(added) > 4 { // the head, a day, and two halves of a chunk
		t.Errorf("a write has stored %d of %d parts", len(added), len(before))
	}
	if got := len(p.snapshot(records).Events); got != events+2 {
		t.Errorf("%d events are shown, want %d", got, events+2)
	}
}
