package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// fullLines has lines in which each member of each kind has a value that is not the default. A member that another member
// excludes is in another line of the kind. SOON and LATER are times after now.
const fullLines = `{"kind":"dashboard","key":"bellbuoy:dashboard:harbour","name":"Harbour","slug":"harbour","enabled":true,"description":"What the harbour does.","timezone":"Europe/Berlin","locale":"de","customDomains":["status.harbour.example"],"branding":{"faviconUrl":"https://harbour.example/icon.png","logoUrl":"https://harbour.example/logo.png","primaryColor":"#1a73e8","theme":"dark"},"links":{"homepageUrl":"https://harbour.example/","supportUrl":"https://harbour.example/help","navigation":[{"text":"Docs","href":"https://docs.harbour.example/"}]},"subscriptions":{"discord":false,"email":true,"gchat":true,"slack":false,"sms":true,"teams":false,"webhook":true,"whatsapp":true},"searchIndexing":false,"access":{"mode":"ipAllowlist","allowedIps":["192.0.2.0/24"]},"publicId":"page","groupPublicIds":{"North":"north"},"aliases":{"old/feed":"/feed.rss"}}
{"kind":"component","key":"x:s:gate","name":"Gate","description":"The lock gate","groupName":"North","position":7,"hidden":true,"hiddenFromNotifications":true,"startAt":"2024-01-02T03:04:05Z","externalRefs":["gate"],"dashboardIds":["bellbuoy:dashboard:harbour"],"statusOverride":{"status":"degraded_performance","until":"LATER","countInUptime":true},"checkUrl":"https://harbour.example/health","publicId":"gate","aliases":["parts/gate"]}
{"kind":"event","key":"x:s:outage","type":"incident","title":"The gate is slow","status":"resolved","severity":"minor_outage","html":"<p>Some ships wait.</p>","impactAnalysis":"<p>Ten ships.</p>","coordinator":"Ada","createdAt":"2025-01-02T03:05:00Z","startAt":"2025-01-02T03:04:00Z","endAt":"2025-01-02T05:04:00Z","hiddenFromDashboard":true,"hiddenFromUptimeReports":true,"externalId":"INC 1","components":[{"key":"x:s:gate","impact":"partial_outage"}],"timeline":[{"key":"x:s:entry","at":"2025-01-02T05:04:00Z","status":"resolved","html":"<p>Over.</p>","impacts":{"x:s:gate":"major_outage"},"publicId":"entry"}],"postMortem":{"html":"<p>The oil.</p>","rootCause":"<p>Cold.</p>","impact":"<p>Delay.</p>","resolution":"<p>Heat.</p>","lessonsLearned":"<p>Check.</p>","actionItems":[{"text":"Watch","owner":"Ada","dueDate":"2025-04-01","done":true}],"publishedAt":"2025-01-03T03:04:00Z"},"notes":["Ask Bob."],"publicId":"outage","aliases":["incidents/outage"]}
{"kind":"event","key":"x:s:works","type":"maintenance","title":"Works","status":"planning","createdAt":"2025-01-02T03:05:00Z","startAt":"SOON","scheduledStartAt":"SOON","scheduledEndAt":"LATER","autoStart":true,"autoEnd":true,"reminderMinutes":[60],"notifyLater":{"email":true},"publish":false,"dashboardIds":["bellbuoy:dashboard:harbour"],"publicId":"works"}
{"kind":"subscriber","key":"bellbuoy:email:ada@example.com","dashboardId":"bellbuoy:dashboard:harbour","channel":"email","address":"ada@example.com","components":["x:s:gate"],"state":"confirmed","confirmedAt":"2024-01-02T03:04:05Z","locale":"fr"}
{"kind":"endpoint","key":"x:s:hook","dashboardId":"bellbuoy:dashboard:harbour","channel":"webhook","url":"https://hooks.harbour.example/1","managementEmail":"ops@example.com","components":["x:s:gate"],"format":"statuspage"}
`

// notWritten has the members that an import does not write as their line has them, and the reasons.
var notWritten = map[string]string{
	"dashboard enabled": "an import creates disabled dashboards, so that a member looks at them first",
	"endpoint key":      "the platform stores no key of an endpoint: its URL identifies it",
	"endpoint url":      "is a secret that no response has: the test finds the endpoint by the hash of the URL",
}

// TestAnImportWritesEachMemberOfALine finds a member of a line that the import does not write, or that the export does not read.
func TestAnImportWritesEachMemberOfALine(t *testing.T) {
	t.Parallel()
	day := func(n int) string {
		return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, n).Format(time.RFC3339)
	}
	text := strings.NewReplacer("SOON", day(2), "LATER", day(3)).Replace(fullLines)
	set, err := lines.Read(t.Context(), strings.NewReader(text))
	if err != nil || len(set.Warnings) > 0 {
		t.Fatalf("%v, %v", err, set.Warnings)
	}
	for _, missing := range slices.Concat(
		emptyMembers("dashboard", set.Dashboards), emptyMembers("component", set.Components), emptyMembers("event", set.Events),
		emptyMembers("subscriber", set.Subscribers), emptyMembers("endpoint", set.Endpoints),
	) {
		t.Errorf("no line of the test has %s", missing)
	}
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	m := newMover(actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")})
	page := filepath.Join(m.folder, "page.jsonl")
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(0, "import", "lines", page, "--dashboard", "harbour", "--only", "components,events,subscribers,endpoints")
	m.run(2, "export", "--dashboard", "harbour", "--lines", "out.jsonl") // the URL of the endpoint is missing
	want, got := membersByKey(t, text), membersByKey(t, m.read("out.jsonl"))
	got["endpoint x:s:hook"] = m.endpointLine(set.Endpoints[0].URL)
	for name, line := range want {
		kind, _, _ := strings.Cut(name, " ")
		if got[name] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		for member, value := range line {
			if _, excepted := notWritten[kind+" "+member]; reflect.DeepEqual(value, got[name][member]) == excepted {
				t.Errorf("%s of %s is %v, and became %v (an exception: %t)", member, name, value, got[name][member], excepted)
			}
		}
		for member := range got[name] {
			if line[member] == nil {
				t.Errorf("%s got the member %s: %s", name, member, got[name][member])
			}
		}
	}
}

// emptyMembers returns the members that none of the records has, or only with the zero value. It looks into lists, maps and objects.
func emptyMembers[T any](path string, records []T) []string {
	values := make([]reflect.Value, len(records))
	for i := range records {
		values[i] = reflect.ValueOf(records[i])
	}
	return emptyIn(path, reflect.TypeFor[T](), values)
}

// emptyIn is like emptyMembers, for the values that the records have of a member with the type of.
func emptyIn(path string, of reflect.Type, values []reflect.Value) (empty []string) {
	values = slices.DeleteFunc(values, func(v reflect.Value) bool { return v.IsZero() })
	var inner []reflect.Value
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		for _, v := range values {
			if of.Kind() == reflect.Pointer {
				inner = append(inner, v.Elem())
				continue
			}
			for _, element := range v.Seq2() {
				inner = append(inner, element)
			}
		}
		if len(inner) == 0 {
			return []string{path}
		}
		if element := of.Elem(); element.Kind() == reflect.Struct {
			return emptyIn(path, element, inner)
		}
		return nil
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			break
		}
		for field := range of.Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			for _, v := range values {
				inner = append(inner, v.FieldByIndex(field.Index))
			}
			empty = append(empty, emptyIn(path+" "+member, field.Type, inner)...)
			inner = nil
		}
		return empty
	}
	if len(values) == 0 {
		return []string{path}
	}
	return nil
}

// membersByKey returns the members of the lines, by the kind and the key of the line.
func membersByKey(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for line := range strings.Lines(text) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[fmt.Sprint(members["kind"], " ", members["key"])] = members
	}
	return all
}

// endpointLine returns the members of a line that the platform shows of the endpoint with the URL. The dashboard and the components
// are keys.
func (m *mover) endpointLine(url string) map[string]any {
	m.t.Helper()
	keys := map[any]any{}
	for _, d := range m.everything("/app/dashboards", "dashboards") {
		keys[d["id"]] = fmt.Sprint("bellbuoy:dashboard:", d["slug"])
	}
	for _, c := range m.everything("/app/components", "components") {
		for _, ref := range c["externalRefs"].([]any) {
			keys[c["id"]] = ref
			break
		}
	}
	for _, e := range m.everything("/app/integrations/webhooks/outbound/endpoints", "endpoints") {
		if e["urlHash"] != fmt.Sprintf("%x", sha256.Sum256([]byte(url))) {
			continue
		}
		line := map[string]any{"kind": "endpoint"}
		for field := range reflect.TypeFor[lines.Endpoint]().Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if value, shown := e[member]; shown {
				line[member] = value
			}
		}
		line["dashboardId"] = keys[e["dashboardId"]]
		var components []any
		for _, id := range e["componentIds"].([]any) {
			components = append(components, keys[id])
		}
		line["components"] = components
		return line
	}
	m.t.Fatalf("the platform has no endpoint with the URL %s", url)
	return nil
}
