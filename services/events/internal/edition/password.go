package edition

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Enter returns the page of a dashboard if the password is right. It returns Forbidden for a wrong password,
// fault.Throttled after too many wrong passwords, and NotFound for a page without a password.
func (e *Editions) Enter(ctx context.Context, at Address, ip, password string) (PublishedPage, error) {
	page, err := e.enabledPage(ctx, at)
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
	if wait := e.Tries.Try(ctx, ip, dashboard.ID); wait > 0 {
		return PublishedPage{}, fault.Throttled{Wait: wait}
	}
	var right bool
	if err := catalog.Hashing(ctx, func() { right = seal.CheckPassword(dashboard.Access.PasswordHash, password) }); err != nil {
		return PublishedPage{}, err
	}
	if !right {
		return PublishedPage{}, fault.New(fault.Forbidden, "The password is wrong.")
	}
	e.Tries.TryWasRight(ctx, ip, dashboard.ID)
	page.Access = e.accessOf(&dashboard) // the dashboard, whose password was compared, may be newer than the page
	return page, nil
}
