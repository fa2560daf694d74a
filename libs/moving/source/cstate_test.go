package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

func TestBadRecordsOfCStateAreNamedAndTheOthersStay(t *testing.T) {
	const config = "title: H\nbaseURL: https://h.example\nparams:\n  systems:\n    - name: API\n"
	const good = "---\ntitle: T\ndate: 2025-01-01 00:00:00\nresolved: true\nresolvedWhen: 2025-01-01 01:00:00\nseverity: down\naffected: [API]\n---\nText\n"
	bomb := aliasBomb()
	with := func(bad string) map[string]string {
		return map[string]string{"config.yml": config, "content/issues/bad.md": bad, "content/issues/ok.md": good}
	}
	kept := []string{"cstate:h.example:issue/ok"}
	bad := func(field, text string) []string {
		return []string{"cstate:h.example:issue/bad: " + field + ": " + text}
	}
	checkAll(t, map[string]ugly{
		"tab":          {source: "cstate", files: with("---\ntitle: T\n\tdate: x\n---\n"), events: kept, warnings: bad("", "is wrong YAML: line 2: found a tab character that violates indentation; the issue is left out")},
		"no head":      {source: "cstate", files: with("Text\n"), events: kept, warnings: bad("", "has no head between two lines ---; the issue is left out")},
		"head cut off": {source: "cstate", files: with("---\ntitle: T\n"), events: kept, warnings: bad("", "has no head between two lines ---; the issue is left out")},
		"no time":      {source: "cstate", files: with(strings.Replace(good, "2025-01-01 00:00:00", "soon", 1)), events: kept, warnings: bad("", `date: "soon" is no time; the issue is left out`)},
		"alias bomb":   {source: "cstate", files: with("---\n" + bomb + strings.TrimPrefix(good, "---\n")), events: []string{"cstate:h.example:issue/bad", "cstate:h.example:issue/ok"}},
		"no title":     {source: "cstate", files: with(strings.Replace(good, "title: T\n", "", 1)), events: []string{"cstate:h.example:issue/bad", "cstate:h.example:issue/ok"}, warnings: bad("title", `shows nothing; it becomes "Incident"`)},
		"severity":     {source: "cstate", files: with(strings.Replace(good, "severity: down", "severity: awful", 1)), events: []string{"cstate:h.example:issue/bad", "cstate:h.example:issue/ok"}, warnings: bad("severity", `"awful" is unknown; the event has no severity`)},
		"track":        {source: "cstate", files: with(good + `{{< track "../now" >}}`), events: []string{"cstate:h.example:issue/bad", "cstate:h.example:issue/ok"}, warnings: bad("track", `"../now" is no time; the entry has that of the start`)},
		"marks":        {source: "cstate", files: map[string]string{"config.yml": "\ufeff" + strings.ReplaceAll(config, "\n", "\r\n"), "content/issues/ok.md": "\ufeff" + strings.ReplaceAll(good, "\n", "\r\n")}, events: kept},
		"equal names": {source: "cstate", files: map[string]string{"config.yml": config + "    - name: API\n    - name: ''\n"}, warnings: []string{
			`cstate:h.example:page/page: systems: the system "API" is there twice or has no name; it is left out`, `cstate:h.example:page/page: systems: the system "" is there twice or has no name; it is left out`}},
		"no config":        {source: "cstate", files: map[string]string{"content/issues/ok.md": good}, fails: "has no config.yml; give the folder of the repository"},
		"wrong config":     {source: "cstate", files: map[string]string{"config.yml": "\t- x"}, fails: "config.yml is wrong YAML"},
		"bomb of a config": {source: "cstate", files: map[string]string{"config.yml": strings.Replace(bomb, "a: &a", "title: H\na: &a", 1) + "params: {systems: *i}\n"}, fails: "config.yml is wrong YAML"},
	})
}

func TestAnIssueOutsideTheRepositoryIsNotRead(t *testing.T) {
	root := folder(t, map[string]string{"page/config.yml": "title: H\nbaseURL: https://h.example\n", "page/content/issues/x.md": "", "secret.md": "---\ntitle: secret\ndate: 2025-01-01\n---\n"})
	link := filepath.Join(root, "page", "content", "issues", "link.md")
	if err := os.Symlink("../../../secret.md", link); err != nil {
		t.Fatal(err)
	}
	set, err := source.Read(t.Context(), "cstate", filepath.Join(root, "page"), options())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Events) != 0 || len(set.Warnings) != 2 || !strings.Contains(set.Warnings[0].Text, "cannot be opened") {
		t.Errorf("%d events, warnings %v", len(set.Events), set.Warnings)
	}
}
