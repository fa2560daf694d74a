package main

import (
	"context"
	"fmt"
)

// part is a service or the gateway.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// runParts runs the parts until ctx ends or one of them returns. It then stops them one after
// the other in reverse order, so that each part stops before the parts that it calls, and
// running requests can finish.
func runParts(ctx context.Context, parts []part) error {
	type end struct {
		name string
		err  error
	}
	ended := make(chan end, len(parts))
	stops := make([]func(), len(parts))
	for i, part := range parts {
		partContext, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			ended <- end{part.name, part.run(partContext)}
		}()
		stops[i] = func() { cancel(); <-done }
	}
	var failure error
	select {
	case <-ctx.Done():
	case first := <-ended:
		if failure = first.err; failure == nil {
			failure = fmt.Errorf("%s stopped without a signal", first.name)
		}
	}
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	close(ended)
	for end := range ended {
		if failure == nil {
			failure = end.err
		}
	}
	return failure
}
