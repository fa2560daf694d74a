package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

func TestBadRecordsOfStatuspageAreNamedAndTheOthersStay(t *testing.T) {
	good := `{"id": "ok", "name": "Fine", "status": "resolved", "impact": "minor", "created_at": "2020-01-01T00:00:00Z", "resolved_at": "2020-01-01T01:00:00Z", "incident_updates": []}`
	page := `{"id": "p", "name": "P", "subdomain": "pages", "time_zone": "UTC"}`
	with := func(incidents string) map[string]string {
		return map[string]string{"page.json": page, "incidents.json": incidents}
	}
	kept := []string{"statuspage:p:ok"}
	checkAll(t, map[string]ugly{
		"cut off": {source: "statuspage", files: with(`[` + good + `, {"id": "x", "na`), events: kept,
			warnings: []string{"statuspage:file:incidents.json: : is cut off after 1 records"}},
		"no id": {source: "statuspage", files: with(`[{"name": "x", "incident_updates": []}, ` + good + `]`), events: kept,
			warnings: []string{"statuspage:file:incidents.json: id: is missing in a record; it is left out"}},
		"unknown word": {source: "statuspage", files: with(`[` + strings.ReplaceAll(strings.Replace(good, "resolved", "asleep", 1), `"ok"`, `"x"`) + `, ` + good + `]`), events: kept,
			warnings: []string{`statuspage:p:x: status: "asleep" is unknown; possible are investigating, identified, monitoring, resolved`}},
		"wrong type": {source: "statuspage", files: with(`[{"id": "x", "name": 7, "incident_updates": []}, ` + good + `]`), events: kept,
			warnings: []string{"statuspage:page:x: name: has another JSON type than expected; the record is left out"}},
		"twice": {source: "statuspage", files: with(`[` + good + `, ` + good + `]`), events: kept,
			warnings: []string{"statuspage:p:ok: key: belongs to an earlier record"}},
		"no time": {source: "statuspage", files: with(`[` + strings.Replace(good, "2020-01-01T01:00:00Z", "yesterday", 1) + `]`), events: kept,
			warnings: []string{`statuspage:p:ok: resolved_at: "yesterday" is no time`}},
		"mark and line breaks": {source: "statuspage", files: with("\ufeff[\r\n" + good + "\r\n]"), events: kept},
		"update before its incident, newest last": {source: "statuspage", events: kept, files: with(`[` + strings.Replace(good, `[]`,
			`[{"id": "u1", "status": "resolved", "body": "b", "display_at": "2019-12-31T00:00:00Z"}, {"id": "u2", "status": "resolved", "body": "b"}]`, 1) + `]`),
			warnings: []string{"statuspage:p:ok: incident_updates: an update has no id or no display_at; it is left out"}},
		"cycle of groups": {source: "statuspage", files: map[string]string{"page.json": page, "components.json": `[
			{"id": "a", "name": "A", "status": "operational", "group": true, "group_id": "b"}, {"id": "b", "name": "B", "status": "operational", "group": true, "group_id": "a"},
			{"id": "c", "name": "C", "status": "operational", "group": false, "group_id": "nowhere"}]`}, warnings: []string{
			"statuspage:p:a: group_id: names another group; groups have no groups here, so it is left out",
			"statuspage:p:b: group_id: names another group; groups have no groups here, so it is left out",
			"statuspage:p:c: group_id: names the group nowhere, which is missing; the component has no group"}},
		"object cut off":           {source: "statuspage", files: map[string]string{"page.json": "{\"page\": {\n\"id\": \"p\", \"na"}, fails: "page.json is cut off in line 2, after 25 bytes"},
		"wrong JSON":               {source: "statuspage", files: map[string]string{"page.json": "{\"page\": {\n\"id\"= \"p\"}}"}, fails: "page.json is wrong JSON in line 2, at byte 15"},
		"title that shows nothing": {source: "statuspage", files: with(`[` + strings.Replace(good, "Fine", "\u200b", 1) + `]`), events: kept, warnings: []string{`statuspage:p:ok: title: shows nothing; it becomes "Incident"`}},
		"foreign":                  {source: "statuspage", files: map[string]string{"page.html": "<html>", "other.json": `{"hello": 1}`}, fails: "has no records of Statuspage"},
	})
}

func TestALinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "incidents.json")
	if err := os.WriteFile(secret, []byte(`[{"id": "secret", "name": "n", "status": "resolved", "incident_updates": []}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	root := folder(t, map[string]string{"page.json": `{"id": "p", "name": "P", "subdomain": "pages"}`})
	if err := os.Symlink(secret, filepath.Join(root, "incidents.json")); err != nil {
		t.Fatal(err)
	}
	set, err := source.Read(t.Context(), "statuspage", root, options())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Events) != 0 || len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0].Text, "cannot be opened") {
		t.Errorf("%d events, warnings %v", len(set.Events), set.Warnings)
	}
}

// A text that is too long becomes two entries, each a whole number of paragraphs; a single paragraph is cut after a word.
func TestALongTextBecomesTwoEntries(t *testing.T) {
	paragraphs := strings.Repeat("<p>"+strings.Repeat("word ", 300)+"</p>", 20)
	for name, c := range map[string]struct {
		body    string
		entries int
	}{"paragraphs": {paragraphs, 2}, "one paragraph": {strings.Repeat("word ", 5000), 3}, "entities": {strings.Repeat("&", 15_000), 6}} {
		t.Run(name, func(t *testing.T) {
			root := folder(t, map[string]string{"incidents.json": `[{"id": "i", "name": "n", "status": "resolved", "impact": "none", "created_at": "2020-01-01T00:00:00Z",
				"incident_updates": [{"id": "u", "status": "resolved", "display_at": "2020-01-01T00:00:00Z", "body": "` + c.body + `"}]}]`})
			set, err := source.Read(t.Context(), "statuspage", root, options())
			if err != nil || len(set.Events) != 1 {
				t.Fatal(err, set)
			}
			timeline := set.Events[0].Timeline
			if len(timeline) != c.entries || len(set.Warnings) != 1 {
				t.Errorf("%d entries, warnings %v", len(timeline), set.Warnings)
			}
			words := 0
			for i, entry := range timeline {
				words += strings.Count(entry.HTML, "word")
				if utf8.RuneCountInString(entry.HTML) > lines.MaxText || strings.Count(entry.HTML, "<p>") != strings.Count(entry.HTML, "</p>") || i > 0 && entry.Status != "update" {
					t.Errorf("entry %d has %d characters, status %s", i, len(entry.HTML), entry.Status)
				}
			}
			if words != strings.Count(c.body, "word") {
				t.Errorf("%d words of %d are left", words, strings.Count(c.body, "word"))
			}
		})
	}
}

func TestOnlyEventsKeepsTheComponentsOfEvents(t *testing.T) {
	o := options()
	o.Only = []string{"events"}
	set, err := source.Read(t.Context(), "statuspage", "testdata/statuspage", o)
	if err != nil {
		t.Fatal(err)
	}
	o.Only = []string{"components"}
	others, err := source.Read(t.Context(), "statuspage", "testdata/statuspage", o)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Components) != 4 || len(set.Events) != 5 || len(set.Subscribers) != 0 || len(set.Endpoints) != 0 || len(others.Events) != 0 || len(others.Components) != 4 {
		t.Errorf("events: %d components, %d events; components: %d, %d", len(set.Components), len(set.Events), len(others.Components), len(others.Events))
	}
}

// Only the name of the file says that a list has confirmed subscribers, so a similar word must not count.
func TestSubscribersAreConfirmedOnlyInAListOfActiveOnes(t *testing.T) {
	for file, want := range map[string]string{
		"subscribers-active-0.json": "confirmed", "active.json": "confirmed", "inactive.json": "unconfirmed", "subscribers.json": "unconfirmed", "active/subscribers.json": "unconfirmed", "reactive_0.json": "unconfirmed",
	} {
		root := folder(t, map[string]string{file: `[{"id": "s", "mode": "email", "email": "ada@reader.example", "components": [], "created_at": "2022-01-01T00:00:00Z"}]`})
		set, err := source.Read(t.Context(), "statuspage", root, options())
		if err != nil || len(set.Subscribers) != 1 || set.Subscribers[0].State != want {
			t.Errorf("%s: %v, %v, want %s", file, err, set, want)
		}
	}
}

// An endpoint that is imported gets messages at once. So a webhook must have been active there.
func TestOnlyActiveWebhooksOfStatuspageBecomeEndpoints(t *testing.T) {
	hook := func(more string) string {
		return `[{"id": "h", "mode": "webhook", "email": "ops@reader.example", "endpoint": "https://hooks.reader.example/status", "components": []` + more + `}]`
	}
	for name, c := range map[string]struct{ file, content, left string }{
		"active":      {"subscribers-active.json", hook(""), ""},
		"unconfirmed": {"subscribers-unconfirmed.json", hook(""), "is unconfirmed"},
		"quarantined": {"subscribers-active.json", hook(`, "quarantined_at": "2023-01-01T00:00:00Z"`), "is quarantined"},
	} {
		set, err := source.Read(t.Context(), "statuspage", folder(t, map[string]string{c.file: c.content}), options())
		if err != nil {
			t.Fatal(err)
		}
		left := len(set.Warnings) == 1 && set.Warnings[0].Key == "statuspage:page:h" && set.Warnings[0].Field == "state" && strings.HasPrefix(set.Warnings[0].Text, c.left)
		if active := c.left == ""; len(set.Endpoints) == 1 != active || active == left {
			t.Errorf("%s: endpoints %v, warnings %v", name, set.Endpoints, set.Warnings)
		}
	}
}
