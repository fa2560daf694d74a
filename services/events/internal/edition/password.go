package edition

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// TooManyTries refuses a password before it is compared.
type TooManyTries struct{ Wait time.Duration }

func (TooManyTries) Error() string { return "Too many wrong passwords were tried. Try again later." }

// EnterBySlug returns the page of a dashboard if the password is that of the page. It returns Forbidden for a wrong
// password, TooManyTries, and NotFound for a page without a password.
func (e *Editions) EnterBySlug(ctx context.Context, slug, ip, password string) (PublishedPage, error) {
	return e.enter(ctx, find.Eq(catalog.FieldSlug, slug), ip, password)
}

// EnterByHost is EnterBySlug by a custom domain of the dashboard.
func (e *Editions) EnterByHost(ctx context.Context, host, ip, password string) (PublishedPage, error) {
	return e.enter(ctx, find.Has(catalog.FieldHosts, host), ip, password)
}

func (e *Editions) enter(ctx context.Context, which find.Condition, ip, password string) (PublishedPage, error) {
	page, err := e.enabledPage(ctx, which)
	if err != nil {
		return PublishedPage{}, err
	}
	dashboard, err := e.records.Dashboards.Get(ctx, page.DashboardID)
	if err != nil {
		return PublishedPage{}, err
	}
	if dashboard.Access.Mode != catalog.AccessPassword {
		return PublishedPage{}, noFile()
	}
	tries := e.Tries
	if wait := tries.Try(ctx, ip, dashboard.ID); wait > 0 {
		return PublishedPage{}, TooManyTries{wait}
	}
	select {
	case e.hashing <- struct{}{}:
	case <-ctx.Done():
		return PublishedPage{}, context.Cause(ctx)
	}
	right := seal.CheckPassword(dashboard.Access.PasswordHash, password)
	<-e.hashing
	if !right {
		return PublishedPage{}, fault.New(fault.Forbidden, "The password is wrong.")
	}
	tries.TryWasRight(ctx, ip, dashboard.ID)
	page.Access = e.accessOf(&dashboard) // access by the password that was compared, which may be newer than the page
	return page, nil
}
