package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// asksForcesAndKeepsToThePlan proves the options of the import that change its rules. With --ask, an unconfirmed subscriber gets
// one mail. What a member has changed is kept, and replaced with --force, but an old address is kept in any case. Endpoints over
// the limit of the organization's plan are refused, in the plan too.
func (m *mover) asksForcesAndKeepsToThePlan(data string) {
	m.t.Helper()
	m.folder = m.t.TempDir()
	file := filepath.Join(m.t.TempDir(), "zq3.jsonl")
	content := strings.ReplaceAll(`{"kind":"dashboard","key":"x:zq3:page","name":"Harbour","slug":"zq3"}
{"kind":"component","key":"x:zq3:c","name":"Gate","dashboardIds":["x:zq3:page"],"aliases":["parts/gate"]}
{"kind":"event","key":"x:zq3:e","type":"incident","title":"Gate is slow","status":"resolved","startAt":"2025-03-01T10:00:00Z","endAt":"2025-03-01T11:00:00Z","components":[{"key":"x:zq3:c"}]}
{"kind":"subscriber","key":"x:zq3:s1","channel":"email","address":"zq3-bob@reader.example","components":null,"state":"confirmed","confirmedAt":"2024-01-02T03:04:05Z"}
{"kind":"subscriber","key":"x:zq3:s2","channel":"email","address":"zq3-eve@reader.example","components":null,"state":"unconfirmed"}
{"kind":"endpoint","key":"x:zq3:h1","channel":"webhook","url":"https://HOST/hooks/zq3-1","managementEmail":"ops@example.com","components":null}
{"kind":"endpoint","key":"x:zq3:h2","channel":"webhook","url":"https://HOST/hooks/zq3-2","managementEmail":"ops@example.com","components":null}
`, "HOST", receiverHost)
	write := func(content string) {
		m.t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	write(content)
	hooks := len(m.everything("/app/integrations/webhooks/outbound/endpoints", "endpoints"))
	send(m.t, http.MethodPatch, m.BaseURL+"/operator/v1/organizations/"+m.OrganizationID, m.operator(), map[string]any{"limits": map[string]any{"uniqueEndpoints": hooks + 1, "appPerMinute": 1_000_000}}).expect(m.t, http.StatusOK)
	all := []string{"import", "lines", file, "--dashboard", "zq3", "--only", "components,events,subscribers,endpoints"}
	check := func(title string, want map[string]string, arguments ...string) {
		m.t.Helper()
		table := m.run(2, arguments...)
		rows := counted(table, title)
		for kind, row := range want {
			if got := strings.Join(rows[kind], " "); got != row {
				m.t.Errorf("%v: %s %s is %s, not %s", arguments, title, kind, got, row)
			}
		}
	}
	check("PLAN", map[string]string{"subscriber": "1 0 0 0 0 1", "endpoint": "1 0 0 0 1 0"}, append(all, "--dry-run")...)
	check("PLAN", map[string]string{"subscriber": "2 0 0 0 0 0", "endpoint": "1 0 0 0 1 0"}, append(all, "--dry-run", "--ask")...)
	check("WRITTEN", map[string]string{"component": "1 0 0 0 0 0", "alias": "1 0 0 0 0 0", "event": "1 0 0 0 0 0", "subscriber": "2 0 0 0 0 0", "endpoint": "1 0 0 0 1 0"}, append(all, "--ask")...)
	check("PLAN", map[string]string{"subscriber": "0 0 2 0 0 0", "endpoint": "0 0 1 0 1 0"}, append(all, "--ask")...)
	asked := func() (mails int) {
		for _, mail := range letters(m.t, data) {
			if strings.HasPrefix(mail.to, "zq3-bob") {
				m.t.Errorf("a mail was sent to %s: %s", mail.to, mail.subject)
			} else if strings.HasPrefix(mail.to, "zq3-eve") {
				mails++
			}
		}
		return mails
	}
	eventually(m.t, time.Minute, "one mail asks for a confirmation", func() error {
		if mails := asked(); mails != 1 {
			return fmt.Errorf("%d mails", mails)
		}
		return nil
	})

	id := func(path, list, member, value string) string {
		m.t.Helper()
		for _, one := range m.everything(path, list) {
			if one[member] == value {
				return one["id"].(string)
			}
		}
		m.t.Fatalf("%s has no %s %s", path, member, value)
		return ""
	}
	dashboard, component, event := id("/app/dashboards", "dashboards", "slug", "zq3"), id("/app/components", "components", "name", "Gate"), id("/app/events", "events", "title", "Gate is slow")
	for path, change := range map[string]map[string]any{"/app/components/" + component: {"name": "Our gate"}, "/app/events/" + event: {"title": "Our title", "notify": false}} {
		send(m.t, http.MethodPatch, m.BaseURL+path, m.app(), change).expect(m.t, http.StatusOK)
	}
	aliases := "/app/dashboards/" + dashboard + "/aliases"
	send(m.t, http.MethodPost, m.BaseURL+aliases, m.app(), map[string]any{"aliases": []any{map[string]any{"path": "parts/gate", "file": "/history"}}}).expect(m.t, http.StatusOK)
	write(strings.ReplaceAll(content, "Gate is slow", "Gate was slow")) // the source has changed it, too
	kept := map[string]string{"component": "0 0 0 1 0 0", "alias": "0 0 0 1 0 0", "event": "0 0 0 1 0 0"}
	check("PLAN", kept, all[:5]...)
	forced := map[string]string{"component": "0 1 0 0 0 0", "alias": "0 0 0 1 0 0", "event": "0 1 0 0 0 0"}
	check("PLAN", forced, append(all[:5:5], "--force", "--dry-run")...)
	check("WRITTEN", forced, append(all[:5:5], "--force")...)
	if id("/app/components", "components", "name", "Gate") != component || id("/app/events", "events", "title", "Gate was slow") != event {
		m.t.Error("--force has made other records")
	}
	if found := m.everything(aliases, "aliases"); len(found) != 1 || found[0]["file"] != "/history" {
		m.t.Errorf("the old addresses are %v", found)
	}
	if mails := asked(); mails != 1 {
		m.t.Errorf("%d mails asked for a confirmation", mails)
	}
}

// keepsDashboardsInUse proves that a component that exists is put on each new dashboard, also by a run that goes on, and that undo
// keeps a dashboard as long as an event or a subscriber that it keeps is on the dashboard.
func (m *mover) keepsDashboardsInUse() {
	m.t.Helper()
	m.folder = m.t.TempDir()
	file := filepath.Join(m.t.TempDir(), "zq4.jsonl")
	content := `{"kind":"dashboard","key":"x:zq4:a","name":"North","slug":"zq4-a","aliases":{"old/feed":"/"}}
{"kind":"dashboard","key":"x:zq4:b","name":"South","slug":"zq4-b","aliases":{"old/feed":"/"}}
{"kind":"component","key":"x:zq4:c","name":"Pier","dashboardIds":["x:zq4:a","x:zq4:b"]}
{"kind":"event","key":"x:zq4:e","type":"incident","title":"Pier is closed","status":"resolved","startAt":"2025-03-01T10:00:00Z","endAt":"2025-03-01T11:00:00Z","dashboardIds":["x:zq4:a"]}
{"kind":"subscriber","key":"x:zq4:s","channel":"email","address":"zq4-bob@reader.example","dashboardId":"x:zq4:b","components":null,"state":"confirmed","confirmedAt":"2024-01-02T03:04:05Z"}
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
	send(m.t, http.MethodPost, m.BaseURL+"/app/components", m.app(), map[string]any{"name": "Pier", "externalRefs": []string{"x:zq4:c"}}).expect(m.t, http.StatusCreated)
	arguments := []string{"import", "lines", file, "--all-dashboards", "--only", "components,events,subscribers"}
	if done := counted(m.run(0, arguments...), "WRITTEN"); fmt.Sprint(done["placement"], done["alias"]) != "[2 0 0 0 0 0] [2 0 0 0 0 0]" {
		m.t.Errorf("written: %v", done)
	}
	find := func(path, list, member, value string) string {
		m.t.Helper()
		for _, one := range m.everything(path, list) {
			if one[member] == value {
				return one["id"].(string)
			}
		}
		return ""
	}
	run := m.runs()[0]
	name := "import-" + run + ".jsonl"
	// The run was killed before it recorded the placements. Then one of them is there, and the other one is not.
	killed := regexp.MustCompile(`(?m)^(\{"kind":"placement".*"mark":.*|.*"kind":"done".*)\n`).ReplaceAllString(m.read(name), "")
	if err := os.WriteFile(filepath.Join(m.folder, name), []byte(killed), 0o600); err != nil {
		m.t.Fatal(err)
	}
	north := "/app/dashboards/" + find("/app/dashboards", "dashboards", "slug", "zq4-a")
	send(m.t, http.MethodPut, m.BaseURL+north+"/components", m.app(), map[string]any{"components": []any{}}).expect(m.t, http.StatusOK)
	if done := counted(m.run(0, arguments...), "WRITTEN"); fmt.Sprint(done["placement"]) != "[1 0 0 0 0 0]" {
		m.t.Errorf("the run that goes on has written %v", done)
	}
	if recorded := strings.Count(m.read(name), `"mark":"default"`); recorded != 2 {
		m.t.Errorf("%d placements are recorded: %s", recorded, m.read(name))
	}

	event, subscriber := "/app/events/"+find("/app/events", "events", "title", "Pier is closed"), "/app/subscribers/email/"+find("/app/subscribers/email", "subscribers", "email", "zq4-bob@reader.example")
	send(m.t, http.MethodPatch, m.BaseURL+event, m.app(), map[string]any{"title": "The pier was closed", "notify": false}).expect(m.t, http.StatusOK)
	send(m.t, http.MethodPatch, m.BaseURL+subscriber, m.app(), map[string]any{"locale": "de"}).expect(m.t, http.StatusOK)
	undo := func(code int, want string) {
		m.t.Helper()
		var rows []string
		for _, row := range cells(m.run(code, "import", "undo", run)) {
			rows = append(rows, strings.Join(row, " "))
		}
		if got := strings.Join(rows, "/"); got != want {
			m.t.Errorf("undo printed %s, not %s", got, want)
		}
	}
	undo(2, "UNDONE DELETED KEPT/event 0 1/alias 2 0/subscriber 0 1/placement 2 0/dashboard 0 2")
	for _, path := range []string{event, subscriber} {
		send(m.t, http.MethodGet, m.BaseURL+path, m.app(), nil).expect(m.t, http.StatusOK)
		send(m.t, http.MethodDelete, m.BaseURL+path, m.app(), nil).expect(m.t, http.StatusNoContent)
	}
	undo(0, "UNDONE DELETED KEPT/event 0 0/dashboard 2 0")
}
