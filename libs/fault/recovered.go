package fault

import (
	"fmt"
	"runtime/debug"
)

// Recovered calls function and returns its error. A panic is returned as an error with its stack. A goroutine that works
// for a request calls it, because its panic would end the process.
func Recovered(function func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return function()
}
