package documenttest

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
)

type state string

const (
	open   state = "open"
	closed state = "closed"
)

type ticket struct {
	ID     string            `json:"id"`
	State  state             `json:"state"`
	Owner  *owner            `json:"owner,omitempty"`
	Labels []string          `json:"labels"`
	Notes  map[string]string `json:"notes"`
	Due    time.Time         `json:"due"`
	More   int               `json:"more"`
	Cached string            `json:"-"`
	Hidden bool              `json:"hidden"`
	Locked bool              `json:"locked"`
	Ended  *time.Time        `json:"ended"`
}

type owner struct {
	Name string `json:"name"`
	Away bool   `json:"away"`
}

// linesOf returns the lines of a collection with one field.
func linesOf(revision int, value func(*ticket) any) []line {
	db, err := document.Open("sqlite:unused", "fields", document.Options{})
	if err != nil {
		panic(err)
	}
	document.Declare(db, document.Schema[ticket]{Name: "tickets", Shard: document.ByKey(), Key: func(k *ticket) string { return k.ID },
		Fields: []document.Field[ticket]{{Name: "listed", Value: value, Revision: revision}}})
	return fields(db.Declarations()[0], []any{open, closed})
}

func keys(t *ticket) []string {
	out := []string{string(t.State)}
	if t.Owner != nil && !t.Owner.Away {
		out = append(out, t.Owner.Name)
	}
	return append(out, t.Labels...)
}

func TestAChangedFieldNeedsANewRevision(t *testing.T) {
	before := linesOf(0, func(k *ticket) any { return keys(k) })
	for name, changed := range map[string]func(*ticket) any{
		"another filter":        func(k *ticket) any { return append(keys(k), k.Notes["x"]) },
		"a filter of one state": func(k *ticket) any { return append(keys(k), map[state]string{closed: "late"}[k.State]) },
		"a filter by a time":    func(k *ticket) any { return append(keys(k), k.Due.Format("2006")) },
		"a filter by a nested bool": func(k *ticket) any {
			return append(keys(k), map[bool]string{true: "away"}[k.Owner != nil && k.Owner.Away])
		},
		"a filter less": func(k *ticket) any { return keys(k)[1:] },
		"another order": func(k *ticket) any { return append(k.Labels, keys(k)[:1]...) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, update := range []bool{false, true} {
				problems := compare(before, linesOf(0, changed), update)
				if len(problems) != 1 || !strings.Contains(problems[0], "raise the Revision") {
					t.Errorf("with update %t: %q", update, problems)
				}
			}
			if problems := compare(before, linesOf(1, changed), true); len(problems) > 0 {
				t.Errorf("with a new Revision: %q", problems)
			}
		})
	}
}

// A field with a value only for records that are neither hidden, locked nor ended.
func TestAChangedFieldOfFewRecordsNeedsANewRevision(t *testing.T) {
	label := func(other bool) func(*ticket) any {
		return func(k *ticket) any {
			if k.Hidden || k.Locked || k.Ended != nil || other && k.Owner != nil {
				return nil
			}
			return k.ID
		}
	}
	if problems := compare(linesOf(0, label(false)), linesOf(0, label(true)), false); len(problems) != 1 || !strings.Contains(problems[0], "raise the Revision") {
		t.Errorf("%q", problems)
	}
}

func TestAFieldThatComputesTheSameNeedsNoRevision(t *testing.T) {
	before := linesOf(0, func(k *ticket) any { return keys(k) })
	if problems := compare(before, linesOf(0, func(k *ticket) any { k.Cached = "x"; return keys(k) }), false); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestFieldsThatComeAndGoAreWrittenToTheGoldenFile(t *testing.T) {
	now := linesOf(0, func(k *ticket) any { return keys(k) })
	for _, c := range []struct{ golden, declared []line }{{nil, now}, {now, nil}} {
		if problems := compare(c.golden, c.declared, false); len(problems) != 1 || !strings.Contains(problems[0], "APITEST_UPDATE=1") {
			t.Errorf("%q", problems)
		}
		if problems := compare(c.golden, c.declared, true); len(problems) > 0 {
			t.Errorf("%q", problems)
		}
	}
}

func TestAnIndexWithOtherFieldsNeedsAnotherName(t *testing.T) {
	linesOf := func(index document.Index) []line {
		return indexes(document.Declaration{Name: "tickets", Indexes: []document.Index{index}})
	}
	before := linesOf(document.Index{Name: "listed", Fields: []string{"state", "due"}})
	for _, changed := range []document.Index{
		{Name: "listed", Fields: []string{"due", "state"}}, {Name: "listed", Fields: []string{"state"}}, {Name: "listed", Fields: []string{"state", "due"}, Unique: true},
	} {
		for _, update := range []bool{false, true} {
			if problems := compare(before, linesOf(changed), update); len(problems) != 1 || !strings.Contains(problems[0], "give it another name") {
				t.Errorf("%+v with update %t: %q", changed, update, problems)
			}
		}
		changed.Name = "listedBy"
		if problems := compare(before, linesOf(changed), true); len(problems) > 0 {
			t.Errorf("with another name: %q", problems)
		}
	}
}

func TestAShardKeyDependsOnOneMember(t *testing.T) {
	for _, c := range []struct {
		name    string
		field   func(*ticket) any
		members int
	}{
		{"one member", func(k *ticket) any { return string(k.State) }, 1},
		{"hidden by another member", func(k *ticket) any {
			if k.More == 0 {
				return nil
			}
			return string(k.State)
		}, 2},
		{"a member of the key too", func(k *ticket) any { return k.ID + string(k.State) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := document.Open("sqlite:unused", "shards", document.Options{})
			if err != nil {
				t.Fatal(err)
			}
			document.Declare(db, document.Schema[ticket]{Name: "tickets", Shard: document.By("owner"), Key: func(k *ticket) string { return k.ID },
				Fields: []document.Field[ticket]{{Name: "owner", Value: c.field}}})
			if members := shardMembers(db.Declarations()[0]); len(members) != c.members {
				t.Errorf("%q", members)
			}
		})
	}
}
