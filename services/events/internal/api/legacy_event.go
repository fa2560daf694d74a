package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// command returns the Command of a write through the legacy interface, with the caller as author.
func command(caller passport.Passport) catalog.Command {
	return catalog.Command{
		Organization: caller.Organization, Source: catalog.SourceLegacy,
		Author: catalog.Author{UserID: caller.User, LegacyUserID: caller.LegacyUser, Name: caller.Username},
	}
}

// ofCaller returns a function that calls operation with the organization of the caller.
func ofCaller[Q, R any](operation func(context.Context, string, Q) (R, error)) func(context.Context, passport.Passport, Q) (R, error) {
	return func(ctx context.Context, caller passport.Passport, asked Q) (R, error) {
		return operation(ctx, caller.Organization, asked)
	}
}

// pagesOf is like ofCaller, for an operation that also returns the total number of records.
func pagesOf[R any](
	list func(context.Context, string, find.Query) (catalog.Pages[R], int64, error),
) func(context.Context, passport.Passport, find.Query) (legacy.Pages[R], int64, error) {
	return func(ctx context.Context, caller passport.Passport, query find.Query) (legacy.Pages[R], int64, error) {
		return list(ctx, caller.Organization, query)
	}
}

// events is the resource event/list/: events with their links and updates.
func (a api) events() legacy.Resource[catalog.EventDetail] {
	return legacy.Resource[catalog.EventDetail]{
		Name:   "event/list",
		Fields: append(eventFields(""), a.eventChildren()...),
		Indexes: []legacy.Index{
			{Name: catalog.IndexLegacyID},
			{Name: catalog.IndexType, Equal: []string{catalog.FieldType}},
			{Name: catalog.IndexStatus, Equal: []string{catalog.FieldStatus}},
			{Name: catalog.IndexTypeStatus, Equal: []string{catalog.FieldType, catalog.FieldStatus}},
			{Name: catalog.IndexStart, Order: catalog.FieldStart},
		},
		Doc: legacy.Doc{
			Name: "Event", Names: "Events", One: "an event", Many: "events",
			List:   "For example type__type=incident&status__status=monitoring.",
			Create: "May embed event_service, event_update and notifications.",
			Change: "Every field is optional. The resulting event must be valid. A PUT never removes a link or an update.",
			Delete: "Deletes its links and updates too.",
			Record: legacyEventExample,
			Body: `{"type": {"type": "incident"}, "status": {"status": "investigating"}, "description": "Checkout is slow", "start": "2026-01-31T09:30:00",
				"event_service": ["/api/v1/service/1/"], "notifications": {"email": {"enabled": true}}}`,
		},
		FaultFields: map[string]string{
			"title": "description", "endAt": "end", "scheduledEndAt": "end", "timeline": "event_update",
			"affectedComponents": "event_service", "componentId": "event_service",
		},
		ID:    func(e catalog.EventDetail) int64 { return e.LegacyID },
		View:  func(e catalog.EventDetail) any { return viewLegacyEvent(e) },
		Pages: pagesOf(a.catalog.ListEvents),
		Get:   ofCaller(a.catalog.EventByLegacyID),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.EventDetail, error) {
			return a.catalog.CreateEvent(ctx, command(caller), func(d *catalog.EventEdit) error { return applyEvent(d, in) })
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.EventDetail, error) {
			key, err := a.catalog.EventID(ctx, caller.Organization, id)
			if err != nil {
				return catalog.EventDetail{}, err
			}
			return a.catalog.ChangeEvent(ctx, command(caller), key, func(d *catalog.EventEdit) error { return applyEvent(d, in) })
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			key, err := a.catalog.EventID(ctx, caller.Organization, id)
			if err != nil {
				return err
			}
			return a.catalog.DeleteEvent(ctx, command(caller), key)
		},
	}
}

// eventFields returns the fields of an event. With a prefix, it returns the copies of these fields in rows of links and
// updates.
func eventFields(prefix string) []legacy.Field {
	name := func(field string) string { return catalog.FactField(prefix, field) }
	return []legacy.Field{
		{Name: "type", Type: legacy.Related, Required: true, Find: name(catalog.FieldType), Relation: legacy.TypeLookup.Relation(), Help: "Incident or maintenance."},
		{Name: "status", Type: legacy.Related, Required: true, Find: name(catalog.FieldStatus), Relation: legacy.StatusLookup.Relation(), Help: "A status of the type.",
			Keywords: described("incident: investigating, identified, monitoring, resolved; maintenance: planning, started, inprogress, verifying, completed.")},
		{Name: "description", Type: legacy.String, Required: true, Max: catalog.BriefText, Find: name("description"), Help: "The description."},
		flag("description_md", name("descriptionMarkdown"), "Whether the description is Markdown."),
		{Name: "start", Type: legacy.Datetime, Required: true, Find: name("start"), Help: "Start, in UTC."},
		{Name: "end", Type: legacy.Datetime, Nullable: true, Find: name("end"), Help: "End, in UTC; required for a maintenance.",
			Keywords: described("End, in UTC; not before the start; required for a maintenance.")},
		{Name: "severity", Type: legacy.Related, Nullable: true, Find: name(catalog.FieldSeverity), Relation: legacy.SeverityLookup.Relation(), Help: "The severity."},
		flag("auto", name("auto"), "Whether a maintenance starts and ends automatically."),
		{Name: "coordinator", Type: legacy.String, Max: catalog.BriefExtra, Default: "", Find: name("coordinator"), Help: "The coordinator."},
		flag("coordinator_md", name("coordinatorMarkdown"), "Whether the coordinator is Markdown."),
		{Name: "impact", Type: legacy.String, Max: catalog.BriefExtra, Default: "", Find: name("impact"), Help: "The impact analysis."},
		flag("impact_md", name("impactMarkdown"), "Whether the impact is Markdown."),
		flag("hidden_admin_uptime", name("hiddenFromUptimeReports"), "Hidden from uptime reports."),
		flag("hidden_db", name("hiddenFromDashboard"), "Hidden from all areas of the dashboard."),
		{Name: "user", Type: legacy.Related, Readonly: true, Nullable: true, Find: name(catalog.FieldAuthor),
			Relation: &legacy.Relation{To: "user", URI: true, FindID: name(catalog.FieldAuthor)}, Help: "The author."},
	}
}

// described returns Keywords with a description, which replaces the Help of a field in the API document.
func described(text string) map[string]any { return map[string]any{"description": text} }

func flag(name, find, help string) legacy.Field {
	return legacy.Field{Name: name, Type: legacy.Boolean, Default: false, Find: find, Help: help}
}

// eventChildren returns the fields event_service, event_update and notifications of an event.
func (a api) eventChildren() []legacy.Field {
	service := legacy.Field{Name: "service", Type: legacy.Related, Required: true, Find: catalog.FieldComponents, Multi: true,
		Relation: a.serviceRelation(), Help: "The affected service."}
	event := legacy.Field{Name: "event", Type: legacy.Related, Find: catalog.FieldID, Relation: &legacy.Relation{
		To: "event/list", FindID: catalog.FieldLegacyID, Fields: eventFields(""),
	}}
	updates := a.updateRelation(a.eventField())
	updates.Any = catalog.FieldUpdated
	return []legacy.Field{
		{Name: "event_service", Type: legacy.Related, Required: true, Multi: true, Help: "The affected services.",
			Keywords: map[string]any{"maxItems": 500, "description": "The affected services, at least one on create. An item with a resource_uri is an existing link."},
			Relation: &legacy.Relation{
				To: "event/service", Many: true, Any: catalog.FieldLinks, Bare: "service", FindID: catalog.FieldLinks,
				Items: []legacy.Field{service}, Fields: []legacy.Field{service, event},
			}},
		{Name: "event_update", Type: legacy.Related, Find: catalog.FieldID, Help: "The updates.", Relation: updates,
			Keywords: map[string]any{"maxItems": 1000, "description": "An item with a resource_uri changes that update. Any other item is appended. An event has at most 1000 updates."}},
		{Name: "notifications", Type: legacy.Object, InputOnly: true, Fields: noticeFields(), Help: "The channels to notify.",
			Keywords: described("The receivers of the notification, by channel. Never returned.")},
	}
}

type legacyEventView struct {
	Auto              bool               `json:"auto"`
	Coordinator       string             `json:"coordinator"`
	CoordinatorMD     bool               `json:"coordinator_md"`
	Description       string             `json:"description"`
	DescriptionMD     bool               `json:"description_md"`
	End               *legacy.Time       `json:"end"`
	EventService      []eventServiceView `json:"event_service"`
	EventUpdate       []eventUpdateView  `json:"event_update"`
	HiddenAdminUptime bool               `json:"hidden_admin_uptime"`
	HiddenDB          bool               `json:"hidden_db"`
	Impact            string             `json:"impact"`
	ImpactMD          bool               `json:"impact_md"`
	ResourceURI       string             `json:"resource_uri"`
	Severity          *legacy.Value      `json:"severity"`
	Start             legacy.Time        `json:"start"`
	Status            *legacy.Value      `json:"status"`
	Type              *legacy.Value      `json:"type"`
	User              *string            `json:"user"`
}

func viewLegacyEvent(e catalog.EventDetail) legacyEventView {
	view := legacyEventView{
		Auto: auto(&e.Event), Coordinator: e.Coordinator.Brief(catalog.BriefExtra), CoordinatorMD: e.Coordinator.IsMarkdown(),
		Description: e.BriefDescription(), DescriptionMD: e.Description.IsMarkdown(), End: legacy.TimeOf(e.End()),
		EventService: []eventServiceView{}, EventUpdate: []eventUpdateView{},
		HiddenAdminUptime: e.HiddenFromUptimeReports, HiddenDB: e.HiddenFromDashboard,
		Impact: e.Impact.Brief(catalog.BriefExtra), ImpactMD: e.Impact.IsMarkdown(), ResourceURI: legacy.URI("event/list", e.LegacyID),
		Severity: legacy.SeverityLookup.Value(e.Severity), Start: legacy.Time(e.StartAt),
		Status: legacy.StatusLookup.Value(string(e.Status)), Type: legacy.TypeLookup.Value(string(e.Type)), User: userURI(e.CreatedBy.LegacyUserID),
	}
	for _, link := range e.Links {
		if component, there := e.Components[link.ComponentID]; there {
			view.EventService = append(view.EventService, viewEventService(e.LegacyID, link.LegacyID, component))
		}
	}
	for _, entry := range e.Timeline {
		view.EventUpdate = append(view.EventUpdate, viewUpdate(catalog.UpdateRowOf(&e.Event, entry)))
	}
	return view
}

// userURI returns the URI of a user. It returns nil for id 0, an author whom the legacy interface does not have as a
// user.
func userURI(id int64) *string {
	if id == 0 {
		return nil
	}
	return new(legacy.URI("user", id))
}

// services is the resource service/: the components.
func (a api) services() legacy.Resource[catalog.Component] {
	return legacy.Resource[catalog.Component]{
		Name:   "service",
		Fields: serviceFields(),
		Doc: legacy.Doc{
			Name: "Service", Names: "Services", One: "a service", Many: "services",
			Change: "An omitted group is set to the default. Other omitted fields keep their values.",
			Delete: "Deletes its links and subscriptions too.",
			Record: serviceExample, Body: `{"service_name": "Checkout", "description": "Payments of the shop", "group": "Core"}`,
		},
		Indexes: []legacy.Index{
			{Name: catalog.IndexLegacyID},
			{Name: catalog.IndexGroup, Equal: []string{"group"}},
			{Name: catalog.IndexName, Equal: []string{"name"}},
		},
		FaultFields: map[string]string{"name": "service_name", "groupName": "group"},
		ID:          func(c catalog.Component) int64 { return c.LegacyID },
		View:        func(c catalog.Component) any { return viewService(c) },
		Pages:       pagesOf(a.catalog.ListComponents),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.Component, error) {
			return a.catalog.CreateComponent(ctx, command(caller), nil, func(c *catalog.Component) error { return applyService(c, in) })
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.Component, error) {
			key, err := a.catalog.ComponentID(ctx, caller.Organization, id)
			if err != nil {
				return catalog.Component{}, err
			}
			return a.catalog.ChangeComponent(ctx, command(caller), key, func(c *catalog.Component) error { return applyService(c, in) })
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			key, err := a.catalog.ComponentID(ctx, caller.Organization, id)
			if err != nil {
				return err
			}
			return a.catalog.RemoveComponent(ctx, command(caller), key)
		},
	}
}

func serviceFields() []legacy.Field {
	return []legacy.Field{
		{Name: "service_name", Type: legacy.String, Required: true, Max: legacy.MaxName, Find: "name", Help: "Name shown on the dashboard."},
		{Name: "description", Type: legacy.String, Max: 250, Default: "", Find: "description", Help: "The description."},
		{Name: "group", Type: legacy.String, Max: legacy.MaxName, Default: catalog.DefaultGroup, ResetOnPut: true, Find: "group",
			Help: "Group on the dashboard."},
		flag("hidden", "hidden", "Hidden from the dashboard."),
		flag("hidden_notifications", "hiddenFromNotifications", "Left out of notifications of events."),
	}
}

type serviceView struct {
	Description         string `json:"description"`
	Group               string `json:"group"`
	Hidden              bool   `json:"hidden"`
	HiddenNotifications bool   `json:"hidden_notifications"`
	ResourceURI         string `json:"resource_uri"`
	ServiceName         string `json:"service_name"`
}

func viewService(c catalog.Component) serviceView {
	return serviceView{
		Description: c.Description, Group: legacy.ShortName(c.Group), Hidden: c.Hidden, HiddenNotifications: c.HiddenFromNotifications,
		ResourceURI: legacy.URI("service", c.LegacyID), ServiceName: legacy.ShortName(c.Name),
	}
}

func applyService(c *catalog.Component, in legacy.Input) error {
	legacy.AssignName(&c.Name, in.Text("service_name"))
	optional.Assign(&c.Description, in.Text("description"))
	legacy.AssignName(&c.Group, in.Text("group"))
	optional.Assign(&c.Hidden, in.Flag("hidden"))
	optional.Assign(&c.HiddenFromNotifications, in.Flag("hidden_notifications"))
	return nil
}

// serviceRelation returns the relation to the resource service, which is a component. Its keys are uuids of components.
func (a api) serviceRelation() *legacy.Relation {
	return &legacy.Relation{
		To: "service", Resolve: ofCaller(a.catalog.ComponentID), Fields: serviceFields(),
		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
			components, err := a.catalog.ComponentsWhere(ctx, caller.Organization, where)
			return catalog.ComponentKeys(components), err
		},
	}
}
