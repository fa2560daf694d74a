package main

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
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
	group, stop := errgroup.WithContext(ctx)
	var stops []func()
	for _, part := range parts {
		partContext, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		group.Go(func() error {
			defer close(done)
			err := part.run(partContext)
			if err == nil && partContext.Err() == nil {
				return fmt.Errorf("%s stopped without a signal", part.name)
			}
			return err
		})
		stops = append(stops, func() { cancel(); <-done })
	}
	<-stop.Done()
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	return group.Wait()
}
