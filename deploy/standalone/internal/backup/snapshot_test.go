package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// boat is the record that the tests store.
type boat struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Name  string `json:"name"`
}

func boats() document.Schema[boat] {
	return document.Schema[boat]{
		Shard:   document.Whole("a test"),
		Name:    "boats",
		Key:     func(b *boat) string { return b.ID },
		Fields:  []document.Field[boat]{{Name: "owner", Value: func(b *boat) any { return b.Owner }}},
		Indexes: []document.Index{{Name: "owner", Fields: []string{"owner"}}},
	}
}

func vessel(owner string, n int) boat {
	return boat{ID: fmt.Sprintf("%s/%04d", owner, n), Owner: owner, Name: strings.Repeat("a boat ", 50)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// twoFleets opens two databases in the same folder.
func twoFleets(t *testing.T, folder string) (first, second *document.Collection[boat]) {
	t.Helper()
	var both []*document.Collection[boat]
	for _, name := range []string{"first", "second"} {
		db, err := document.Open("sqlite:"+folder, name, document.Options{})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		both = append(both, document.Declare(db, boats()))
		must(t, db.Migrate(t.Context()))
	}
	return both[0], both[1]
}

// Each writer stores a record in the first database and then one in the second. In a snapshot of one moment, the second
// database has as many records of the writer as the first, or one less.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	folder := t.TempDir()
	first, second := twoFleets(t, folder)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const writers = 8
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for writer := range writers {
		group.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				b := vessel(fmt.Sprint(writer), n)
				if err := errors.Join(first.Insert(t.Context(), b), second.Insert(t.Context(), b)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var longest time.Duration
	for range 20 {
		var writes int64
		began := time.Now()
		taken, err := takeSnapshot(t.Context(), folder, func() error {
			before, err := first.Count(t.Context(), find.Query{})
			<-time.After(5 * time.Millisecond) // a writer that was not stopped would write in this time
			after, counted := first.Count(t.Context(), find.Query{})
			writes += after - before
			return errors.Join(err, counted)
		})
		must(t, err)
		longest = max(longest, time.Since(began))
		if writes != 0 {
			t.Errorf("%d records were written while nobody could write", writes)
		}
		copies := t.TempDir()
		for _, name := range taken.names {
			must(t, taken.copy(t.Context(), name, filepath.Join(copies, name)))
		}
		must(t, taken.close())
		a, b := twoFleets(t, copies)
		for writer := range writers {
			mine := find.Query{Where: []find.Condition{find.Eq("owner", fmt.Sprint(writer))}}
			inFirst, err := a.Count(t.Context(), mine)
			must(t, err)
			inSecond, err := b.Count(t.Context(), mine)
			must(t, err)
			if inFirst-inSecond > 1 || inFirst < inSecond {
				t.Errorf("writer %d has %d records in the first database and %d in the second", writer, inFirst, inSecond)
			}
		}
	}
	t.Logf("the longest of 20 snapshots beside %d writers took %v", writers, longest)
}

func TestASnapshotNeedsADatabase(t *testing.T) {
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := takeSnapshot(t.Context(), folder, func() error { return nil }); err == nil {
			t.Errorf("a snapshot of %s was taken", folder)
		}
	}
}

func TestCheckFileFindsDamage(t *testing.T) {
	folder := t.TempDir()
	first, _ := twoFleets(t, folder)
	for n := range 200 {
		must(t, first.Insert(t.Context(), vessel("a", n)))
	}
	taken, err := takeSnapshot(t.Context(), folder, func() error { return nil })
	must(t, err)
	defer taken.close()
	path := filepath.Join(t.TempDir(), "copy.db")
	must(t, taken.copy(t.Context(), "first.db", path))
	whole, err := os.ReadFile(path)
	must(t, err)
	for what, content := range map[string][]byte{
		"cut":         whole[:len(whole)/2],
		"overwritten": append(append(append([]byte{}, whole[:8192]...), make([]byte, 4096)...), whole[12288:]...),
		"foreign":     []byte("a text that is no database, and is longer than the head of one"),
	} {
		must(t, os.WriteFile(path, content, 0o600))
		if err := checkFile(t.Context(), path); err == nil {
			t.Errorf("a file that is %s passes", what)
		}
	}
}
