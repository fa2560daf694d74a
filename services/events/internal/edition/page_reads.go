package edition

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Address is where visitors find a dashboard: below /d/{slug}, or on a custom domain.
type Address struct {
	Slug string
	Host string // in lower case; used only if Slug is empty
}

func (a Address) condition() find.Condition {
	if a.Slug == "" {
		return find.Has(catalog.FieldHosts, a.Host)
	}
	return find.Eq(catalog.FieldSlug, a.Slug)
}

// Public returns the page of an enabled dashboard with its current edition, or NotFound. It also returns private pages:
// the gateway decides who may see them.
func (e *Editions) Public(ctx context.Context, at Address) (PublishedPage, error) {
	page, err := e.enabledPage(ctx, at)
	return e.current(ctx, page, err)
}

// PublicDashboard returns the dashboard of the page that Public returns.
func (e *Editions) PublicDashboard(ctx context.Context, at Address) (catalog.Dashboard, error) {
	page, err := e.Public(ctx, at)
	if err != nil {
		return catalog.Dashboard{}, err
	}
	dashboard, err := e.records.Dashboards.Get(ctx, page.DashboardID)
	if fault.Is(err, fault.NotFound) {
		err = catalog.NoDashboard()
	}
	return dashboard, err
}

// OnlyDashboard returns the slug of the only enabled dashboard of the installation. It returns NotFound if no dashboard
// or more than one is enabled.
func (e *Editions) OnlyDashboard(ctx context.Context) (slug string, err error) {
	rows, err := e.store.Pages.Keys(ctx, find.Query{Where: []find.Condition{find.Eq(FieldEnabled, true)}, Limit: 2}, catalog.FieldSlug)
	if err == nil && len(rows) != 1 {
		err = catalog.NoDashboard()
	}
	if err != nil {
		return "", err
	}
	slug, _ = rows[0].Values[0].(string)
	return slug, nil
}

// enabledPage returns the page of an enabled dashboard, or NotFound.
func (e *Editions) enabledPage(ctx context.Context, at Address) (PublishedPage, error) {
	query := find.Query{Where: []find.Condition{at.condition()}, Limit: 1}
	marks, err := e.store.Pages.Keys(ctx, query, FieldMark)
	if err != nil {
		return PublishedPage{}, err
	}
	if len(marks) == 0 {
		return PublishedPage{}, catalog.NoDashboard()
	}
	id, mark := marks[0].Key, marks[0].Values[0]
	known, there := e.pages.Get(id)
	page := known.PublishedPage
	if !there || known.mark != mark {
		if page, err = e.store.Pages.Get(ctx, id); fault.Is(err, fault.NotFound) {
			return PublishedPage{}, catalog.NoDashboard()
		}
		if err != nil {
			return PublishedPage{}, err
		}
		// If the page was written meanwhile, the mark has changed, and the page is not cached.
		if marks, err = e.store.Pages.Keys(ctx, query, FieldMark); err == nil && len(marks) == 1 && marks[0].Key == id && marks[0].Values[0] == mark {
			e.pages.Add(id, markedPage{page, mark})
		}
	}
	if !page.Enabled {
		return PublishedPage{}, catalog.NoDashboard()
	}
	return page, nil
}
