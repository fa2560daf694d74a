package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// eventServices is event/service/: the links between events and services.
func (a api) eventServices() legacy.Resource[catalog.LinkDetail] {
	return legacy.Resource[catalog.LinkDetail]{
		Name: "event/service",
		Fields: []legacy.Field{
			a.eventField(a.childrenBehind()...),
			{Name: "service", Type: legacy.Related, Required: true, Find: "component", Relation: a.serviceRelation(),
				Help: "The affected service."},
		},
		Indexes: []legacy.Index{
			{Name: "org_legacy"},
			{Name: "org_component_legacy", Equal: []string{"component"}},
			{Name: "org_event_legacy", Equal: []string{"eventLegacyId"}},
			{Name: "org_type_legacy", Equal: []string{"eventType"}},
			{Name: "org_status_legacy", Equal: []string{"eventStatus"}},
			{Name: "org_type_status_legacy", Equal: []string{"eventType", "eventStatus"}},
		},
		ID: func(l catalog.LinkDetail) int64 { return l.LegacyID },
		View: func(l catalog.LinkDetail) any {
			return viewEventService(l.Event.LegacyID, l.LegacyID, l.Component)
		},
		List: func(ctx context.Context, caller passport.Passport, query find.Query) ([]catalog.LinkDetail, int64, error) {
			return a.catalog.ListLinks(ctx, caller.Organization, query)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.LinkDetail, error) {
			link, err := a.catalog.AddLink(ctx, by(caller), caller.Organization, in.Ref("event").Key, in.Ref("service").Key)
			return link, vanished(err)
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return a.catalog.RemoveLink(ctx, by(caller), caller.Organization, id)
		},
	}
}

// eventUpdates is event/update/: the entries of timelines.
func (a api) eventUpdates() legacy.Resource[catalog.UpdateRow] {
	return legacy.Resource[catalog.UpdateRow]{
		Name:   "event/update",
		Fields: append([]legacy.Field{a.eventField(a.childrenBehind()...)}, append(updateTexts(), updateAuthor())...),
		Indexes: []legacy.Index{
			{Name: "org_legacy"},
			{Name: "org_status_legacy", Equal: []string{"status"}},
			{Name: "org_event_legacy", Equal: []string{"eventLegacyId"}},
			{Name: "org_type_legacy", Equal: []string{"eventType"}},
			{Name: "org_type_status_legacy", Equal: []string{"eventType", "eventStatus"}},
		},
		ID:   func(u catalog.UpdateRow) int64 { return u.LegacyID },
		View: func(u catalog.UpdateRow) any { return viewUpdate(u) },
		List: func(ctx context.Context, caller passport.Passport, query find.Query) ([]catalog.UpdateRow, int64, error) {
			return a.catalog.ListUpdates(ctx, caller.Organization, query)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.UpdateRow, error) {
			update, err := a.catalog.AddUpdate(ctx, by(caller), caller.Organization, in.Ref("event").Key, updatePatch(in))
			return update, vanished(err)
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return a.catalog.RemoveUpdate(ctx, by(caller), caller.Organization, id)
		},
	}
}

// eventField is the reference of a child to its event, whose facts its row holds. Filters
// reach over it to them and to more.
func (a api) eventField(more ...legacy.Field) legacy.Field {
	return legacy.Field{Name: "event", Type: legacy.Related, Required: true, Find: "event", Help: "The event.",
		Relation: &legacy.Relation{
			To: "event/list", FindID: catalog.FactField("event", "legacyId"), Fields: append(eventFields("event"), more...),
			Resolve: func(ctx context.Context, caller passport.Passport, id int64) (string, error) {
				event, err := a.catalog.EventByLegacyID(ctx, caller.Organization, id)
				return event.ID, err
			},
		}}
}

// childrenBehind are all the children of a child's event, for filters.
func (a api) childrenBehind() []legacy.Field {
	service := legacy.Field{Name: "service", Type: legacy.Related, Find: "component", Relation: a.serviceRelation()}
	return []legacy.Field{
		{Name: "event_service", Type: legacy.Related, Find: "event", Relation: &legacy.Relation{
			To: "event/service", Many: true, Fields: []legacy.Field{service},
			Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
				return a.catalog.EventsWithLink(ctx, caller.Organization, where)
			},
		}},
		{Name: "event_update", Type: legacy.Related, Find: "event", Relation: a.updateRelation()},
	}
}

// updateRelation refers to the updates of an event; its keys are events.
func (a api) updateRelation(more ...legacy.Field) *legacy.Relation {
	return &legacy.Relation{
		To: "event/update", Many: true, Items: updateTexts(), Fields: append(append(updateTexts(), updateAuthor()), more...),
		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
			return a.catalog.EventsWithUpdate(ctx, caller.Organization, where)
		},
	}
}

// updateTexts are the fields of an update but for its event.
func updateTexts() []legacy.Field {
	return []legacy.Field{
		{Name: "update", Type: legacy.String, Required: true, Max: 5000, Find: "text", Help: "The text."},
		{Name: "status", Type: legacy.Related, Find: "status", Relation: legacy.StatusRelation(),
			Help: "A status of the event's type, or update."},
		{Name: "date", Type: legacy.Datetime, Find: "date", Help: "Time it speaks of, in UTC; now when omitted."},
		{Name: "markdown", Type: legacy.Boolean, Default: false, Find: "markdown", Help: "The text is Markdown."},
	}
}

// updateAuthor is who wrote an update; the names of users are kept elsewhere.
func updateAuthor() legacy.Field {
	return legacy.Field{
		Name: "user", Type: legacy.Related, Readonly: true, Nullable: true, Find: "author", Help: "Who wrote it.",
		Relation: &legacy.Relation{To: "user", FindID: "author"},
	}
}

// vanished: an event that was there when its reference was resolved and is not any more
// is a wrong reference.
func vanished(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Field("event", "There is no such event.")
	}
	return err
}

type eventServiceView struct {
	Event       string      `json:"event"`
	ResourceURI string      `json:"resource_uri"`
	Service     serviceView `json:"service"`
}

func viewEventService(event, id int64, component catalog.Component) eventServiceView {
	return eventServiceView{
		Event: legacy.URI("event/list", event), ResourceURI: legacy.URI("event/service", id), Service: viewService(component),
	}
}

type eventUpdateView struct {
	Date        legacy.Time       `json:"date"`
	Event       string            `json:"event"`
	Markdown    bool              `json:"markdown"`
	ResourceURI string            `json:"resource_uri"`
	Status      legacy.StatusView `json:"status"`
	Update      string            `json:"update"`
	User        *string           `json:"user"`
}

func viewUpdate(u catalog.UpdateRow) eventUpdateView {
	return eventUpdateView{
		Date: legacy.Time(u.Date), Event: legacy.URI("event/list", u.Event.LegacyID), Markdown: u.Markdown,
		ResourceURI: legacy.URI("event/update", u.LegacyID), Status: legacy.ViewStatus(string(u.Status)),
		Update: u.Text, User: userURI(u.Author),
	}
}

func viewEntry(event int64, e *catalog.Entry) eventUpdateView {
	return eventUpdateView{
		Date: legacy.Time(e.Timestamp), Event: legacy.URI("event/list", event), Markdown: e.Message.IsMarkdown(),
		ResourceURI: legacy.URI("event/update", e.LegacyID), Status: legacy.ViewStatus(string(e.Status)),
		Update: e.Message.Text, User: userURI(e.Author.LegacyUserID),
	}
}

func updatePatch(in legacy.Input) catalog.UpdatePatch {
	return catalog.UpdatePatch{
		LegacyID: in.ID(), Status: key[catalog.Status](in, "status"), Date: in.Time("date"),
		Message: textPatch(in, "update", "markdown"),
	}
}
