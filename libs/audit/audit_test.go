package audit_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

type boat struct {
	ID      string            `json:"id" audit:"id"`
	Name    string            `json:"name" audit:"title"`
	Secret  string            `json:"secret"`
	Hidden  string            `json:"hidden" audit:"-"`
	Flag    string            `json:"flag" audit:"flag,null"`
	Built   time.Time         `json:"built" audit:"builtAt"`
	Sunk    *time.Time        `json:"sunk" audit:"sunkAt"`
	Text    rich              `json:"text" audit:"text"`
	Sailors []sailor          `json:"sailors" audit:"sailors"`
	Logs    []sailor          `json:"logs" audit:"log,changed"`
	Report  *sailor           `json:"report" audit:"report,changed"`
	Kinds   map[string]bool   `json:"kinds" audit:"kinds"`
	Tokens  map[string]sailor `json:"tokens"`
	Version int64             `json:"version" audit:"version,quiet"`
}

type sailor struct {
	Name     string `json:"name" audit:"name"`
	Rank     string `json:"rank" audit:"rank,null"`
	Password string `json:"password"`
}

type rich struct{ Text string }

func (r rich) AuditValue() any { return r.Text }

func (b boat) AuditEntity() audit.Entity {
	return audit.Entity{Organization: "org", Type: "boat", ID: b.ID, Name: b.Name}
}

var (
	at     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	origin = audit.Origin{
		Actor: topic.Actor{Type: topic.ActorUser, ID: "u", Email: "u@example.com", KeyID: "k"}, IP: "192.0.2.1", RequestID: "r", Surface: "app",
	}
)

// entry returns the one entry of a write.
func entry(t *testing.T, action string, before, after *boat) topic.AuditEntry {
	t.Helper()
	messages := audit.Entry(origin, action, at, before, after)
	if len(messages) != 1 {
		t.Fatalf("%d messages", len(messages))
	}
	return messages[0].(topic.AuditEntry)
}

func same(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEntryTakesOverTaggedFieldsOnly(t *testing.T) {
	b := boat{
		ID: "1", Name: "Ada", Secret: "s3cret", Hidden: "s3cret", Built: at.Add(time.Millisecond), Text: rich{"x"},
		Sailors: []sailor{{Name: "Tom", Password: "s3cret"}}, Kinds: map[string]bool{"sail": true}, Tokens: map[string]sailor{"s3cret": {}}, Version: 1,
	}
	made := entry(t, "", nil, &b)
	same(t, made.Before, `null`)
	same(t, made.After, `{"builtAt":"2026-01-02T03:04:05.001Z","flag":null,"id":"1","kinds":{"sail":true},`+
		`"sailors":[{"name":"Tom","rank":null}],"sunkAt":null,"text":"x","title":"Ada","version":1}`)
	if got := strings.Join(made.ChangedFields, " "); got != "builtAt id kinds sailors text title" {
		t.Error(got)
	}
	if made.Action != "boat.create" || made.EntityType != "boat" || made.EntityID != "1" || made.EntityName != "Ada" || made.Organization != "org" ||
		made.Actor != origin.Actor || made.IP != "192.0.2.1" || made.RequestID != "r" || made.Surface != "app" || !made.OccurredAt.Equal(at) || len(made.ID) != 36 {
		t.Errorf("%+v", made)
	}
	gone := entry(t, "", &b, nil)
	same(t, gone.After, `null`)
	same(t, gone.Before, string(made.After))
	if gone.Action != "boat.delete" || gone.EntityName != "Ada" {
		t.Errorf("%+v", gone)
	}
}

func TestEntryNamesTheFieldsThatDiffer(t *testing.T) {
	before := boat{ID: "1", Name: "Ada", Version: 1, Logs: []sailor{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	after := before
	after.Version, after.Secret = 2, "other"
	if got := entry(t, "", &before, &after); len(got.ChangedFields) != 0 || got.ChangedFields == nil || strings.Contains(string(got.After), "log") {
		t.Errorf("%+v", got)
	}
	after.Name, after.Logs = "Bob", []sailor{{Name: "a"}, {Name: "B"}, {Name: "c"}, {Name: "d"}}
	after.Report = &sailor{Name: "r"}
	got := entry(t, "boat.rename", &before, &after)
	if changed := strings.Join(got.ChangedFields, " "); changed != "log report title" || got.Action != "boat.rename" || got.EntityName != "Bob" {
		t.Errorf("%s %+v", changed, got)
	}
	var one, two struct {
		Log    []struct{ Name string }
		Report *struct{ Name string }
	}
	if err := json.Unmarshal(got.Before, &one); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.After, &two); err != nil {
		t.Fatal(err)
	}
	if len(one.Log) != 1 || one.Log[0].Name != "b" || one.Report != nil {
		t.Errorf("%s", got.Before)
	}
	if len(two.Log) != 2 || two.Log[0].Name != "B" || two.Log[1].Name != "d" || two.Report == nil {
		t.Errorf("%s", got.After)
	}
}

func TestOnlyAWriteWithAnOriginLeavesAnEntry(t *testing.T) {
	if got := audit.Entry(audit.From(context.Background()), "", at, nil, &boat{}); got != nil {
		t.Errorf("%v", got)
	}
	got := audit.From(audit.WithScheduler(audit.With(context.Background(), origin)))
	if got.Actor != (topic.Actor{Type: topic.ActorScheduler}) || got.Surface != "scheduler" || got.RequestID != "" {
		t.Errorf("%+v", got)
	}
}

// Every character of the texts takes six bytes in JSON.
func TestEntryHasABoundedSize(t *testing.T) {
	const character = "\x01"
	long := boat{ID: "1", Name: "Ada", Text: rich{strings.Repeat(character, 200_000)}, Kinds: map[string]bool{}}
	for range 1000 {
		long.Logs = append(long.Logs, sailor{Name: strings.Repeat(character, 5000)})
	}
	got := entry(t, "", nil, &long)
	var after struct {
		ID, Text  string
		Log       []any
		Truncated bool
	}
	if err := json.Unmarshal(got.After, &after); err != nil {
		t.Fatal(err)
	}
	if len(got.After) > audit.MaxSnapshot || !after.Truncated || after.ID != "1" || len(after.Log) == 0 || !strings.HasSuffix(after.Text, character+"…") {
		t.Errorf("%d bytes, %d entries", len(got.After), len(after.Log))
	}
	message, err := json.Marshal(got)
	if err != nil || len(message) > 2*audit.MaxSnapshot+4096 {
		t.Errorf("%d bytes, %v", len(message), err)
	}
	// Maps are cut, too, and the names in them.
	wide := boat{ID: "1", Name: "Ada", Kinds: map[string]bool{strings.Repeat(character, 400_000): true}}
	for i := range 500 {
		wide.Kinds[strings.Repeat(character, 100)+strconv.Itoa(i)] = true
	}
	var cut struct {
		ID        string
		Kinds     map[string]bool
		Truncated bool
	}
	if got := entry(t, "", nil, &wide); json.Unmarshal(got.After, &cut) != nil || len(got.After) > audit.MaxSnapshot || !cut.Truncated || cut.ID != "1" || len(cut.Kinds) == 0 {
		t.Errorf("%d bytes, %d kinds", len(got.After), len(cut.Kinds))
	}
	// A change behind the cut is a change.
	changed := long
	changed.Text.Text += "!"
	if got := entry(t, "", &long, &changed); strings.Join(got.ChangedFields, " ") != "text" {
		t.Error(got.ChangedFields)
	}
	// A text of the largest allowed size stays whole in ASCII.
	fits := boat{Text: rich{strings.Repeat("a", 20_000)}}
	if got := entry(t, "", nil, &fits); strings.Contains(string(got.After), audit.Truncated) {
		t.Errorf("%d bytes are cut", len(got.After))
	}
}
