package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// If a start fails, it prints its error. An operator needs the cause, and not the sentence that clients get instead.
func TestAnUnexpectedErrorShowsOnlyItsCause(t *testing.T) {
	cause := fmt.Errorf("migrate events: %w", errors.New("not enough space"))
	for want, err := range map[string]error{
		"migrate events: not enough space":                                fault.As(cause),
		"The broker cannot be reached.: migrate events: not enough space": fault.Wrap(fault.Unavailable, cause, "The broker cannot be reached."),
		"name: It is too long.":                                           fault.Field("name", "It is too long."),
	} {
		if got := err.Error(); got != want {
			t.Errorf("the error reads %q, not %q", got, want)
		}
	}
	if message := fault.As(cause).Message; message != "Something went wrong on our side." {
		t.Errorf("a client gets %q", message)
	}
}
