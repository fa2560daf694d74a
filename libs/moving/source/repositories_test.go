package source_test

import (
	"strings"
	"testing"
)

// aliasBomb is YAML with a list of 9^8 elements, made of aliases.
func aliasBomb() string {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for last := 'a'; last < 'i'; last++ {
		next := string(last + 1)
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+string(last)+",", 9), ",") + "]\n"
	}
	return bomb
}

func TestBadRecordsOfUpptimeAreNamedAndTheOthersStay(t *testing.T) {
	const config = "owner: o\nrepo: r\nsites:\n  - name: Shop\n    url: x\n"
	const good = `{"number": 1, "title": "Shop is down", "labels": [{"name": "status"}, {"name": "shop"}], "state": "closed", "created_at": "2025-01-01T00:00:00Z", "closed_at": "2025-01-01T01:00:00Z", "body": "b"}`
	with := func(issues string) map[string]string {
		return map[string]string{".upptimerc.yml": config, "issues.json": issues}
	}
	other := func(old, new string) string {
		return "[" + good + ", " + strings.NewReplacer(`"number": 1`, `"number": 2`, old, new).Replace(good) + "]"
	}
	kept := []string{"upptime:o/r:issue-1"}
	both := []string{"upptime:o/r:issue-1", "upptime:o/r:issue-2"}
	checkAll(t, map[string]ugly{
		"cut off":     {source: "upptime", files: with("[" + good + `, {"number"`), events: kept, warnings: []string{"upptime:file:issues.json: : is cut off after 1 records"}},
		"no time":     {source: "upptime", files: with(other("2025-01-01T00:00:00Z", "soon")), events: kept, warnings: []string{`upptime:o/r:issue-2: created_at: "soon" is no time; the issue is left out`}},
		"early end":   {source: "upptime", files: with(other("2025-01-01T01:00:00Z", "2024-01-01T01:00:00Z")), events: both, warnings: []string{"upptime:o/r:issue-2: endAt: is 2024-01-01T01:00:00Z, before the start; it becomes the start"}},
		"title":       {source: "upptime", files: with(other("Shop is down", "Shop")), events: both, warnings: []string{"upptime:o/r:issue-2: title: says neither down nor degraded; the severity becomes minor_outage"}},
		"maintenance": {source: "upptime", files: with(other(`{"name": "status"}`, `{"name": "maintenance"}`)), events: kept, warnings: []string{"upptime:o/r:issue-2: body: has no comment with start and end; the maintenance is left out"}},
		"foreign":     {source: "upptime", files: with(`[{"hello": 1}]`), warnings: []string{"upptime:file:issues.json: : a record is no issue and no comment; it is left out"}},
		"wrong type":  {source: "upptime", files: with(`[{"number": "1", "labels": []}]`), warnings: []string{"upptime:file:issues.json: number: has another JSON type than expected; the record is left out"}},
		"equal names": {source: "upptime", files: map[string]string{".upptimerc.yml": config + "  - name: shop\n"}, warnings: []string{`upptime:o/r:page-page: sites: the site "shop" is there twice or has no name; it is left out`}},
		"alias bomb":  {source: "upptime", files: map[string]string{".upptimerc.yml": aliasBomb() + "sites: *i\n"}, fails: ".upptimerc.yml is wrong YAML: line 8: a value has another type than expected"},
		"no config":   {source: "upptime", files: map[string]string{"issues.json": "[]"}, fails: "has no .upptimerc.yml; give the folder of the repository"},
	})
}

func TestBadRecordsOfGatusAreNamedAndTheOthersStay(t *testing.T) {
	const good = "endpoints:\n  - name: a\n    group: g\nannouncements:\n  - {timestamp: 2025-01-01T00:00:00Z, type: outage, message: Down.}\n"
	kept := []string{"gatus:status:announcement/20250101T000000Z"}
	checkAll(t, map[string]ugly{
		"tab in one file of two": {source: "gatus", files: map[string]string{"a.yaml": "\tx: 1", "b.yaml": good, "c.txt": "\t"}, events: kept, warnings: []string{
			"gatus:file:a.yaml: : is wrong YAML: found character that cannot start any token"}},
		"equal names": {source: "gatus", files: map[string]string{"a.yaml": good, "b.yaml": "endpoints: [{name: a, group: g}, {group: g}]"}, events: kept, warnings: []string{
			`gatus:status:page: endpoints: the endpoint "g/a" is there twice or has no name; it is left out`, `gatus:status:page: endpoints: the endpoint "g/" is there twice or has no name; it is left out`}},
		"announcements": {source: "gatus", files: map[string]string{"a.yaml": good + "  - {timestamp: soon, type: outage, message: x}\n  - {timestamp: 2025-01-01T00:00:00Z, type: joke, message: x}\n"},
			events: append(kept, kept[0]+"-2"), warnings: []string{
				`gatus:status:page: announcements: the announcement of "soon" has no time or no message; it is left out`,
				`gatus:status:page: announcements: the type "joke" of the announcement of 2025-01-01T00:00:00Z is unknown; the event has no severity`}},
		"alias bomb": {source: "gatus", files: map[string]string{"a.yaml": aliasBomb() + "endpoints: *i\n"}, fails: "a.yaml is wrong YAML: line 8: a value has another type than expected"},
		"foreign":    {source: "gatus", files: map[string]string{"a.yaml": "hello: 1"}, fails: "has no endpoint and no announcement of Gatus"},
	})
}
