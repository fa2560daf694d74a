// Package store declares the records of the catalog and of the editions on libs/document: the fields that queries may name,
// the indexes, and the functions that run after a write.
package store

import (
	"context"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// Follower has the functions that the store calls after a write of a record, to update the data that depend on the record.
type Follower interface {
	DashboardWritten(ctx context.Context, id string, current *catalog.Dashboard) error
	ComponentWritten(ctx context.Context, id string, current *catalog.Component) error
	EventWritten(ctx context.Context, id string, current *catalog.Event) error
	EventsWritten(ctx context.Context, current map[string]*catalog.Event) error
	RemovalsWritten(ctx context.Context, current *catalog.Removals) error
	AliasesWritten(ctx context.Context, dashboardID string, current *catalog.AliasSet) error
}

// Store has the declared collections.
type Store struct {
	catalog.Store
	edition.Records
	follower Follower
}

// Declare declares the collections in db. Store.Follow must be called before the first write.
func Declare(db *document.Database) *Store {
	s := &Store{}
	s.Store = catalog.Store{
		Dashboards:     document.Declare(db, s.dashboards()),
		Components:     document.Declare(db, s.components()),
		Events:         document.Declare(db, s.events()),
		Templates:      document.Declare(db, templates()),
		Removals:       document.Declare(db, s.removals()),
		AliasSets:      document.Declare(db, s.aliasSets()),
		Aliases:        document.Declare(db, aliases()),
		DeletedImports: document.Declare(db, deletedImports()),
		Links:          document.Declare(db, links()),
		Updates:        document.Declare(db, updates()),
		Next:           db.NextN,
	}
	s.Records = edition.Records{
		Pages: document.Declare(db, pages()),
		Parts: document.Declare(db, parts()),
		Files: document.Declare(db, files()),
	}
	return s
}

// Follow makes the store call the functions of follower after writes.
func (s *Store) Follow(follower Follower) { s.follower = follower }

func (s *Store) dashboards() document.Schema[catalog.Dashboard] {
	type record = catalog.Dashboard
	return document.Schema[record]{
		Name:  "dashboards",
		Key:   func(d *record) string { return d.ID },
		Shard: document.Whole("A slug and a host are unique on the installation."),
		Fields: append(members[record](catalog.FieldLegacyID, "name", catalog.FieldSlug, catalog.FieldVersion),
			document.Field[record]{Name: catalog.FieldOrganization, Value: func(d *record) any { return d.OrganizationID }},
			document.Field[record]{Name: catalog.FieldComponents, Value: func(d *record) any { return d.ComponentIDs() }},
			document.Field[record]{Name: catalog.FieldHosts, Value: func(d *record) any { return d.CustomDomains }},
			document.Field[record]{Name: catalog.FieldPublicID, Value: func(d *record) any { return textOrNil(d.PublicID) }},
			document.Field[record]{Name: catalog.FieldGroupIDs, Value: func(d *record) any { return d.GroupIDs() }},
			document.Field[record]{Name: catalog.FieldPlace, Value: func(d *record) any { return d.Place }},
			document.Field[record]{Name: catalog.FieldDueAt, Value: func(d *record) any { return d.ProofDueAt() }},
		),
		Indexes: []document.Index{
			{Name: catalog.IndexOrganization, Fields: []string{catalog.FieldOrganization}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true},
			{Name: catalog.IndexPublicID, Fields: []string{catalog.FieldOrganization, catalog.FieldPublicID}, Unique: true},
			{Name: catalog.IndexGroupIDs, Fields: []string{catalog.FieldOrganization, catalog.FieldGroupIDs}, Unique: true},
			{Name: catalog.IndexPlace, Fields: []string{catalog.FieldOrganization, catalog.FieldPlace}, Unique: true},
			{Name: catalog.IndexPlaced, Fields: []string{catalog.FieldOrganization, catalog.FieldComponents}},
			{Name: catalog.IndexSlug, Fields: []string{catalog.FieldSlug}, Unique: true},
			{Name: catalog.IndexHost, Fields: []string{catalog.FieldHosts}, Unique: true},
			{Name: catalog.IndexDue, Fields: []string{catalog.FieldDueAt}},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return s.follower.DashboardWritten(ctx, key, current)
		},
	}
}

func (s *Store) components() document.Schema[catalog.Component] {
	type record = catalog.Component
	return document.Schema[record]{
		Name:  "components",
		Key:   func(c *record) string { return c.ID },
		Shard: document.By(catalog.FieldOrganization),
		Fields: append(members[record](catalog.FieldLegacyID, "name", "description", "group", "hidden", "hiddenFromNotifications", catalog.FieldExternalRefs),
			// A component that is leaving has no organization here, so that no query finds it.
			document.Field[record]{Name: catalog.FieldOrganization, Value: func(c *record) any {
				if c.Leaving {
					return nil
				}
				return c.OrganizationID
			}},
			document.Field[record]{Name: catalog.FieldPublicID, Value: func(c *record) any { return textOrNil(c.PublicID) }},
			document.Field[record]{Name: catalog.FieldOverridden, Value: func(c *record) any { return present(c.Overridden()) }},
			document.Field[record]{Name: catalog.FieldDueAt, Value: func(c *record) any { return c.OverrideDueAt() }},
		),
		Indexes: []document.Index{
			{Name: catalog.IndexOrganization, Fields: []string{catalog.FieldOrganization}},
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true},
			{Name: catalog.IndexPublicID, Fields: []string{catalog.FieldOrganization, catalog.FieldPublicID}, Unique: true},
			{Name: catalog.IndexExternalRef, Fields: []string{catalog.FieldOrganization, catalog.FieldExternalRefs}, Unique: true},
			{Name: catalog.IndexGroup, Fields: []string{catalog.FieldOrganization, "group", catalog.FieldLegacyID}},
			{Name: catalog.IndexName, Fields: []string{catalog.FieldOrganization, "name", catalog.FieldLegacyID}},
			{Name: catalog.IndexOverridden, Fields: []string{catalog.FieldOrganization, catalog.FieldOverridden}},
			{Name: catalog.IndexDue, Fields: []string{catalog.FieldDueAt}, Scatter: "The scheduler asks for what is due in all organizations."},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return s.follower.ComponentWritten(ctx, key, current)
		},
	}
}

func (s *Store) events() document.Schema[catalog.Event] {
	type record = catalog.Event
	return document.Schema[record]{
		Name:  "events",
		Key:   func(e *record) string { return e.ID },
		Shard: document.By(catalog.FieldOrganization),
		Fields: append([]document.Field[record]{
			{Name: catalog.FieldOrganization, Value: func(e *record) any { return e.OrganizationID }},
			{Name: catalog.FieldComponents, Value: func(e *record) any { return e.ComponentIDs() }},
			{Name: catalog.FieldLinks, Value: func(e *record) any { return e.LinkIDs() }},
			{Name: catalog.FieldUpdated, Value: func(e *record) any { return present(len(e.Timeline) > 0) }},
			{Name: catalog.FieldOpen, Value: func(e *record) any { return present(e.Open()) }},
			{Name: catalog.FieldDueAt, Value: func(e *record) any { return e.DueAt() }},
			{Name: catalog.FieldListed, Revision: 2, Value: func(e *record) any { return e.ListKeys() }},
			{Name: catalog.FieldUntil, Value: func(e *record) any { return e.Until() }},
			{Name: catalog.FieldSearch, Value: func(e *record) any { return e.SearchText() }},
			{Name: catalog.FieldExternalID, Value: func(e *record) any { return e.OpenExternalID() }},
			{Name: catalog.FieldPublicID, Value: func(e *record) any { return textOrNil(e.PublicID) }},
			{Name: catalog.FieldCorrelation, Value: func(e *record) any { return textOrNil(e.ExternalID) }},
			{Name: catalog.FieldInbound, Value: func(e *record) any { return e.InboundIDs() }},
			{Name: catalog.FieldImportKey, Value: func(e *record) any { return textOrNil(e.ImportKey()) }},
			{Name: catalog.FieldImportRun, Value: func(e *record) any { return imported(e, func(m *catalog.ImportMark) any { return m.RunID }) }},
			{Name: catalog.FieldImportChanged, Value: func(e *record) any { return imported(e, func(m *catalog.ImportMark) any { return m.Changed }) }},
		}, slices.Concat(members[record](catalog.FieldID), facts("", (*record).Facts))...),
		Indexes: []document.Index{
			{Name: catalog.IndexLegacyID, Fields: []string{catalog.FieldOrganization, catalog.FieldLegacyID}, Unique: true, Counted: true, Numbered: true},
			{Name: catalog.IndexType, Fields: []string{catalog.FieldOrganization, catalog.FieldType, catalog.FieldLegacyID}, Counted: true, Numbered: true},
			{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true, Numbered: true},
			{Name: catalog.IndexTypeStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldType, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true, Numbered: true},
			{Name: catalog.IndexComponent, Fields: []string{catalog.FieldOrganization, catalog.FieldComponents, catalog.FieldLegacyID}},
			{Name: catalog.IndexLink, Fields: []string{catalog.FieldOrganization, catalog.FieldLinks, catalog.FieldLegacyID}},
			{Name: catalog.IndexID, Fields: []string{catalog.FieldOrganization, catalog.FieldID}},
			{Name: catalog.IndexOpen, Fields: []string{catalog.FieldOrganization, catalog.FieldOpen}},
			{Name: catalog.IndexDue, Fields: []string{catalog.FieldDueAt}, Scatter: "The scheduler asks for what is due in all organizations."},
			{Name: catalog.IndexStart, Fields: []string{catalog.FieldOrganization, catalog.FieldStart, catalog.FieldLegacyID}},
			{Name: catalog.IndexListed, Fields: []string{catalog.FieldOrganization, catalog.FieldListed, catalog.FieldStart}},
			{Name: catalog.IndexPublicID, Fields: []string{catalog.FieldOrganization, catalog.FieldPublicID}, Unique: true},
			{Name: catalog.IndexExternalID, Fields: []string{catalog.FieldOrganization, catalog.FieldExternalID}, Unique: true},
			{Name: catalog.IndexCorrelation, Fields: []string{catalog.FieldOrganization, catalog.FieldCorrelation, catalog.FieldUntil}},
			{Name: catalog.IndexInbound, Fields: []string{catalog.FieldOrganization, catalog.FieldInbound}, Unique: true},
			{Name: catalog.IndexImportKey, Fields: []string{catalog.FieldOrganization, catalog.FieldImportKey}, Unique: true},
			{Name: catalog.IndexImportRun, Fields: []string{catalog.FieldOrganization, catalog.FieldImportRun, catalog.FieldImportChanged}},
		},
		Derive: func(ctx context.Context, key string, current *record) error {
			return s.follower.EventWritten(ctx, key, current)
		},
		DeriveMany: func(ctx context.Context, current map[string]*record) error {
			return s.follower.EventsWritten(ctx, current)
		},
	}
}

// imported returns the result of value for the ImportMark of an event, or nil for an event that was not imported.
func imported(e *catalog.Event, value func(*catalog.ImportMark) any) any {
	if e.Import == nil {
		return nil
	}
	return value(e.Import)
}

func deletedImports() document.Schema[catalog.DeletedImport] {
	return document.Schema[catalog.DeletedImport]{
		Name:    "deleted_imports",
		Key:     (*catalog.DeletedImport).ID,
		Shard:   document.ByKey(),
		Fields:  []document.Field[catalog.DeletedImport]{{Name: catalog.FieldID, Value: func(d *catalog.DeletedImport) any { return d.ID() }}},
		Indexes: []document.Index{{Name: catalog.IndexID, Fields: []string{catalog.FieldID}, Scatter: "An import that runs again deletes up to 500 marks."}},
	}
}

func templates() document.Schema[catalog.Template] {
	type record = catalog.Template
	return document.Schema[record]{
		Name:  "templates",
		Key:   func(t *record) string { return t.ID },
		Shard: document.By(catalog.FieldOrganization),
		Fields: append(members[record](catalog.FieldPlace, catalog.FieldKind),
			document.Field[record]{Name: catalog.FieldOrganization, Value: func(t *record) any { return t.OrganizationID }},
			document.Field[record]{Name: catalog.FieldComponents, Value: func(t *record) any { return t.ComponentIDs }},
		),
		Indexes: []document.Index{
			{Name: catalog.IndexOrganization, Fields: []string{catalog.FieldOrganization}},
			{Name: catalog.IndexPlace, Fields: []string{catalog.FieldOrganization, catalog.FieldPlace}, Unique: true},
			{Name: catalog.IndexKind, Fields: []string{catalog.FieldOrganization, catalog.FieldKind}},
			{Name: catalog.IndexPlaced, Fields: []string{catalog.FieldOrganization, catalog.FieldComponents}},
		},
	}
}

func links() document.Schema[catalog.LinkRow] {
	type record = catalog.LinkRow
	return document.Schema[record]{
		Name:  "links",
		Key:   func(l *record) string { return l.EventID + "/" + l.ComponentID },
		Shard: document.By(catalog.FieldOrganization),
		Fields: slices.Concat([]document.Field[record]{
			// The row of an event without components has no organization here, so that no list shows it.
			{Name: catalog.FieldOrganization, Revision: 1, Value: func(l *record) any {
				if l.ComponentID == "" {
					return nil
				}
				return l.OrganizationID
			}},
			{Name: catalog.FieldEvent, Value: func(l *record) any { return l.EventID }},
			{Name: catalog.FieldComponent, Value: func(l *record) any { return l.ComponentID }},
		},
			members[record](catalog.FieldLegacyID),
			facts(catalog.FieldEvent, func(l *record) catalog.EventFacts { return l.Event }),
		),
		Indexes: append(childIndexes(),
			document.Index{Name: catalog.IndexComponent, Fields: []string{catalog.FieldOrganization, catalog.FieldComponent, catalog.FieldLegacyID}, Counted: true, Numbered: true},
			document.Index{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, catalog.OfEvent(catalog.FieldStatus), catalog.FieldLegacyID}, Counted: true, Numbered: true},
		),
	}
}

func updates() document.Schema[catalog.UpdateRow] {
	type record = catalog.UpdateRow
	return document.Schema[record]{
		Name:  "updates",
		Key:   func(u *record) string { return u.StatusID },
		Shard: document.By(catalog.FieldOrganization),
		Fields: slices.Concat([]document.Field[record]{
			{Name: catalog.FieldOrganization, Value: func(u *record) any { return u.OrganizationID }},
			{Name: catalog.FieldEvent, Value: func(u *record) any { return u.EventID }},
		},
			members[record](catalog.FieldLegacyID, catalog.FieldStatus, "text", "markdown", "date", catalog.FieldAuthor),
			facts(catalog.FieldEvent, func(u *record) catalog.EventFacts { return u.Event }),
		),
		Indexes: append(childIndexes(),
			document.Index{Name: catalog.IndexStatus, Fields: []string{catalog.FieldOrganization, catalog.FieldStatus, catalog.FieldLegacyID}, Counted: true, Numbered: true},
		),
	}
}

func (s *Store) removals() document.Schema[catalog.Removals] {
	return document.Schema[catalog.Removals]{
		Name:  "removals",
		Key:   func(r *catalog.Removals) string { return r.OrganizationID },
		Shard: document.ByKey(),
		Derive: func(ctx context.Context, _ string, current *catalog.Removals) error {
			return s.follower.RemovalsWritten(ctx, current)
		},
	}
}

func (s *Store) aliasSets() document.Schema[catalog.AliasSet] {
	return document.Schema[catalog.AliasSet]{
		Name:  "alias_sets",
		Key:   func(a *catalog.AliasSet) string { return a.DashboardID },
		Shard: document.ByKey(),
		Derive: func(ctx context.Context, key string, current *catalog.AliasSet) error {
			return s.follower.AliasesWritten(ctx, key, current)
		},
	}
}

func aliases() document.Schema[catalog.Alias] {
	type record = catalog.Alias
	return document.Schema[record]{
		Name:  "aliases",
		Key:   func(a *record) string { return a.Key() },
		Shard: document.ByKey(),
		Fields: []document.Field[record]{
			{Name: catalog.FieldDashboard, Value: func(a *record) any { return a.DashboardID }},
			{Name: catalog.FieldPath, Value: func(a *record) any { return a.Path }},
			{Name: catalog.FieldPresent, Value: func(a *record) any { return a.Present() }},
			{Name: catalog.FieldEvent, Value: func(a *record) any { return textOrNil(a.EventID) }},
			{Name: catalog.FieldComponent, Value: func(a *record) any { return textOrNil(a.ComponentID) }},
		},
		Indexes: []document.Index{
			{Name: catalog.IndexPath, Fields: []string{catalog.FieldDashboard, catalog.FieldPath}, Scatter: "A member lists or deletes the aliases of a dashboard. A visitor's request reads one by its key."},
			{Name: catalog.IndexEvent, Fields: []string{catalog.FieldEvent}, Scatter: "The aliases of events that changed, once for each write."},
			{Name: catalog.IndexAliasComponent, Fields: []string{catalog.FieldComponent}, Scatter: "The aliases of a component that is deleted."},
		},
	}
}

func pages() document.Schema[edition.PublishedPage] {
	type record = edition.PublishedPage
	return document.Schema[record]{
		Name:  "pages",
		Key:   func(p *record) string { return p.DashboardID },
		Shard: document.Whole("A visitor's request names a slug or a host."),
		Fields: append(members[record](catalog.FieldSlug, catalog.FieldHosts, edition.FieldIndicator, edition.FieldChangesAt),
			document.Field[record]{Name: catalog.FieldDueAt, Value: func(p *record) any { return p.DueAt() }},
			document.Field[record]{Name: edition.FieldEnabled, Value: func(p *record) any { return p.Enabled && !p.Removed }},
			document.Field[record]{Name: edition.FieldMark, Revision: 3, Value: func(p *record) any { return p.Mark() }},
		),
		Indexes: []document.Index{
			{Name: catalog.IndexDue, Fields: []string{catalog.FieldDueAt}},
			{Name: catalog.IndexSlug, Fields: []string{catalog.FieldSlug}},
			{Name: catalog.IndexHost, Fields: []string{catalog.FieldHosts}},
			{Name: edition.IndexEnabled, Fields: []string{edition.FieldEnabled}},
		},
	}
}

func parts() document.Schema[edition.Part] {
	type record = edition.Part
	return document.Schema[record]{
		Name:  "parts",
		Key:   func(p *record) string { return p.ID },
		Shard: document.ByKey(),
		Fields: append(members[record](catalog.FieldID, edition.FieldCreatedAt, edition.FieldNumber),
			document.Field[record]{Name: edition.FieldDashboard, Value: func(p *record) any { return p.DashboardID }}),
		Indexes: []document.Index{{Name: edition.IndexDashboard, Fields: []string{edition.FieldDashboard, edition.FieldCreatedAt}, Scatter: "A new edition deletes what the dashboard does not use any more."}},
	}
}

func files() document.Schema[edition.StoredFile] {
	type record = edition.StoredFile
	return document.Schema[record]{
		Name:  "files",
		Key:   func(f *record) string { return f.Key() },
		Shard: document.ByKey(),
		Fields: []document.Field[record]{
			{Name: catalog.FieldID, Value: func(f *record) any { return f.Key() }},
			{Name: edition.FieldDashboard, Value: func(f *record) any { return f.DashboardID }},
			{Name: edition.FieldEdition, Value: func(f *record) any { return f.EditionID }},
			{Name: edition.FieldCreatedAt, Value: func(f *record) any { return f.CreatedAt }},
		},
		Indexes: []document.Index{{Name: edition.IndexDashboard, Fields: []string{edition.FieldDashboard, edition.FieldCreatedAt}, Scatter: "A new edition deletes what the dashboard does not use any more."}},
	}
}

func childIndexes() []document.Index {
	organization, id := catalog.FieldOrganization, catalog.FieldLegacyID
	ofType, ofStatus := catalog.OfEvent(catalog.FieldType), catalog.OfEvent(catalog.FieldStatus)
	return []document.Index{
		{Name: catalog.IndexEvent, Fields: []string{catalog.FieldEvent, id}, Scatter: "A write of an event compares its rows, which the id of the event finds."},
		{Name: catalog.IndexLegacyID, Fields: []string{organization, id}, Unique: true, Counted: true, Numbered: true},
		{Name: catalog.IndexEventLegacyID, Fields: []string{organization, catalog.OfEvent(id), id}},
		{Name: catalog.IndexType, Fields: []string{organization, ofType, id}, Counted: true, Numbered: true},
		{Name: catalog.IndexTypeStatus, Fields: []string{organization, ofType, ofStatus, id}, Counted: true, Numbered: true},
	}
}

// facts returns the fields of an event by which lists are filtered and ordered. prefix is empty for the record of an
// event. For the row of a link or an update, it is the prefix of the copied fields.
func facts[T any](prefix string, of func(*T) catalog.EventFacts) []document.Field[T] {
	return membersOf(prefix, func(item *T) any { return of(item) },
		catalog.FieldLegacyID, catalog.FieldType, catalog.FieldStatus, catalog.FieldSeverity,
		"description", "descriptionMarkdown", "impact", "impactMarkdown", "coordinator", "coordinatorMarkdown",
		"start", "end", "auto", "hiddenFromDashboard", "hiddenFromUptimeReports", catalog.FieldAuthor)
}

func members[T any](names ...string) []document.Field[T] {
	return membersOf("", func(item *T) any { return item }, names...)
}

// membersOf returns a field for each of the named JSON members of a part of the record. The fields of severity and
// author are absent if the member is empty.
func membersOf[T any](prefix string, part func(*T) any, names ...string) []document.Field[T] {
	kind := reflect.Indirect(reflect.ValueOf(part(new(T)))).Type()
	fields := make([]document.Field[T], len(names))
	for i, name := range names {
		at := slices.IndexFunc(reflect.VisibleFields(kind), func(f reflect.StructField) bool { return f.Tag.Get("json") == name })
		member, optional := kind.Field(at), name == catalog.FieldSeverity || name == catalog.FieldAuthor
		fields[i] = document.Field[T]{Name: catalog.FactField(prefix, name), Value: func(item *T) any {
			value := reflect.Indirect(reflect.ValueOf(part(item))).FieldByIndex(member.Index)
			if optional && value.IsZero() {
				return nil
			}
			return value.Interface()
		}}
	}
	return fields
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func present(is bool) any {
	if is {
		return true
	}
	return nil
}
