package peer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestATableFindsEachOfItsAliases(t *testing.T) {
	for _, count := range []int{0, 1, 2, 3, 1000} {
		var paths []string
		for i := range count {
			paths = append(paths, fmt.Sprintf("incidents/%x", i*i), fmt.Sprintf("status/%d/rss", i))
		}
		slices.Sort(paths)
		var table AliasTable
		for _, path := range paths {
			table = table.Add(path, "events/of-"+path)
		}
		for _, path := range paths {
			for _, below := range []string{path, path + "/"} {
				if present, ok := table.Find(below); !ok || present != "events/of-"+path {
					t.Fatalf("%s of %d: %q %t", below, count, present, ok)
				}
			}
			for _, below := range []string{path + "0/", path + " events", "/" + path, path + "//", "a" + path, path[1:], strings.ToUpper(path)} {
				if present, ok := table.Find(below); ok && !slices.Contains(paths, strings.TrimSuffix(below, "/")) {
					t.Fatalf("%q of %d: %q", below, count, present)
				}
			}
		}
		for _, below := range []string{"", "/", "\n", " ", "zzz", "!", "../" + strings.Join(paths, ""), strings.Repeat("a", 1<<20)} {
			if present, ok := table.Find(below); ok {
				t.Errorf("%.20q of %d: %q", below, count, present)
			}
		}
	}
	if _, ok := AliasTable("no table").Find("no"); ok {
		t.Error("a text that is no table has an alias")
	}
}

func TestAnAliasIsNoPathOfADashboard(t *testing.T) {
	for path, allowed := range map[string]bool{
		"incidents/abc": true, "incidents/01890a5d-ac96-774b-bcce-b302099a8060": true, "incidents/a/b": true, "status/main/rss": true, "issues/a.md": true, "x": true,
		strings.Repeat("a", 200): true, strings.Repeat("a", 201): false, "": false, "/x": false, "x/": false, "a/../b": false, "a b": false, "ä": false, "a\nb": false, "a?b": false,
		"incidents": false, "events/abc": false, "components": false, "history/2026-01": false, "api/v3/x": false, "enter": false, "feed.rss": false, "badge.svg": false,
		"subscribe/email": false, "uptime": false, "subscriptions/x": false, "robots.txt": false, "historical": true, "incidentsx": true,
	} {
		if err := CheckAlias("path", path); (err == nil) != allowed {
			t.Errorf("%.20q: %v", path, err)
		}
	}
	for _, file := range DashboardFiles() {
		if CheckAlias("path", strings.TrimPrefix(file.Path, "/")) == nil {
			t.Errorf("%s may be an alias", file.Path)
		}
		if present, ok := AliasTarget(file.Path); ok == file.HasParameter() || ok && "/"+present != file.Path {
			t.Errorf("%s is the target %q, %t", file.Path, present, ok)
		}
	}
	for former, present := range map[string]string{"uptime": "history", "subscriptions/abc": "subscribe", "subscriptions/a/b": "subscribe", "subscriptions": "", "uptime/x": "", "": ""} {
		if got := FormerAddresses(former); got != present {
			t.Errorf("%s leads to %q", former, got)
		}
	}
}
