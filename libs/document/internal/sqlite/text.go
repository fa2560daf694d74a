package sqlite

import (
	"database/sql/driver"
	"sync"

	"modernc.org/sqlite"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// textFunction is the SQL function that compares texts. LIKE of SQLite folds ASCII only.
const textFunction = "bellbuoy_text"

// registerText registers textFunction once, because the driver registers functions for the whole process and returns an
// error for a second function of the same name. The function reads its arguments in SQLite's memory, because the driver
// cuts copies of texts at a NUL. It does not use that memory after it returns.
var registerText = sync.OnceValue(func() error {
	return sqlite.RegisterFunction(textFunction, &sqlite.FunctionImpl{NArgs: 4, Deterministic: true, VolatileArgs: true, Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, ok := args[0].(string)
		if !ok { // an absent value does not match
			return int64(0), nil
		}
		match, _ := args[1].(string)
		part, _ := args[2].(string)
		folded, _ := args[3].(int64)
		return plan.Scalar(find.Match(match).Matches(text, part, folded == 1)), nil
	}})
})
