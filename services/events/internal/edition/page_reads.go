package edition

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// PublicBySlug returns the page of an enabled dashboard with its current edition, or NotFound. It returns private
// dashboards too: the gateway decides who asks.
func (e *Editions) PublicBySlug(ctx context.Context, slug string) (PublishedPage, error) {
	return e.public(ctx, find.Eq(catalog.FieldSlug, slug))
}

// PublicByHost is PublicBySlug by a custom domain of the dashboard.
func (e *Editions) PublicByHost(ctx context.Context, host string) (PublishedPage, error) {
	return e.public(ctx, find.Has(catalog.FieldHosts, host))
}

// PublicDashboard returns the dashboard with the slug, or with the host if slug is empty, under the conditions of
// PublicBySlug.
func (e *Editions) PublicDashboard(ctx context.Context, slug, host string) (catalog.Dashboard, error) {
	which := find.Eq(catalog.FieldSlug, slug)
	if slug == "" {
		which = find.Has(catalog.FieldHosts, host)
	}
	page, err := e.public(ctx, which)
	if err != nil {
		return catalog.Dashboard{}, err
	}
	dashboard, err := e.records.Dashboards.Get(ctx, page.DashboardID)
	if fault.Is(err, fault.NotFound) {
		err = catalog.NoDashboard()
	}
	return dashboard, err
}

func (e *Editions) public(ctx context.Context, which find.Condition) (PublishedPage, error) {
	page, err := e.enabledPage(ctx, which)
	return e.current(ctx, page, err)
}

// OnlyDashboard returns the slug of the enabled dashboard if the installation has exactly one, else NotFound.
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
func (e *Editions) enabledPage(ctx context.Context, which find.Condition) (PublishedPage, error) {
	query := find.Query{Where: []find.Condition{which}, Limit: 1}
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
		// A page that was written meanwhile has another mark.
		if marks, err = e.store.Pages.Keys(ctx, query, FieldMark); err == nil && len(marks) == 1 && marks[0].Key == id && marks[0].Values[0] == mark {
			e.pages.Add(id, markedPage{page, mark})
		}
	}
	if !page.Enabled {
		return PublishedPage{}, catalog.NoDashboard()
	}
	return page, nil
}
