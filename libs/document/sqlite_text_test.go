package document_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A NUL is an ordinary character, in stored texts and in conditions.
func TestFindTextWithNUL(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		seed(t, c,
			named(vessel("a", 1), "nul"), named(vessel("a", 2), "nul\x00zzz"), named(vessel("a", 3), "NUL\x00"),
			named(vessel("a", 4), "zzz"), named(vessel("a", 5), ""))
		for _, test := range []struct {
			name, part string
			match      find.Match
			fold       bool
			want       string
		}{
			{"substring", "\x00", find.Substring, false, "0002 0003"},
			{"substring behind one", "zz", find.Substring, false, "0002 0004"},
			{"substring folded", "L\x00", find.Substring, true, "0002 0003"},
			{"substring that is nowhere", "zzz\x00", find.Substring, false, ""},
			{"prefix", "nul\x00zz", find.Prefix, false, "0002"},
			{"prefix folded", "nul\x00", find.Prefix, true, "0002 0003"},
			{"suffix", "zzz", find.Suffix, false, "0002 0004"},
			{"suffix with one", "\x00", find.Suffix, false, "0003"},
			{"whole", "nul\x00zzz", find.Whole, false, "0002"},
			{"whole folded", "nul\x00", find.Whole, true, "0003"},
			{"whole folded without one", "nul", find.Whole, true, "0001"},
			{"nothing is in all", "", find.Substring, false, "0001 0002 0003 0004 0005"},
			{"nothing is the whole of one", "", find.Whole, true, "0005"},
		} {
			t.Run(test.name, func(t *testing.T) {
				query := find.Query{Where: eq(find.Text("name", test.match, test.part, test.fold)), Scan: "owner_built"}
				page, err := c.Find(t.Context(), query)
				if err != nil {
					t.Fatal(err)
				}
				if got := sorted(names(page.Items)); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	})
}
