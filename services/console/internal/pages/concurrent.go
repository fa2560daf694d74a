package pages

import (
	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// concurrent runs the reads of a page at the same time. A panic of a read becomes an error, which Wait returns, and does not
// end the process.
type concurrent struct{ errgroup.Group }

func (c *concurrent) Go(read func() error) {
	c.Group.Go(func() error { return fault.Recovered(read) })
}
