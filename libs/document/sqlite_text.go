package document

import (
	"database/sql/driver"
	"strings"
	"sync"
	"unicode"

	"modernc.org/sqlite"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// textFunction compares texts in SQL, for SQLite's own LIKE folds ASCII only.
const textFunction = "bellbuoy_text"

// registerText makes textFunction known to the driver, which keeps functions for the whole process and
// refuses a second of the same name; hence once. The arguments are views into SQLite's memory: the driver
// cuts copies of texts at a NUL, and nothing here keeps them beyond the call.
var registerText = sync.OnceValue(func() error {
	return sqlite.RegisterFunction(textFunction, &sqlite.FunctionImpl{NArgs: 4, Deterministic: true, VolatileArgs: true, Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, ok := args[0].(string)
		if !ok { // absent: matches nothing
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
	switch match {
	case find.Whole:
		return text == part
	case find.Prefix:
		return strings.HasPrefix(text, part)
	case find.Suffix:
		return strings.HasSuffix(text, part)
	default:
		return strings.Contains(text, part)
	}
}

// fold maps each letter to one representative of those Unicode's simple folding holds equal, as
// MongoDB's case-insensitive expressions do.
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
