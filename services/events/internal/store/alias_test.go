package store_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// files returns n aliases of the page of a dashboard, from the number first on.
func files(first, n int) (aliases []catalog.Alias) {
	for i := range n {
		aliases = append(aliases, catalog.Alias{Path: fmt.Sprintf("old/%06d", first+i), File: "/"})
	}
	return aliases
}

// table returns the aliases of a dashboard with their present paths, as the gateway gets them.
func table(t *testing.T, c library, dashboard string) (lines []string) {
	t.Helper()
	if err := c.EachAlias(t.Context(), dashboard, func(path, present string) { lines = append(lines, path+" "+present) }); err != nil {
		t.Fatal(err)
	}
	return lines
}

func aliasSet(t *testing.T, records *store.Store, dashboard string) *catalog.AliasSet {
	t.Helper()
	set, err := records.AliasSets.Get(t.Context(), dashboard)
	if err != nil {
		t.Fatal(err)
	}
	return &set
}

func setAliases(t *testing.T, c library, dashboard string, aliases ...catalog.Alias) (statuses string) {
	t.Helper()
	results, err := c.SetAliases(t.Context(), ours, dashboard, aliases, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		statuses += string(result.Status[0])
	}
	return statuses
}

// countedAliases counts the bulk writes of aliases.
type countedAliases struct {
	find.Collection[catalog.Alias]
	writes *int
}

func (c countedAliases) UpsertMany(ctx context.Context, items []catalog.Alias) error {
	*c.writes++
	return c.Collection.UpsertMany(ctx, items)
}

func TestAliasesAreWrittenInBulkAndPublished(t *testing.T) {
	writes := 0
	c, records := open(t, t.TempDir(), false, func(s *store.Store) { s.Aliases = countedAliases{s.Aliases, &writes} })
	page, other := addDashboard(t, c, "page"), addDashboard(t, c, "other")
	version := func() int64 {
		t.Helper()
		found, err := c.Public(t.Context(), edition.Address{Slug: page.Slug})
		if err != nil {
			t.Fatal(err)
		}
		return found.Aliases
	}
	if version() != 0 {
		t.Error("a dashboard without aliases has a version of them")
	}
	if got := setAliases(t, c, page.ID, files(0, catalog.MaxAliases)...); got != strings.Repeat("c", catalog.MaxAliases) || writes != 1 || version() != 1 {
		t.Errorf("%d writes, version %d, %.20s", writes, version(), got)
	}
	// The second alias of a path replaces the first one.
	again := append(files(0, 2), catalog.Alias{Path: "twice", File: "/"}, catalog.Alias{Path: "twice", File: "/history"}, catalog.Alias{Path: "twice", File: "/history"})
	if got := setAliases(t, c, page.ID, again...); got != "uucuu" || version() != 2 {
		t.Errorf("version %d, %s", version(), got)
	}
	if got := table(t, c, page.ID); len(got) != catalog.MaxAliases+1 || !slices.IsSorted(got) || !slices.Contains(got, "twice history") || !slices.Contains(got, "old/000999 ") {
		t.Errorf("%d aliases: %.80s", len(got), got)
	}
	if got := setAliases(t, c, page.ID, files(0, 3)...); got != "uuu" || version() != 2 {
		t.Errorf("a write that changes nothing: version %d, %s", version(), got)
	}
	if got := table(t, c, other.ID); len(got) > 0 {
		t.Errorf("another dashboard has %v", got)
	}
	if err := c.DeleteDashboard(t.Context(), ours, page.ID); err != nil {
		t.Fatal(err)
	}
	if got := table(t, c, page.ID); len(got) > 0 {
		t.Errorf("the deleted dashboard has %d aliases", len(got))
	}
	if _, err := records.AliasSets.Get(t.Context(), page.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the set of a deleted dashboard: %v", err)
	}
}

// The number of aliases of a dashboard is exact also if several writes add aliases at the same time.
func TestADashboardHasAtMost100000Aliases(t *testing.T) {
	const most, at = 100_000, 97_500
	c, records := open(t, t.TempDir(), false)
	page := addDashboard(t, c, "page")
	setAliases(t, c, page.ID, files(0, 1)...)
	if _, err := records.AliasSets.Change(t.Context(), page.ID, func(set *catalog.AliasSet) error { set.Count = at; return nil }); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var refused sync.Map
	for i := range 4 {
		group.Go(func() {
			if _, err := c.SetAliases(t.Context(), ours, page.ID, files((i+1)*1000, 1000), false); fault.Is(err, fault.Conflict) {
				refused.Store(i, err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	n := 0
	refused.Range(func(_, _ any) bool { n++; return true })
	set, err := records.AliasSets.Get(t.Context(), page.ID)
	if err != nil || n != 2 || set.Count != at+2000 || len(set.Pending) > 0 {
		t.Errorf("%d refused, %d aliases, %d pending, %v", n, set.Count, len(set.Pending), err)
	}
	if got := setAliases(t, c, page.ID, files(1_000_000, most-at-2000)...); len(got) != most-at-2000 {
		t.Errorf("the last ones: %s", got)
	}
	if _, err := c.SetAliases(t.Context(), ours, page.ID, files(2_000_000, 1), false); !fault.Is(err, fault.Conflict) {
		t.Errorf("one more: %v", err)
	}
	if got := setAliases(t, c, page.ID, catalog.Alias{Path: "old/000000", File: "/history"}); got != "u" {
		t.Errorf("a known one in a full set: %s", got)
	}
}

// slowAliases calls overtake once, before it stores aliases.
type slowAliases struct {
	find.Collection[catalog.Alias]
	overtake *func()
}

func (s slowAliases) UpsertMany(ctx context.Context, items []catalog.Alias) error {
	if overtake := *s.overtake; overtake != nil {
		*s.overtake = nil
		overtake()
	}
	return s.Collection.UpsertMany(ctx, items)
}

// TestASlowProcessBringsNoAliasBack lets two processes store the same write. The slow one stores it after the other one has
// also stored a later write of the same paths.
func TestASlowProcessBringsNoAliasBack(t *testing.T) {
	folder := t.TempDir()
	var overtake func()
	fast, records := open(t, folder, false)
	slow, _ := open(t, folder, false, func(s *store.Store) { s.Aliases = slowAliases{s.Aliases, &overtake} })
	deaf, _ := open(t, folder, true)
	page, component := addDashboard(t, fast, "page"), add(t, fast, "API")
	gone := incident(t, fast, component.ID).ID
	set := func() *catalog.AliasSet { return aliasSet(t, records, page.ID) }
	follow := func(c library) {
		t.Helper()
		if err := c.AliasesWritten(t.Context(), page.ID, set()); err != nil {
			t.Fatal(err)
		}
	}
	setAliases(t, fast, page.ID, catalog.Alias{Path: "known", File: "/"})
	history := []catalog.Alias{{Path: "new", File: "/history"}}
	for _, test := range []struct {
		name           string
		first, deletes []string        // paths that the first write and the later one delete
		sets           []catalog.Alias // by the later write
		want           []string
	}{
		{"deleted later", nil, []string{"new", "known"}, nil, nil},
		{"changed later", nil, nil, history, []string{"known ", "new history"}},
		{"deleted first", []string{"new"}, nil, history, []string{"known ", "new history"}},
	} {
		setAliases(t, deaf, page.ID, catalog.Alias{Path: "new", File: "/"}, catalog.Alias{Path: "known", File: "/"}, catalog.Alias{Path: "orphan", EventID: gone})
		if _, err := deaf.DeleteAliases(t.Context(), ours, page.ID, test.first); err != nil {
			t.Fatal(err)
		}
		if err := deaf.DeleteEvent(t.Context(), ours, gone); fault.UnlessMissing(err) != nil {
			t.Fatal(err)
		}
		former := set()
		overtake = func() {
			follow(fast)
			if len(test.sets) > 0 {
				setAliases(t, fast, page.ID, test.sets...)
			}
			if _, err := fast.DeleteAliases(t.Context(), ours, page.ID, test.deletes); err != nil {
				t.Error(err)
			}
		}
		if err := slow.AliasesWritten(t.Context(), page.ID, former); err != nil {
			t.Fatal(err)
		}
		// A run of the fast process may have stored the orphan before its event was deleted. Then the run of the deletion finds it.
		if err := fast.DropAliasesTo(t.Context(), catalog.FieldEvent, gone); err != nil {
			t.Fatal(err)
		}
		follow(slow)
		if got := table(t, fast, page.ID); !slices.Equal(got, test.want) || set().Count != len(test.want) {
			t.Errorf("%s: the aliases are %q, counted %d, want %q", test.name, got, set().Count, test.want)
		}
	}
}

// TestAnAliasIsCountedOnceIfItsEventIsDeletedMeanwhile lets a slow process store an alias that another process has stored
// and settled before the event was deleted.
func TestAnAliasIsCountedOnceIfItsEventIsDeletedMeanwhile(t *testing.T) {
	folder := t.TempDir()
	var overtake func()
	fast, records := open(t, folder, true)
	slow, _ := open(t, folder, true, func(s *store.Store) { s.Aliases = slowAliases{s.Aliases, &overtake} })
	page, component := addDashboard(t, fast, "page"), add(t, fast, "API")
	gone := incident(t, fast, component.ID).ID
	get := func() *catalog.AliasSet { return aliasSet(t, records, page.ID) }
	setAliases(t, fast, page.ID, catalog.Alias{Path: "orphan", EventID: gone}, catalog.Alias{Path: "known", File: "/"})
	former := get()
	overtake = func() {
		if err := fast.AliasesWritten(t.Context(), page.ID, get()); err != nil {
			t.Error(err)
		}
		if err := fast.DeleteEvent(t.Context(), ours, gone); err != nil {
			t.Error(err)
		}
	}
	if err := slow.AliasesWritten(t.Context(), page.ID, former); err != nil {
		t.Fatal(err)
	}
	if err := fast.DropAliasesTo(t.Context(), catalog.FieldEvent, gone); err != nil { // the deletion of the event does this
		t.Fatal(err)
	}
	if err := fast.AliasesWritten(t.Context(), page.ID, get()); err != nil {
		t.Fatal(err)
	}
	if got := table(t, fast, page.ID); !slices.Equal(got, []string{"known "}) || get().Count != 1 {
		t.Errorf("the aliases are %q, counted %d", got, get().Count)
	}
}

// The last of several changes of a path stays. The changes are made by one process or by two, at once or later.
func TestTheLastChangeOfAnAliasStays(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	other, _ := open(t, folder, false)
	page := addDashboard(t, c, "page")
	remove := func(c library, path string) {
		t.Helper()
		if n, err := c.DeleteAliases(t.Context(), ours, page.ID, []string{path}); err != nil || n != 1 {
			t.Fatalf("%d aliases of %s are deleted: %v", n, path, err)
		}
	}
	for _, last := range []library{c, other} {
		for _, pause := range []time.Duration{0, time.Second, 20 * time.Second} {
			t.Cleanup(func() { ahead.Store(0) })
			ahead.Add(int64(time.Hour)) // no change of the former step is pending
			setAliases(t, c, page.ID, catalog.Alias{Path: "changed", File: "/"}, catalog.Alias{Path: "deleted", File: "/"}, catalog.Alias{Path: "made", File: "/"})
			setAliases(t, c, page.ID, catalog.Alias{Path: "changed", File: "/history"}, catalog.Alias{Path: "deleted", File: "/history"})
			remove(c, "made")
			ahead.Add(int64(pause))
			setAliases(t, last, page.ID, catalog.Alias{Path: "changed", File: "/"}, catalog.Alias{Path: "made", File: "/"})
			remove(last, "deleted")
			// The relay of the other process may have read the set before the last change. It reads it again afterwards.
			apitest.Eventually(t, "the last change after "+pause.String(), func() bool {
				set, err := records.AliasSets.Get(t.Context(), page.ID)
				return err == nil && set.Count == 2 && slices.Equal(table(t, c, page.ID), []string{"changed ", "made "})
			})
			remove(last, "changed")
			remove(last, "made")
		}
	}
}

// A slow process stores an alias after its deletion, and is killed. The process that has stored the deletion, together with
// new aliases, runs the repetition, which package document makes at least 1 s after the slow process has ended.
func TestTheFastProcessRepeatsADeletion(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	for _, more := range []int{0, catalog.MaxAliases} {
		page := addDashboard(t, c, fmt.Sprintf("page %d", more))
		follow := func() {
			t.Helper()
			set, err := records.AliasSets.Get(t.Context(), page.ID)
			if err := cmp.Or(err, c.AliasesWritten(t.Context(), page.ID, &set)); err != nil {
				t.Fatal(err)
			}
		}
		setAliases(t, c, page.ID, catalog.Alias{Path: "gone", File: "/"})
		late, err := records.Aliases.Find(t.Context(), find.Query{Where: []find.Condition{find.Eq(catalog.FieldDashboard, page.ID)}})
		if err != nil || len(late.Items) != 1 {
			t.Fatalf("%d aliases, %v", len(late.Items), err)
		}
		if _, err := deaf.DeleteAliases(t.Context(), ours, page.ID, []string{"gone"}); err != nil {
			t.Fatal(err)
		}
		setAliases(t, deaf, page.ID, files(0, more)...)
		follow()
		if err := records.Aliases.UpsertMany(t.Context(), late.Items); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ahead.Store(0) })
		ahead.Add(int64(time.Second))
		follow()
		if got := table(t, c, page.ID); len(got) != more || slices.Contains(got, "gone ") {
			t.Errorf("with %d more: %d aliases, first %q", more, len(got), got[:min(len(got), 1)])
		}
	}
}

// A slow process stores a former change of an alias again. Meanwhile the event is deleted to which the alias leads now.
func TestASlowProcessKeepsNoAliasOfADeletedEvent(t *testing.T) {
	folder := t.TempDir()
	var overtake func()
	fast, records := open(t, folder, false)
	slow, _ := open(t, folder, false, func(s *store.Store) { s.Aliases = slowAliases{s.Aliases, &overtake} })
	deaf, _ := open(t, folder, true)
	page := addDashboard(t, fast, "page")
	event := incident(t, fast, add(t, fast, "API").ID).ID
	get := func() *catalog.AliasSet { return aliasSet(t, records, page.ID) }
	setAliases(t, fast, page.ID, catalog.Alias{Path: "a", File: "/"})
	setAliases(t, deaf, page.ID, catalog.Alias{Path: "a", File: "/history"})
	overtake = func() { setAliases(t, fast, page.ID, catalog.Alias{Path: "a", EventID: event}) }
	if err := slow.AliasesWritten(t.Context(), page.ID, get()); err != nil {
		t.Fatal(err)
	}
	if err := fast.DeleteEvent(t.Context(), ours, event); err != nil {
		t.Fatal(err)
	}
	if got := table(t, fast, page.ID); !slices.Equal(got, []string{"a history"}) {
		t.Fatalf("the slow process has stored %q", got)
	}
	if err := slow.AliasesWritten(t.Context(), page.ID, get()); err != nil {
		t.Fatal(err)
	}
	if got, set := table(t, fast, page.ID), get(); len(got) > 0 || set.Count != 0 || !set.Pending[len(set.Pending)-1].Deleted {
		t.Errorf("the aliases are %q, counted %d, pending %+v", got, set.Count, set.Pending)
	}
	if got := setAliases(t, fast, page.ID, catalog.Alias{Path: "a", File: "/"}); got != "c" {
		t.Errorf("the path is not free: %s", got)
	}
}

// Nothing is lost if the process is killed after the write. An alias of an event that is deleted before the alias is
// stored does not remain.
func TestInterruptedAliases(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	page, component := addDashboard(t, c, "page"), add(t, c, "API")
	stays, goes := incident(t, c, component.ID), incident(t, c, component.ID)
	if got := setAliases(t, deaf, page.ID, catalog.Alias{Path: "a", EventID: stays.ID}, catalog.Alias{Path: "b", EventID: goes.ID}, catalog.Alias{Path: "c", ComponentID: component.ID}, catalog.Alias{Path: "d", EventID: page.ID}); got != "cccr" {
		t.Fatal(got)
	}
	if n, err := deaf.DeleteAliases(t.Context(), ours, page.ID, []string{"c", "never"}); err != nil || n != 1 {
		t.Fatal(err)
	}
	if got := table(t, c, page.ID); len(got) > 0 {
		t.Fatalf("the write is not interrupted: %v", got)
	}
	// The pending aliases count as set.
	if got := setAliases(t, deaf, page.ID, catalog.Alias{Path: "a", EventID: stays.ID}, catalog.Alias{Path: "c", File: "/"}); got != "uc" {
		t.Error(got)
	}
	if err := c.DeleteEvent(t.Context(), ours, goes.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left to do
		set, err := records.AliasSets.Get(t.Context(), page.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AliasesWritten(t.Context(), page.ID, &set); err != nil {
			t.Fatal(err)
		}
	}
	if got := table(t, c, page.ID); !slices.Equal(got, []string{"a events/" + stays.ID, "c "}) {
		t.Error(got)
	}
	if set, err := records.AliasSets.Get(t.Context(), page.ID); err != nil || set.Count != 2 || slices.ContainsFunc(set.Pending, func(change catalog.AliasChange) bool { return change.StoredAt.IsZero() }) {
		t.Errorf("%+v, %v", set, err)
	}
}
