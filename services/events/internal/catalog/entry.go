package catalog

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Tries limits the passwords that a visitor may try.
type Tries interface {
	// Try counts a try by the IP address and returns 0, or the time until the next one is allowed.
	Try(ctx context.Context, ip, dashboard string) (wait time.Duration)
	// TryWasRight takes back the count of a try, because only wrong ones are limited.
	TryWasRight(ctx context.Context, ip, dashboard string)
}

// TooManyTries refuses a password before it is compared.
type TooManyTries struct{ Wait time.Duration }

func (TooManyTries) Error() string { return "Too many wrong passwords were tried. Try again later." }

// hashesAtOnce bounds the passwords that a process compares at the same time, because each needs 19 MiB.
const hashesAtOnce = 4

// EnterBySlug returns the page of a dashboard if the password is that of the page. It returns Forbidden for a wrong
// password, TooManyTries, and NotFound for a page without a password.
func (c *Catalog) EnterBySlug(ctx context.Context, slug, ip, password string) (Page, error) {
	return c.enter(ctx, find.Eq(FieldSlug, slug), ip, password)
}

// EnterByHost is EnterBySlug by a custom domain of the dashboard.
func (c *Catalog) EnterByHost(ctx context.Context, host, ip, password string) (Page, error) {
	return c.enter(ctx, find.Has(FieldHosts, host), ip, password)
}

func (c *Catalog) enter(ctx context.Context, which find.Condition, ip, password string) (Page, error) {
	page, err := c.enabledPage(ctx, which)
	if err != nil {
		return Page{}, err
	}
	dashboard, err := c.store.Dashboards.Get(ctx, page.DashboardID)
	if err != nil {
		return Page{}, err
	}
	if dashboard.Access.Mode != AccessPassword {
		return Page{}, noFile()
	}
	tries := c.publication.Tries
	if wait := tries.Try(ctx, ip, dashboard.ID); wait > 0 {
		return Page{}, TooManyTries{wait}
	}
	select {
	case c.hashing <- struct{}{}:
	case <-ctx.Done():
		return Page{}, context.Cause(ctx)
	}
	right := seal.CheckPassword(dashboard.Access.PasswordHash, password)
	<-c.hashing
	if !right {
		return Page{}, fault.New(fault.Forbidden, "The password is wrong.")
	}
	tries.TryWasRight(ctx, ip, dashboard.ID)
	page.Entry = c.entrance(&dashboard) // of the password that was compared, which may be newer than the page
	return page, nil
}
