package document

import (
	"database/sql/driver"
	"strings"
	"sync"
	"unicode"

	"modernc.org/sqlite"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// textFunction is the SQL function that compares texts. LIKE of SQLite folds ASCII only.
const textFunction = "bellbuoy_text"

// registerText registers textFunction once, because the driver keeps functions for the whole process and refuses a
// second of the same name. The arguments are views into SQLite's memory, because the driver cuts copies of texts at a
// NUL. The function does not keep them after the call.
var registerText = sync.OnceValue(func() error {
	return sqlite.RegisterFunction(textFunction, &sqlite.FunctionImpl{NArgs: 4, Deterministic: true, VolatileArgs: true, Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, ok := args[0].(string)
		if !ok { // an absent value does not match
			return int64(0), nil
		}
		match, _ := args[1].(string)
		part, _ := args[2].(string)
		folded, _ := args[3].(int64)
		return scalar(matches(text, find.Match(match), part, folded == 1)), nil
	}})
})

func matches(text string, match find.Match, part string, folded bool) bool {
	if folded {
		text, part = fold(text), fold(part)
	}
	if compare, ok := comparers[match]; ok {
		return compare(text, part)
	}
	return text == part
}

var comparers = map[find.Match]func(text, part string) bool{
	find.Prefix: strings.HasPrefix, find.Suffix: strings.HasSuffix, find.Substring: strings.Contains,
}

// fold replaces each letter by one representative of the letters that are equal under Unicode simple folding, as
// MongoDB does in case-insensitive expressions.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			if r != 'k' && r != 's' {
				return r
			}
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			return least + 'a' - 'A'
		}
		return least
	}, text)
}
