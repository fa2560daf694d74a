package fault

import (
	"fmt"
	"runtime/debug"
)

// Recovered calls function and returns its error. It returns a panic of function as an error with the stack. A goroutine that
// works for a request calls Recovered, because a panic of the goroutine would end the process.
func Recovered(function func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return function()
}
