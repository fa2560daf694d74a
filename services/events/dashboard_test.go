package events_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// race sends n requests at once and returns how often each status came.
func (p *platform) race(n int, send func(i int) answer) map[int]int {
	p.t.Helper()
	answers := make([]answer, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { answers[i] = patiently(func() answer { return send(i) }) })
	}
	group.Wait()
	counts := map[int]int{}
	for _, a := range answers {
		if counts[a.status]++; a.status >= 500 {
			p.t.Errorf("%d %s", a.status, a.body)
		}
	}
	return counts
}

// as names the admin of one of the two organizations, in turn.
func as(i int) string { return []string{"app admin a", "app admin b"}[i%2] }

// TestUniqueDashboards checks that of dashboards which get a slug or a host at the same time one gets it.
func TestUniqueDashboards(t *testing.T) {
	p := start(t, startBroker(t))
	for round := range 3 {
		for what, member := range map[string]string{
			"slug": fmt.Sprintf(`"slug": "slug-%d"`, round), "host": fmt.Sprintf(`"customDomains": ["x.example.com", "h%d.example.com"]`, round),
		} {
			counts := p.race(8, func(i int) answer {
				if i < 2 { // a change of the first dashboard of each organization
					return p.send(as(i), "PATCH", "/app/dashboards/"+[]string{dashA, dashB}[i], "{"+member+"}")
				}
				return p.send(as(i), "POST", "/app/dashboards", fmt.Sprintf(`{"name": "%s %d %d", %s}`, what, round, i, member))
			})
			if counts[201]+counts[200] != 1 || counts[409] != 7 {
				t.Errorf("%s: %v", what, counts)
			}
			for i, id := range []string{dashA, dashB} {
				p.must(200, as(i), "PATCH", "/app/dashboards/"+id, fmt.Sprintf(`{"customDomains": [], "slug": "free-%d-%d"}`, round, i))
			}
			for i := range 2 { // make the hosts free again
				for _, dashboard := range p.must(200, as(i), "GET", "/app/dashboards?limit=100", "")["dashboards"].([]any) {
					p.must(200, as(i), "PATCH", "/app/dashboards/"+dashboard.(map[string]any)["id"].(string), `{"customDomains": []}`)
				}
			}
		}
	}
	if counts := p.race(8, func(i int) answer { return p.send(as(i), "POST", "/app/dashboards", `{"name": "The same name"}`) }); counts[201] != 8 {
		t.Errorf("derived slugs: %v", counts)
	}
}

// TestDashboardsAreLimited checks the number of dashboards of an organization on the default plan.
func TestDashboardsAreLimited(t *testing.T) {
	p := start(t, startBroker(t))
	for range 49 {
		p.must(201, "app admin a", "POST", "/app/dashboards", `{"name": "One of many"}`)
	}
	if a := p.send("app admin a", "POST", "/app/dashboards", `{"name": "One more"}`); a.status != 409 ||
		string(bytes.TrimSpace(a.body)) != `{"error":"Your organization may have 50 dashboards. Delete one first."}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := p.send("app admin a", "POST", "/app/dashboards", `{"name": " "}`); a.status != 400 { // a wrong field precedes the limit
		t.Errorf("%d %s", a.status, a.body)
	}
	p.must(201, "app admin b", "POST", "/app/dashboards", `{"name": "Another organization's"}`)
}

// TestUniqueExternalRefs checks that of components which get an external reference at the same time one gets it, and
// that the others leave nothing behind.
func TestUniqueExternalRefs(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.must(201, "app admin a", "POST", "/app/components", `{"name": "first"}`)["component"].(map[string]any)["id"].(string)
	stored := 1
	for round := range 5 {
		counts := p.race(8, func(i int) answer {
			refs := fmt.Sprintf(`"externalRefs": ["own-%d-%d", "shared-%d"]`, round, i, round)
			if i == 0 {
				return p.send("app admin a", "PATCH", "/app/components/"+component, "{"+refs+"}")
			}
			return p.send("app admin a", "POST", "/app/components", `{"name": "x", `+refs+`}`)
		})
		if counts[200]+counts[201] != 1 || counts[409] != 7 {
			t.Errorf("%v", counts)
		}
		stored += counts[201]
	}
	if list := p.must(200, "app admin a", "GET", "/app/components?limit=100", "")["components"].([]any); len(list) != stored {
		t.Errorf("%d components, want %d", len(list), stored)
	}
	placed := p.must(200, "peer a", "GET", "/internal/v1/organizations/"+orgA+"/dashboards/"+dashA, "")["components"].([]any)
	if len(placed) != stored {
		t.Errorf("%d placements, want %d", len(placed), stored)
	}
}

// TestPasswordIsNeverShown sends a password and looks for it, and for its hash, in every response, in the logs and in
// Kafka. The hash is in the database, and the password is not.
func TestPasswordIsNeverShown(t *testing.T) {
	folder := t.TempDir()
	p := &platform{t: t, documents: "sqlite:" + folder, broker: startBroker(t), logs: &apitest.Log{}}
	p.signer = passport.NewSigner(secret, p.now)
	p.run()
	p.dashboards()

	var seen bytes.Buffer
	const password = "a-password-of-the-test"
	body := `{"access": {"mode": "password", "password": "` + password + `"}`
	for _, request := range [][3]string{
		{"PATCH", "/app/dashboards/" + dashA, body + "}"}, {"PATCH", "/app/dashboards/" + dashA, body + `, "locale": "xx"}`},
		{"PATCH", "/app/dashboards/" + dashB, body + "}"}, {"PATCH", "/app/dashboards/" + dashA, `{"name": ["` + password + `"]}`},
		{"POST", "/app/dashboards", `{"name": "Private", ` + body[1:] + "}"}, {"GET", "/app/dashboards", ""}, {"GET", "/app/dashboards/" + dashA, ""},
		{"GET", "/app/dashboards/" + dashA + "/content", ""}, {"GET", "/public/v1/dashboards/acme-status/list", ""},
		{"GET", "/internal/v1/organizations/" + orgA + "/dashboards/" + dashA, ""}, {"DELETE", "/app/dashboards/" + dashA, ""},
	} {
		caller := "app admin a"
		switch {
		case strings.HasPrefix(request[1], "/public"):
			caller = "public"
		case strings.HasPrefix(request[1], "/internal"):
			caller = "peer a"
		}
		a := p.send(caller, request[0], request[1], request[2])
		fmt.Fprintln(&seen, "status", a.status, a.header, string(a.body))
	}
	if text := seen.String(); !strings.Contains(text, `"passwordSet":true`) || strings.Contains(text, "status 5") || strings.Count(text, "status 40") != 3 {
		t.Fatalf("the responses are not those of the test: %s", &seen)
	}
	messages := p.published(topic.Audit, 3)
	p.stop()
	for where, text := range map[string]string{"responses": seen.String(), "logs": p.logs.String(), "messages": messages} {
		if strings.Contains(text, password) || strings.Contains(text, "argon2") {
			t.Errorf("the password or its hash is in the %s: %s", where, text)
		}
	}
	if !strings.Contains(messages, "dashboard.update") || !strings.Contains(messages, "passwordSetAt") {
		t.Errorf("the audit log does not show that a password was set: %s", messages)
	}
	var stored []byte
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, content...)
	}
	if bytes.Contains(stored, []byte(password)) || !bytes.Contains(stored, []byte("$argon2id$")) {
		t.Error("the database has the password, or lacks its hash")
	}
}

// published waits for n messages of a topic and returns them.
func (p *platform) published(name string, n int) string {
	p.t.Helper()
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker}, ClientID: "reader"})
	p.t.Cleanup(func() { bus.Close() })
	heard := apitest.Listen(p.t, bus, name)
	var text strings.Builder
	apitest.Eventually(p.t, "the messages are published", func() bool { return len(heard.Records(name)) >= n })
	for _, record := range heard.Records(name) {
		text.Write(record.Value)
		text.WriteByte('\n')
	}
	return text.String()
}
