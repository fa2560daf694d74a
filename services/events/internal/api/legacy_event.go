package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// events is event/list/: an event with its links and updates.
func (a api) events() legacy.Resource[catalog.EventDetail] {
	return legacy.Resource[catalog.EventDetail]{
		Name:   "event/list",
		Fields: append(eventFields(""), a.eventChildren()...),
		Indexes: []legacy.Index{
			{Name: "org_legacy"},
			{Name: "org_type_legacy", Equal: []string{"type"}},
			{Name: "org_status_legacy", Equal: []string{"status"}},
			{Name: "org_type_status_legacy", Equal: []string{"type", "status"}},
		},
		ID:   func(e catalog.EventDetail) int64 { return e.LegacyID },
		View: func(e catalog.EventDetail) any { return viewEvent(e) },
		List: func(ctx context.Context, caller passport.Passport, query find.Query) ([]catalog.EventDetail, int64, error) {
			return a.catalog.ListEvents(ctx, caller.Organization, query)
		},
		Get: func(ctx context.Context, caller passport.Passport, id int64) (catalog.EventDetail, error) {
			return a.catalog.EventByLegacyID(ctx, caller.Organization, id)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.EventDetail, error) {
			return a.catalog.CreateEvent(ctx, by(caller), caller.Organization, eventPatch(in))
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.EventDetail, error) {
			return a.catalog.ChangeEvent(ctx, by(caller), caller.Organization, id, eventPatch(in))
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return a.catalog.RemoveEvent(ctx, caller.Organization, id)
		},
	}
}

// eventFields are the fields of an event itself. prefix is "" on events, and "event" where
// they are facts copied into rows of an event's children.
func eventFields(prefix string) []legacy.Field {
	name := func(fact string) string { return catalog.FactField(prefix, fact) }
	user := &legacy.Relation{To: "user", FindID: name("author")}
	return []legacy.Field{
		{Name: "type", Type: legacy.Related, Required: true, Find: name("type"), Relation: legacy.TypeRelation(),
			Help: "Incident or maintenance."},
		{Name: "status", Type: legacy.Related, Required: true, Find: name("status"), Relation: legacy.StatusRelation(),
			Help: "One of the statuses of the type."},
		{Name: "description", Type: legacy.String, Required: true, Max: 5000, Find: name("description"), Help: "What happens."},
		{Name: "description_md", Type: legacy.Boolean, Default: false, Find: name("descriptionMarkdown"),
			Help: "The description is Markdown."},
		{Name: "start", Type: legacy.Datetime, Required: true, Find: name("start"), Help: "Start, in UTC."},
		{Name: "end", Type: legacy.Datetime, Nullable: true, Find: name("end"), Help: "End, in UTC; required for maintenance."},
		{Name: "severity", Type: legacy.Related, Nullable: true, Find: name("severity"), Relation: legacy.SeverityRelation(),
			Help: "How serious it is."},
		{Name: "auto", Type: legacy.Boolean, Default: false, Find: name("auto"), Help: "A maintenance starts and ends by itself."},
		{Name: "coordinator", Type: legacy.String, Max: 1000, Default: "", Find: name("coordinator"), Help: "Who coordinates."},
		{Name: "coordinator_md", Type: legacy.Boolean, Default: false, Find: name("coordinatorMarkdown"),
			Help: "The coordinator is Markdown."},
		{Name: "impact", Type: legacy.String, Max: 1000, Default: "", Find: name("impact"), Help: "Impact analysis."},
		{Name: "impact_md", Type: legacy.Boolean, Default: false, Find: name("impactMarkdown"), Help: "The impact is Markdown."},
		{Name: "hidden_admin_uptime", Type: legacy.Boolean, Default: false, Find: name("hiddenFromUptimeReports"),
			Help: "Not in uptime reports."},
		{Name: "hidden_db", Type: legacy.Boolean, Default: false, Find: name("hiddenFromDashboard"),
			Help: "Not on any area of the dashboard."},
		{Name: "user", Type: legacy.Related, Readonly: true, Nullable: true, Find: name("author"), Relation: user,
			Help: "Who created it."},
	}
}

// eventChildren are what a body of an event carries besides its own fields.
func (a api) eventChildren() []legacy.Field {
	service := legacy.Field{Name: "service", Type: legacy.Related, Required: true, Find: "components", Multi: true,
		Relation: a.serviceRelation(), Help: "The affected service."}
	event := legacy.Field{Name: "event", Type: legacy.Related, Find: "id", Relation: &legacy.Relation{
		To: "event/list", FindID: "legacyId", Fields: eventFields(""),
	}}
	updates := a.updateRelation(a.eventField())
	updates.Any = "updated"
	return []legacy.Field{
		{Name: "event_service", Type: legacy.Related, Required: true, Multi: true, Help: "Affected services.", Relation: &legacy.Relation{
			To: "event/service", Many: true, Any: "links", Bare: "service", FindID: "links", Items: []legacy.Field{service}, Fields: []legacy.Field{service, event},
		}},
		{Name: "event_update", Type: legacy.Related, Find: "id", Help: "Updates.", Relation: updates},
		{Name: "notifications", Type: legacy.Object, InputOnly: true, Fields: noticeFields(), Help: "Whom to tell, by channel."},
	}
}

type eventView struct {
	Auto              bool                 `json:"auto"`
	Coordinator       string               `json:"coordinator"`
	CoordinatorMD     bool                 `json:"coordinator_md"`
	Description       string               `json:"description"`
	DescriptionMD     bool                 `json:"description_md"`
	End               *legacy.Time         `json:"end"`
	EventService      []eventServiceView   `json:"event_service"`
	EventUpdate       []eventUpdateView    `json:"event_update"`
	HiddenAdminUptime bool                 `json:"hidden_admin_uptime"`
	HiddenDB          bool                 `json:"hidden_db"`
	Impact            string               `json:"impact"`
	ImpactMD          bool                 `json:"impact_md"`
	ResourceURI       string               `json:"resource_uri"`
	Severity          *legacy.SeverityView `json:"severity"`
	Start             legacy.Time          `json:"start"`
	Status            legacy.StatusView    `json:"status"`
	Type              legacy.TypeView      `json:"type"`
	User              *string              `json:"user"`
}

func viewEvent(e catalog.EventDetail) eventView {
	view := eventView{
		Auto: e.Auto(), Coordinator: e.Coordinator.Text, CoordinatorMD: e.Coordinator.IsMarkdown(),
		Description: e.Description.Text, DescriptionMD: e.Description.IsMarkdown(), End: legacy.TimeOf(e.End()),
		EventService: []eventServiceView{}, EventUpdate: []eventUpdateView{},
		HiddenAdminUptime: e.HiddenFromUptimeReports, HiddenDB: e.HiddenFromDashboard,
		Impact: e.Impact.Text, ImpactMD: e.Impact.IsMarkdown(), ResourceURI: legacy.URI("event/list", e.LegacyID),
		Severity: legacy.ViewSeverity(e.Severity), Start: legacy.Time(e.StartAt),
		Status: legacy.ViewStatus(string(e.Status)), Type: legacy.ViewType(string(e.Type)), User: userURI(e.CreatedBy.LegacyUserID),
	}
	for _, link := range e.Links {
		if component, there := e.Components[link.ComponentID]; there {
			view.EventService = append(view.EventService, viewEventService(e.LegacyID, link.LegacyID, component))
		}
	}
	for i := range e.Timeline {
		view.EventUpdate = append(view.EventUpdate, viewEntry(e.LegacyID, &e.Timeline[i]))
	}
	return view
}

// userURI refers to a user; null for what no user of the legacy interface did.
func userURI(id int64) *string {
	if id == 0 {
		return nil
	}
	uri := legacy.URI("user", id)
	return &uri
}

func eventPatch(in legacy.Input) catalog.EventPatch {
	patch := catalog.EventPatch{
		Type: key[catalog.EventType](in, "type"), Status: key[catalog.Status](in, "status"), Severity: in.Key("severity"),
		Start: in.Time("start"), End: in.Time("end"), NoEnd: in.Null("end"), Auto: in.Flag("auto"),
		Description:         textPatch(in, "description", "description_md"),
		Impact:              textPatch(in, "impact", "impact_md"),
		Coordinator:         textPatch(in, "coordinator", "coordinator_md"),
		HiddenFromDashboard: in.Flag("hidden_db"), HiddenFromUptimeReports: in.Flag("hidden_admin_uptime"),
	}
	if in.Null("severity") {
		none := ""
		patch.Severity = &none
	}
	for _, item := range in.Items("event_service") {
		patch.Links = append(patch.Links, catalog.LinkPatch{LegacyID: item.ID(), ComponentID: item.Key("service")})
	}
	for _, item := range in.Items("event_update") {
		patch.Updates = append(patch.Updates, updatePatch(item))
	}
	if sent := in.Object("notifications"); sent != nil {
		patch.Notice = notice(*sent)
	}
	return patch
}

func textPatch(in legacy.Input, text, flag string) catalog.TextPatch {
	return catalog.TextPatch{Text: in.Text(text), Markdown: in.Flag(flag)}
}

// key is a reference's key as one of the catalog's own names.
func key[N ~string](in legacy.Input, field string) *N {
	text := in.Key(field)
	if text == nil {
		return nil
	}
	name := N(*text)
	return &name
}
