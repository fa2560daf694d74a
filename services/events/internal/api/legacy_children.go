package api

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// eventServices is the resource event/service/: the links between events and components. The legacy interface calls a
// component a service.
func (a api) eventServices() legacy.Resource[catalog.LinkDetail] {
	return legacy.Resource[catalog.LinkDetail]{
		Name: "event/service",
		Fields: []legacy.Field{
			a.eventField(a.childrenOfEvent()...),
			{Name: "service", Type: legacy.Related, Required: true, Find: catalog.FieldComponent, Relation: a.serviceRelation(),
				Help: "The affected service."},
		},
		Indexes: []legacy.Index{
			{Name: catalog.IndexLegacyID},
			{Name: catalog.IndexComponent, Equal: []string{catalog.FieldComponent}},
			{Name: catalog.IndexEventLegacyID, Equal: []string{catalog.OfEvent(catalog.FieldLegacyID)}},
			{Name: catalog.IndexType, Equal: []string{catalog.OfEvent(catalog.FieldType)}},
			{Name: catalog.IndexStatus, Equal: []string{catalog.OfEvent(catalog.FieldStatus)}},
			{Name: catalog.IndexTypeStatus, Equal: []string{catalog.OfEvent(catalog.FieldType), catalog.OfEvent(catalog.FieldStatus)}},
		},
		Doc: legacy.Doc{
			Name: "EventService", Names: "EventServices", One: "a link", Many: "links between events and services",
			Record: linkExample, Body: `{"event": "/api/v1/event/list/1/", "service": "/api/v1/service/1/"}`,
		},
		FaultFields: map[string]string{"affectedComponents": "event", "componentId": "service"},
		ID:          func(l catalog.LinkDetail) int64 { return l.LegacyID },
		View:        func(l catalog.LinkDetail) any { return viewEventService(l.Event.LegacyID, l.LegacyID, l.Component) },
		Pages:       pagesOf(a.catalog.ListLinks),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.LinkDetail, error) {
			service := in.Ref("service").Key
			detail, err := a.catalog.ChangeEvent(ctx, command(caller), in.Ref("event").Key, func(d *catalog.EventEdit) error {
				if slices.Contains(d.ComponentIDs(), service) {
					return fault.Field("service", "must not be linked to the event already")
				}
				return d.AddComponent(service)
			})
			if err != nil {
				return catalog.LinkDetail{}, deletedEvent(err)
			}
			row := catalog.LinkRow{LegacyID: detail.Links[len(detail.Links)-1].LegacyID, Event: detail.Facts()}
			return catalog.LinkDetail{LinkRow: row, Component: detail.Components[service]}, nil
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			row, err := a.catalog.Link(ctx, caller.Organization, id)
			if err != nil {
				return err
			}
			_, err = a.catalog.ChangeEvent(ctx, command(caller), row.EventID, func(d *catalog.EventEdit) error {
				if !slices.Contains(d.LinkIDs(), id) {
					return fault.New(fault.NotFound, "There is no such event service.")
				}
				d.RemoveComponent(row.ComponentID)
				return nil
			})
			return err
		},
	}
}

// eventUpdates is the resource event/update/: the entries of timelines.
func (a api) eventUpdates() legacy.Resource[catalog.UpdateRow] {
	return legacy.Resource[catalog.UpdateRow]{
		Name:   "event/update",
		Fields: append([]legacy.Field{a.eventField(a.childrenOfEvent()...)}, append(updateTexts(), updateAuthor())...),
		Indexes: []legacy.Index{
			{Name: catalog.IndexLegacyID},
			{Name: catalog.IndexStatus, Equal: []string{catalog.FieldStatus}},
			{Name: catalog.IndexEventLegacyID, Equal: []string{catalog.OfEvent(catalog.FieldLegacyID)}},
			{Name: catalog.IndexType, Equal: []string{catalog.OfEvent(catalog.FieldType)}},
			{Name: catalog.IndexTypeStatus, Equal: []string{catalog.OfEvent(catalog.FieldType), catalog.OfEvent(catalog.FieldStatus)}},
		},
		Doc: legacy.Doc{
			Name: "EventUpdate", Names: "EventUpdates", One: "an update", Many: "updates of events",
			Create: "Does not change the status of the event.",
			Record: updateExample, Body: `{"event": "/api/v1/event/list/1/", "update": "A fix is being tested."}`,
		},
		FaultFields: map[string]string{"timeline": "event"},
		ID:          func(u catalog.UpdateRow) int64 { return u.LegacyID },
		View:        func(u catalog.UpdateRow) any { return viewUpdate(u) },
		Pages:       pagesOf(a.catalog.ListUpdates),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.UpdateRow, error) {
			detail, err := a.catalog.ChangeEvent(ctx, command(caller).As(catalog.ActionTimelineCreate), in.Ref("event").Key,
				func(d *catalog.EventEdit) error { return applyUpdate(d, in) })
			if err != nil {
				return catalog.UpdateRow{}, deletedEvent(err)
			}
			return catalog.UpdateRowOf(&detail.Event, detail.Timeline[len(detail.Timeline)-1]), nil
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			row, err := a.catalog.Update(ctx, caller.Organization, id)
			if err != nil {
				return err
			}
			_, err = a.catalog.ChangeEvent(ctx, command(caller).As(catalog.ActionTimelineDelete), row.EventID,
				func(d *catalog.EventEdit) error { return d.RemoveEntry(row.StatusID) })
			return err
		},
	}
}

// eventField returns the field of a link or an update that refers to its event. A filter that names a field of the
// event uses the copy of this field in the row of the link or update.
func (a api) eventField(more ...legacy.Field) legacy.Field {
	return legacy.Field{Name: "event", Type: legacy.Related, Required: true, Find: catalog.FieldEvent, Help: "The event.",
		Relation: &legacy.Relation{
			To: "event/list", URI: true, FindID: catalog.OfEvent(catalog.FieldLegacyID), Fields: append(eventFields(catalog.FieldEvent), more...),
			Resolve: ofCaller(a.catalog.EventID),
		}}
}

// childrenOfEvent returns the fields event_service and event_update of an event. With them, links and updates can be
// filtered by the other links and updates of their event.
func (a api) childrenOfEvent() []legacy.Field {
	service := legacy.Field{Name: "service", Type: legacy.Related, Find: catalog.FieldComponent, Relation: a.serviceRelation()}
	return []legacy.Field{
		{Name: "event_service", Type: legacy.Related, Find: catalog.FieldEvent, Relation: &legacy.Relation{
			To: "event/service", Many: true, Fields: []legacy.Field{service},
			Match: ofCaller(a.catalog.EventsWithLink),
		}},
		{Name: "event_update", Type: legacy.Related, Find: catalog.FieldEvent, Relation: a.updateRelation()},
	}
}

// updateRelation returns the relation to the updates of an event. Its Match returns ids of events.
func (a api) updateRelation(more ...legacy.Field) *legacy.Relation {
	return &legacy.Relation{
		To: "event/update", Many: true, Items: updateTexts(), Fields: append(append(updateTexts(), updateAuthor()), more...),
		Match: ofCaller(a.catalog.EventsWithUpdate),
	}
}

// updateTexts returns the fields of an update without its event and author.
func updateTexts() []legacy.Field {
	return []legacy.Field{
		{Name: "update", Type: legacy.String, Required: true, Max: catalog.BriefText, Find: "text", Help: "The text."},
		{Name: "status", Type: legacy.Related, Find: catalog.FieldStatus, Relation: legacy.StatusLookup.Relation(),
			Help: "A status of the event's type, or update."},
		{Name: "date", Type: legacy.Datetime, Find: "date", Help: "Time of the update, in UTC; now when omitted."},
		flag("markdown", "markdown", "Whether the text is Markdown."),
	}
}

// updateAuthor returns the field of the author of an update. Only the id can be filtered, because the identity service
// stores the names of users.
func updateAuthor() legacy.Field {
	return legacy.Field{
		Name: "user", Type: legacy.Related, Readonly: true, Nullable: true, Find: catalog.FieldAuthor, Help: "The author.",
		Relation: &legacy.Relation{To: "user", URI: true, FindID: catalog.FieldAuthor},
	}
}

// deletedEvent turns NotFound into a fault of the field event. The event was deleted after its reference was resolved.
func deletedEvent(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Field("event", "must be an event of the organization")
	}
	return err
}

// The examples in the document of the legacy interface.
const (
	serviceExample = `{"description": "Payments of the shop", "group": "Core", "hidden": false, "hidden_notifications": false,
		"resource_uri": "/api/v1/service/1/", "service_name": "Checkout"}`
	linkExample   = `{"event": "/api/v1/event/list/1/", "resource_uri": "/api/v1/event/service/1/", "service": ` + serviceExample + `}`
	updateExample = `{"date": "2026-01-31T09:40:00", "event": "/api/v1/event/list/1/", "markdown": false, "resource_uri": "/api/v1/event/update/1/",
		"status": {"resource_uri": "/api/v1/status/8/", "status": "update"}, "update": "A fix is being tested.", "user": "/api/v1/user/1/"}`
	legacyEventExample = `{"auto": false, "coordinator": "", "coordinator_md": false, "description": "Checkout is slow", "description_md": false, "end": null,
		"event_service": [` + linkExample + `], "event_update": [` + updateExample + `], "hidden_admin_uptime": false, "hidden_db": false,
		"impact": "", "impact_md": false, "resource_uri": "/api/v1/event/list/1/",
		"severity": {"resource_uri": "/api/v1/severity/1/", "severity": "minor_performance"}, "start": "2026-01-31T09:30:00",
		"status": {"resource_uri": "/api/v1/status/2/", "status": "investigating"}, "type": {"resource_uri": "/api/v1/type/1/", "type": "incident"},
		"user": "/api/v1/user/1/"}`
)

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
	Date        legacy.Time   `json:"date"`
	Event       string        `json:"event"`
	Markdown    bool          `json:"markdown"`
	ResourceURI string        `json:"resource_uri"`
	Status      *legacy.Value `json:"status"`
	Update      string        `json:"update"`
	User        *string       `json:"user"`
}

func viewUpdate(u catalog.UpdateRow) eventUpdateView {
	return eventUpdateView{
		Date: legacy.Time(u.Date), Event: legacy.URI("event/list", u.Event.LegacyID), Markdown: u.Markdown,
		ResourceURI: legacy.URI("event/update", u.LegacyID), Status: legacy.StatusLookup.Value(string(u.Status)),
		Update: u.Text, User: userURI(u.Author),
	}
}
