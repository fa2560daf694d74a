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
			{Name: catalog.FieldOrganization, Value: func(d *record) any { return d.OrganizationID }},
			{Name: catalog.FieldLegacyID, Value: func(d *record) any { return d.LegacyID }},
			{Name: catalog.FieldSlug, Value: func(d *record) any { return d.Slug }},
			{Name: catalog.FieldComponents, Value: func(d *record) any { return d.ComponentIDs() }},
		},
		Indexes: []document.Index{
			{Name: catalog.IndexOrganization, Fields: []string{catalog.FieldOrganization}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true},
			{Name: catalog.IndexPlaced, Fields: []string{catalog.FieldOrganization, catalog.FieldComponents}},
			{Name: catalog.IndexSlug, Fields: []string{catalog.FieldSlug}, Unique: true},
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
			// Without an organization no query finds a component that is leaving.
			{Name: catalog.FieldOrganization, Value: func(c *record) any {
				if c.Leaving {
					return nil
				}
				return c.OrganizationID
			}},
			{Name: catalog.FieldLegacyID, Value: func(c *record) any { return c.LegacyID }},
			{Name: catalog.FieldName, Value: func(c *record) any { return c.Name }},
			{Name: catalog.FieldDescription, Value: func(c *record) any { return c.Description }},
			{Name: catalog.FieldGroup, Value: func(c *record) any { return c.Group }},
			{Name: catalog.FieldHidden, Value: func(c *record) any { return c.Hidden }},
			{Name: catalog.FieldHiddenFromNotifications, Value: func(c *record) any { return c.HiddenFromNotifications }},
		},
		Indexes: []document.Index{
			{Name: catalog.IndexOrganization, Fields: []string{catalog.FieldOrganization}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true},
			{Name: catalog.IndexGroup, Fields: []string{catalog.FieldOrganization, catalog.FieldGroup, catalog.FieldLegacyID}},
			{Name: catalog.IndexName, Fields: []string{catalog.FieldOrganization, catalog.FieldName, catalog.FieldLegacyID}},
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
			{Name: catalog.FieldOrganization, Value: func(e *record) any { return e.OrganizationID }},
			{Name: catalog.FieldID, Value: func(e *record) any { return e.ID }},
			{Name: catalog.FieldComponents, Value: func(e *record) any { return e.ComponentIDs() }},
			{Name: catalog.FieldLinks, Value: func(e *record) any { return e.LinkIDs() }},
			{Name: catalog.FieldUpdated, Value: func(e *record) any { return some(len(e.Timeline) > 0) }},
			{Name: catalog.FieldOpen, Value: func(e *record) any { return some(e.Open()) }},
			{Name: catalog.FieldDueAt, Value: func(e *record) any { return e.DueAt() }},
			{Name: catalog.FieldReported, Value: func(e *record) any { return e.ReportKeys() }},
		}, facts("", func(e *record) catalog.EventFacts { return e.Facts() })...),
		Indexes: []document.Index{
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true, Counted: true},
			{Name: catalog.IndexType, Fields: []string{catalog.FieldOrganization, catalog.FieldType, catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexTypeStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldType, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexComponent, Fields: []string{catalog.FieldOrganization, catalog.FieldComponents, catalog.FieldLegacyID}},
			{Name: catalog.IndexLink, Fields: []string{catalog.FieldOrganization, catalog.FieldLinks, catalog.FieldLegacyID}},
			{Name: catalog.IndexID, Fields: []string{catalog.FieldOrganization, catalog.FieldID}},
			{Name: catalog.IndexOpen, Fields: []string{catalog.FieldOrganization, catalog.FieldOpen}},
			{Name: catalog.IndexDue, Fields: []string{catalog.FieldDueAt}},
			{Name: catalog.IndexReported, Fields: []string{catalog.FieldOrganization, catalog.FieldReported}},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return follower().EventWritten(ctx, key, current)
		},
	}
}

func links() document.Schema[catalog.LinkRow] {
	type record = catalog.LinkRow
	return document.Schema[record]{
		Name: "links",
		Key:  func(l *record) string { return l.EventID + "/" + l.ComponentID },
		Fields: append([]document.Field[record]{
			{Name: catalog.FieldOrganization, Value: func(l *record) any { return l.OrganizationID }},
			{Name: catalog.FieldLegacyID, Value: func(l *record) any { return l.LegacyID }},
			{Name: catalog.FieldEvent, Value: func(l *record) any { return l.EventID }},
			{Name: catalog.FieldComponent, Value: func(l *record) any { return l.ComponentID }},
		}, facts(catalog.FieldEvent, func(l *record) catalog.EventFacts { return l.Event })...),
		Indexes: []document.Index{
			{Name: catalog.IndexEvent, Fields: []string{catalog.FieldEvent, catalog.FieldLegacyID}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true, Counted: true},
			{Name: catalog.IndexComponent, Fields: []string{catalog.FieldOrganization, catalog.FieldComponent, catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexEventLegacyID, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldLegacyID), catalog.FieldLegacyID}},
			{Name: catalog.IndexType, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldType), catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexTypeStatus, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldType), ofEvent(catalog.FieldStatus), catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldStatus), catalog.FieldLegacyID}, Counted: true},
		},
	}
}

func updates() document.Schema[catalog.UpdateRow] {
	type record = catalog.UpdateRow
	return document.Schema[record]{
		Name: "updates",
		Key:  func(u *record) string { return u.StatusID },
		Fields: append([]document.Field[record]{
			{Name: catalog.FieldOrganization, Value: func(u *record) any { return u.OrganizationID }},
			{Name: catalog.FieldLegacyID, Value: func(u *record) any { return u.LegacyID }},
			{Name: catalog.FieldEvent, Value: func(u *record) any { return u.EventID }},
			{Name: catalog.FieldStatus, Value: func(u *record) any { return u.Status }},
			{Name: catalog.FieldText, Value: func(u *record) any { return u.Text }},
			{Name: catalog.FieldMarkdown, Value: func(u *record) any { return u.Markdown }},
			{Name: catalog.FieldDate, Value: func(u *record) any { return u.Date }},
			{Name: catalog.FieldAuthor, Value: func(u *record) any { return some(u.Author) }},
		}, facts(catalog.FieldEvent, func(u *record) catalog.EventFacts { return u.Event })...),
		Indexes: []document.Index{
			{Name: catalog.IndexEvent, Fields: []string{catalog.FieldEvent, catalog.FieldLegacyID}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true, Counted: true},
			{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexEventLegacyID, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldLegacyID), catalog.FieldLegacyID}},
			{Name: catalog.IndexType, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldType), catalog.FieldLegacyID}, Counted: true},
			{Name: catalog.IndexTypeStatus, Fields: []string{catalog.FieldOrganization, ofEvent(catalog.FieldType), ofEvent(catalog.FieldStatus), catalog.FieldLegacyID}, Counted: true},
		},
	}
}

func pages() document.Schema[catalog.Page] {
	type record = catalog.Page
	return document.Schema[record]{
		Name: "pages",
		Key:  func(p *record) string { return p.DashboardID },
		Fields: []document.Field[record]{
			{Name: catalog.FieldSlug, Value: func(p *record) any { return p.Slug }},
			{Name: catalog.FieldHosts, Value: func(p *record) any { return p.Hosts }},
		},
		Indexes: []document.Index{
			{Name: catalog.IndexSlug, Fields: []string{catalog.FieldSlug}},
			{Name: catalog.IndexHost, Fields: []string{catalog.FieldHosts}},
		},
	}
}

// ofEvent returns the name of a field of the event in rows of its children.
func ofEvent(field string) string { return catalog.FactField(catalog.FieldEvent, field) }

// facts returns the fields of an event by which lists are filtered and ordered: of the event itself (empty
// prefix), or of the copy in a row of one of its children.
func facts[T any](prefix string, of func(*T) catalog.EventFacts) []document.Field[T] {
	field := func(name string, value func(catalog.EventFacts) any) document.Field[T] {
		return document.Field[T]{Name: catalog.FactField(prefix, name), Value: func(item *T) any { return value(of(item)) }}
	}
	return []document.Field[T]{
		field(catalog.FieldLegacyID, func(f catalog.EventFacts) any { return f.LegacyID }),
		field(catalog.FieldType, func(f catalog.EventFacts) any { return f.Type }),
		field(catalog.FieldStatus, func(f catalog.EventFacts) any { return f.Status }),
		field(catalog.FieldSeverity, func(f catalog.EventFacts) any { return some(f.Severity) }),
		field(catalog.FieldDescription, func(f catalog.EventFacts) any { return f.Description }),
		field(catalog.FieldDescriptionMarkdown, func(f catalog.EventFacts) any { return f.DescriptionMarkdown }),
		field(catalog.FieldImpact, func(f catalog.EventFacts) any { return f.Impact }),
		field(catalog.FieldImpactMarkdown, func(f catalog.EventFacts) any { return f.ImpactMarkdown }),
		field(catalog.FieldCoordinator, func(f catalog.EventFacts) any { return f.Coordinator }),
		field(catalog.FieldCoordinatorMarkdown, func(f catalog.EventFacts) any { return f.CoordinatorMarkdown }),
		field(catalog.FieldStart, func(f catalog.EventFacts) any { return f.Start }),
		field(catalog.FieldEnd, func(f catalog.EventFacts) any { return f.End }),
		field(catalog.FieldAuto, func(f catalog.EventFacts) any { return f.Auto }),
		field(catalog.FieldHiddenFromDashboard, func(f catalog.EventFacts) any { return f.HiddenFromDashboard }),
		field(catalog.FieldHiddenFromUptimeReports, func(f catalog.EventFacts) any { return f.HiddenFromUptimeReports }),
		field(catalog.FieldAuthor, func(f catalog.EventFacts) any { return some(f.Author) }),
	}
}

// some returns the value, or nil for the zero value.
func some[V comparable](value V) any {
	var zero V
	if value == zero {
		return nil
	}
	return value
}
