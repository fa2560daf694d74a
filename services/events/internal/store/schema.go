package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func dashboards(follower func() Follower) document.Schema[catalog.Dashboard] {
	type record = catalog.Dashboard
	return document.Schema[record]{
		Name: "dashboards",
		Key:  func(d *record) string { return d.ID },
		Fields: []document.Field[record]{
			{Name: "organization", Value: func(d *record) any { return d.OrganizationID }},
			{Name: "legacyId", Value: func(d *record) any { return d.LegacyID }},
			{Name: "slug", Value: func(d *record) any { return d.Slug }},
			{Name: "components", Value: func(d *record) any { return d.ComponentIDs() }},
		},
		Indexes: []document.Index{
			{Name: "org", Fields: []string{"organization"}},
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true},
			{Name: "org_component", Fields: []string{"organization", "components"}},
			{Name: "slug", Fields: []string{"slug"}, Unique: true},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return follower().DashboardWritten(ctx, key, current)
		},
	}
}

func components(follower func() Follower) document.Schema[catalog.Component] {
	type record = catalog.Component
	return document.Schema[record]{
		Name: "components",
		Key:  func(c *record) string { return c.ID },
		Fields: []document.Field[record]{
			// A component that is leaving is nobody's: no list and no lookup finds it.
			{Name: "organization", Value: func(c *record) any {
				if c.Leaving {
					return nil
				}
				return c.OrganizationID
			}},
			{Name: "legacyId", Value: func(c *record) any { return c.LegacyID }},
			{Name: "name", Value: func(c *record) any { return c.Name }},
			{Name: "description", Value: func(c *record) any { return c.Description }},
			{Name: "group", Value: func(c *record) any { return c.Group }},
			{Name: "hidden", Value: func(c *record) any { return c.Hidden }},
			{Name: "hiddenFromNotifications", Value: func(c *record) any { return c.HiddenFromNotifications }},
		},
		Indexes: []document.Index{
			{Name: "org", Fields: []string{"organization"}},
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true},
			{Name: "org_group_legacy", Fields: []string{"organization", "group", "legacyId"}},
			{Name: "org_name_legacy", Fields: []string{"organization", "name", "legacyId"}},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return follower().ComponentWritten(ctx, key, current)
		},
	}
}

func events(follower func() Follower) document.Schema[catalog.Event] {
	type record = catalog.Event
	return document.Schema[record]{
		Name: "events",
		Key:  func(e *record) string { return e.ID },
		Fields: append([]document.Field[record]{
			{Name: "organization", Value: func(e *record) any { return e.OrganizationID }},
			{Name: "id", Value: func(e *record) any { return e.ID }},
			{Name: "components", Value: func(e *record) any { return e.ComponentIDs() }},
			{Name: "links", Value: func(e *record) any { return e.LinkIDs() }},
			{Name: "updated", Value: func(e *record) any { return some(len(e.Timeline) > 0) }},
			{Name: "open", Value: func(e *record) any {
				if !e.Open() {
					return nil
				}
				return true
			}},
			{Name: "dueAt", Value: func(e *record) any { return e.DueAt() }},
			{Name: "reported", Value: func(e *record) any { return e.ReportKeys() }},
		}, facts("", func(e *record) catalog.EventFacts { return e.Facts() })...),
		Indexes: []document.Index{
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true, Counted: true},
			{Name: "org_type_legacy", Fields: []string{"organization", "type", "legacyId"}, Counted: true},
			{Name: "org_status_legacy", Fields: []string{"organization", "status", "legacyId"}, Counted: true},
			{Name: "org_type_status_legacy", Fields: []string{"organization", "type", "status", "legacyId"}, Counted: true},
			{Name: "org_component_legacy", Fields: []string{"organization", "components", "legacyId"}},
			{Name: "org_link_legacy", Fields: []string{"organization", "links", "legacyId"}},
			{Name: "org_id", Fields: []string{"organization", "id"}},
			{Name: "org_open", Fields: []string{"organization", "open"}},
			{Name: "due", Fields: []string{"dueAt"}},
			{Name: "org_reported", Fields: []string{"organization", "reported"}},
		},
		Derive: func(ctx context.Context, key string, _ *record) error {
			return follower().EventWritten(ctx, key)
		},
	}
}

func links() document.Schema[catalog.LinkRow] {
	type record = catalog.LinkRow
	return document.Schema[record]{
		Name: "links",
		Key:  func(l *record) string { return l.EventID + "/" + l.ComponentID },
		Fields: append([]document.Field[record]{
			{Name: "organization", Value: func(l *record) any { return l.OrganizationID }},
			{Name: "legacyId", Value: func(l *record) any { return l.LegacyID }},
			{Name: "event", Value: func(l *record) any { return l.EventID }},
			{Name: "component", Value: func(l *record) any { return l.ComponentID }},
		}, facts("event", func(l *record) catalog.EventFacts { return l.Event })...),
		Indexes: []document.Index{
			{Name: "event", Fields: []string{"event", "legacyId"}},
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true, Counted: true},
			{Name: "org_component_legacy", Fields: []string{"organization", "component", "legacyId"}, Counted: true},
			{Name: "org_event_legacy", Fields: []string{"organization", "eventLegacyId", "legacyId"}},
			{Name: "org_type_legacy", Fields: []string{"organization", "eventType", "legacyId"}, Counted: true},
			{Name: "org_type_status_legacy", Fields: []string{"organization", "eventType", "eventStatus", "legacyId"}, Counted: true},
			{Name: "org_status_legacy", Fields: []string{"organization", "eventStatus", "legacyId"}, Counted: true},
		},
	}
}

func updates() document.Schema[catalog.UpdateRow] {
	type record = catalog.UpdateRow
	return document.Schema[record]{
		Name: "updates",
		Key:  func(u *record) string { return u.StatusID },
		Fields: append([]document.Field[record]{
			{Name: "organization", Value: func(u *record) any { return u.OrganizationID }},
			{Name: "legacyId", Value: func(u *record) any { return u.LegacyID }},
			{Name: "event", Value: func(u *record) any { return u.EventID }},
			{Name: "status", Value: func(u *record) any { return u.Status }},
			{Name: "text", Value: func(u *record) any { return u.Text }},
			{Name: "markdown", Value: func(u *record) any { return u.Markdown }},
			{Name: "date", Value: func(u *record) any { return u.Date }},
			{Name: "author", Value: func(u *record) any { return some(u.Author) }},
		}, facts("event", func(u *record) catalog.EventFacts { return u.Event })...),
		Indexes: []document.Index{
			{Name: "event", Fields: []string{"event", "legacyId"}},
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true, Counted: true},
			{Name: "org_status_legacy", Fields: []string{"organization", "status", "legacyId"}, Counted: true},
			{Name: "org_event_legacy", Fields: []string{"organization", "eventLegacyId", "legacyId"}},
			{Name: "org_type_legacy", Fields: []string{"organization", "eventType", "legacyId"}, Counted: true},
			{Name: "org_type_status_legacy", Fields: []string{"organization", "eventType", "eventStatus", "legacyId"}, Counted: true},
		},
	}
}

func pages() document.Schema[catalog.Page] {
	type record = catalog.Page
	return document.Schema[record]{
		Name: "pages",
		Key:  func(p *record) string { return p.DashboardID },
		Fields: []document.Field[record]{
			{Name: "slug", Value: func(p *record) any { return p.Slug }},
			{Name: "hosts", Value: func(p *record) any { return p.Hosts }},
		},
		Indexes: []document.Index{
			{Name: "slug", Fields: []string{"slug"}},
			{Name: "host", Fields: []string{"hosts"}},
		},
	}
}

// facts are the fields of an event that lists are filtered and ordered by: of the event
// itself (no prefix), or copied into a row of one of its children.
func facts[T any](prefix string, of func(*T) catalog.EventFacts) []document.Field[T] {
	field := func(name string, value func(catalog.EventFacts) any) document.Field[T] {
		return document.Field[T]{Name: catalog.FactField(prefix, name), Value: func(item *T) any { return value(of(item)) }}
	}
	return []document.Field[T]{
		field("legacyId", func(f catalog.EventFacts) any { return f.LegacyID }),
		field("type", func(f catalog.EventFacts) any { return f.Type }),
		field("status", func(f catalog.EventFacts) any { return f.Status }),
		field("severity", func(f catalog.EventFacts) any { return some(f.Severity) }),
		field("description", func(f catalog.EventFacts) any { return f.Description }),
		field("descriptionMarkdown", func(f catalog.EventFacts) any { return f.DescriptionMarkdown }),
		field("impact", func(f catalog.EventFacts) any { return f.Impact }),
		field("impactMarkdown", func(f catalog.EventFacts) any { return f.ImpactMarkdown }),
		field("coordinator", func(f catalog.EventFacts) any { return f.Coordinator }),
		field("coordinatorMarkdown", func(f catalog.EventFacts) any { return f.CoordinatorMarkdown }),
		field("start", func(f catalog.EventFacts) any { return f.Start }),
		field("end", func(f catalog.EventFacts) any { return f.End }),
		field("auto", func(f catalog.EventFacts) any { return f.Auto }),
		field("hiddenFromDashboard", func(f catalog.EventFacts) any { return f.HiddenFromDashboard }),
		field("hiddenFromUptimeReports", func(f catalog.EventFacts) any { return f.HiddenFromUptimeReports }),
		field("author", func(f catalog.EventFacts) any { return some(f.Author) }),
	}
}

// some is the value, or nil for the zero one.
func some[V comparable](value V) any {
	var zero V
	if value == zero {
		return nil
	}
	return value
}
