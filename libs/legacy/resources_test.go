package legacy_test

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func serviceFields() []legacy.Field {
	return []legacy.Field{
		{Name: "service_name", Type: legacy.String, Required: true, Max: 50, Find: "name", Help: "Name shown on the dashboard"},
		{Name: "description", Type: legacy.String, Max: 250, Default: "", Find: "description"},
		{Name: "group", Type: legacy.String, Max: 50, Default: "default", ResetOnPut: true, Find: "group"},
		{Name: "hidden", Type: legacy.Boolean, Default: false, Find: "hidden"},
	}
}

type serviceView struct {
	Description string `json:"description"`
	Group       string `json:"group"`
	Hidden      bool   `json:"hidden"`
	ResourceURI string `json:"resource_uri"`
	ServiceName string `json:"service_name"`
}

func viewService(s service) serviceView {
	return serviceView{s.Description, s.Group, s.Hidden, legacy.URI("service", s.LegacyID), s.Name}
}

func (w *world) serviceResource() legacy.Declared {
	change := func(s *service, in legacy.Input) error {
		set(&s.Name, in.Text("service_name"))
		set(&s.Description, in.Text("description"))
		set(&s.Group, in.Text("group"))
		set(&s.Hidden, in.Flag("hidden"))
		return invalidWhen(s.Name == "taken", "name", "There is a service of this name.")
	}
	return legacy.Resource[service]{
		Name: "service", Fields: serviceFields(), FaultFields: map[string]string{"name": "service_name"},
		Indexes: []legacy.Index{{Name: "org_legacy"}, {Name: "org_group", Equal: []string{"group"}}},
		ID:      func(s service) int64 { return s.LegacyID },
		View:    func(s service) any { return viewService(s) },
		List:    listOf(w.services),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (service, error) {
			s := service{OrganizationID: caller.Organization}
			if err := change(&s, in); err != nil {
				return s, err
			}
			var err error
			if s.LegacyID, s.ID, err = w.next(ctx, caller.Organization, "service"); err != nil {
				return s, err
			}
			return s, w.services.Insert(ctx, s)
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (service, error) {
			return w.services.Update(ctx, key(caller.Organization, "service", id), func(s *service) ([]topic.Message, error) {
				return nil, change(s, in)
			})
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return w.services.Delete(ctx, key(caller.Organization, "service", id), nil)
		},
	}
}

func (w *world) serviceRelation() *legacy.Relation {
	return &legacy.Relation{
		To: "service", Fields: serviceFields(),
		Resolve: resolveIn(w.services, "service"),
		Match:   matchIn(w.services, func(s service) string { return s.ID }),
	}
}

func channel(name string, fields ...legacy.Field) legacy.Field {
	return legacy.Field{Name: name, Type: legacy.Object, Fields: append(fields, legacy.Field{Name: "enabled", Type: legacy.Boolean, Required: true})}
}

func (w *world) eventFields() []legacy.Field {
	affected := legacy.Field{Name: "service", Type: legacy.Related, Required: true, Find: "services", Multi: true, Relation: w.serviceRelation()}
	return []legacy.Field{
		{Name: "type", Type: legacy.Related, Required: true, Find: "type", Relation: legacy.TypeLookup.Relation()},
		{Name: "status", Type: legacy.Related, Required: true, Find: "status", Relation: legacy.StatusLookup.Relation()},
		{Name: "severity", Type: legacy.Related, Nullable: true, Find: "severity", Relation: legacy.SeverityLookup.Relation()},
		{Name: "description", Type: legacy.String, Required: true, Max: 5000, Find: "description"},
		{Name: "start", Type: legacy.Datetime, Required: true, Find: "start"},
		{Name: "end", Type: legacy.Datetime, Nullable: true, Find: "end"},
		{Name: "auto", Type: legacy.Boolean, Default: false},
		{Name: "event_service", Type: legacy.Related, Required: true, Multi: true, Relation: &legacy.Relation{
			To: "event/service", Many: true, Any: "links", Bare: "service", FindID: "links",
			Items: []legacy.Field{affected}, Fields: []legacy.Field{affected},
		}},
		{Name: "user", Type: legacy.Related, Readonly: true, Relation: &legacy.Relation{To: "user"}},
		{Name: "notifications", Type: legacy.Object, InputOnly: true, Fields: []legacy.Field{
			channel("email", legacy.Field{Name: "email_subject", Type: legacy.String, Max: 250}),
			channel("teams", legacy.Field{Name: "channels", Type: legacy.List}),
			channel("webhook"),
		}},
	}
}

type linkView struct {
	Event       string      `json:"event"`
	ResourceURI string      `json:"resource_uri"`
	Service     serviceView `json:"service"`
}

type eventView struct {
	Auto         bool          `json:"auto"`
	Description  string        `json:"description"`
	End          *legacy.Time  `json:"end"`
	EventService []linkView    `json:"event_service"`
	ResourceURI  string        `json:"resource_uri"`
	Severity     *legacy.Value `json:"severity"`
	Start        legacy.Time   `json:"start"`
	Status       *legacy.Value `json:"status"`
	Type         *legacy.Value `json:"type"`
	User         string        `json:"user"`
	Notified     string        `json:"notified"` // only of this test: what was queued
}

func (w *world) viewEvent(e event) any {
	view := eventView{
		Auto: e.Auto, Description: e.Description, End: legacy.TimeOf(e.End), EventService: []linkView{},
		ResourceURI: legacy.URI("event/list", e.LegacyID), Severity: legacy.SeverityLookup.Value(e.Severity), Start: legacy.Time(e.Start),
		Status: legacy.StatusLookup.Value(e.Status), Type: legacy.TypeLookup.Value(e.Type), User: legacy.URI("user", 7), Notified: e.Notified,
	}
	for _, l := range e.Links {
		s, err := w.services.Get(context.Background(), l.Service)
		if err == nil {
			view.EventService = append(view.EventService, linkView{view.ResourceURI, legacy.URI("event/service", l.LegacyID), viewService(s)})
		}
	}
	return view
}

func (w *world) changeEvent(ctx context.Context, e *event, in legacy.Input) error {
	set(&e.Type, in.Key("type"))
	set(&e.Status, in.Key("status"))
	set(&e.Severity, in.Key("severity"))
	if in.Null("severity") {
		e.Severity = ""
	}
	set(&e.Description, in.Text("description"))
	set(&e.Start, in.Time("start"))
	if in.Null("end") || in.Time("end") != nil {
		e.End = in.Time("end")
	}
	set(&e.Auto, in.Flag("auto"))
	for _, item := range in.Items("event_service") {
		if item.ID() != 0 {
			continue
		}
		id, err := w.db.Next(ctx, e.OrganizationID+" link")
		if err != nil {
			return err
		}
		e.Links = append(e.Links, link{LegacyID: id, Service: *item.Key("service")})
	}
	e.Notified = notified(in.Object("notifications"))
	return invalidWhen(e.End != nil && e.End.Before(e.Start), "end", "The end is before the start.")
}

func notified(in *legacy.Input) string {
	text := ""
	if in == nil {
		return text
	}
	for _, name := range []string{"email", "teams", "webhook"} {
		if channel := in.Object(name); channel != nil && *channel.Flag("enabled") {
			text += name
			for _, one := range channel.Texts("channels") {
				text += " " + one
			}
			text += ";"
		}
	}
	return text
}

func (w *world) eventResource() legacy.Declared {
	return legacy.Resource[event]{
		Name: "event/list", Fields: w.eventFields(),
		Indexes: []legacy.Index{{Name: "org_legacy"}, {Name: "org_type", Equal: []string{"type"}}, {Name: "org_services", Equal: []string{"services"}}},
		ID:      func(e event) int64 { return e.LegacyID },
		View:    w.viewEvent,
		List:    listOf(w.events),
		Get: func(ctx context.Context, caller passport.Passport, id int64) (event, error) {
			return w.events.Get(ctx, key(caller.Organization, "event", id))
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (event, error) {
			e := event{OrganizationID: caller.Organization}
			if err := w.changeEvent(ctx, &e, in); err != nil {
				return e, err
			}
			var err error
			if e.LegacyID, e.ID, err = w.next(ctx, caller.Organization, "event"); err != nil {
				return e, err
			}
			return e, w.events.Insert(ctx, e)
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (event, error) {
			return w.events.Update(ctx, key(caller.Organization, "event", id), func(e *event) ([]topic.Message, error) {
				return nil, w.changeEvent(ctx, e, in)
			})
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return w.events.Delete(ctx, key(caller.Organization, "event", id), nil)
		},
	}
}

func (w *world) updateResource() legacy.Declared {
	type view struct {
		Date        legacy.Time `json:"date"`
		Event       string      `json:"event"`
		ResourceURI string      `json:"resource_uri"`
		Update      string      `json:"update"`
	}
	return legacy.Resource[update]{
		Name: "event/update", Indexes: []legacy.Index{{Name: "org_legacy"}},
		Fields: []legacy.Field{
			{Name: "event", Type: legacy.Related, Required: true, Find: "event", Relation: &legacy.Relation{
				To: "event/list", Fields: w.eventFields(),
				Resolve: resolveIn(w.events, "event"), Match: matchIn(w.events, func(e event) string { return e.ID }),
			}},
			{Name: "update", Type: legacy.String, Required: true, Max: 5000, Find: "text"},
			{Name: "date", Type: legacy.Datetime, Find: "date"},
		},
		ID: func(u update) int64 { return u.LegacyID },
		View: func(u update) any {
			return view{legacy.Time(u.Date), legacy.URI("event/list", u.EventID), legacy.URI("event/update", u.LegacyID), u.Text}
		},
		List: listOf(w.updates),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (update, error) {
			u := update{OrganizationID: caller.Organization, Event: *in.Key("event"), EventID: in.Ref("event").ID, Text: *in.Text("update")}
			u.Date = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
			set(&u.Date, in.Time("date"))
			var err error
			if u.LegacyID, u.ID, err = w.next(ctx, caller.Organization, "update"); err != nil {
				return u, err
			}
			return u, w.updates.Insert(ctx, u)
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return w.updates.Delete(ctx, key(caller.Organization, "update", id), nil)
		},
	}
}

// The subscription's email is denormalised: filters over it stay in one query.
func (w *world) subscriptionResource() legacy.Declared {
	type view struct {
		Confirmed   bool   `json:"confirmed"`
		Email       string `json:"email"`
		ResourceURI string `json:"resource_uri"`
	}
	change := func(s *subscription, in legacy.Input) error {
		set(&s.Service, in.Key("service"))
		set(&s.Confirmed, in.Flag("confirmed"))
		if ref := in.Ref("email"); ref != nil && ref.New != nil {
			set(&s.Email, ref.New.Text("email"))
		}
		if s.Email == "taken@example.com" {
			return fault.New(fault.Conflict, "There is such a subscription.")
		}
		return nil
	}
	email := []legacy.Field{{Name: "email", Type: legacy.String, Required: true, Max: 254, Find: "email"}}
	return legacy.Resource[subscription]{
		Name: "subscribers/email", Indexes: []legacy.Index{{Name: "org_legacy"}},
		Fields: []legacy.Field{
			{Name: "email", Type: legacy.Related, Required: true, Relation: &legacy.Relation{To: "email", New: email, Fields: email}},
			{Name: "service", Type: legacy.Related, Required: true, Find: "service", Relation: w.serviceRelation()},
			{Name: "confirmed", Type: legacy.Boolean, Default: false, Find: "confirmed"},
		},
		ID: func(s subscription) int64 { return s.LegacyID },
		View: func(s subscription) any {
			return view{s.Confirmed, s.Email, legacy.URI("subscribers/email", s.LegacyID)}
		},
		List: listOf(w.subscriptions),
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (subscription, error) {
			s := subscription{OrganizationID: caller.Organization}
			if err := change(&s, in); err != nil {
				return s, err
			}
			var err error
			if s.LegacyID, s.ID, err = w.next(ctx, caller.Organization, "subscription"); err != nil {
				return s, err
			}
			return s, w.subscriptions.Insert(ctx, s)
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (subscription, error) {
			return w.subscriptions.Update(ctx, key(caller.Organization, "subscription", id), func(s *subscription) ([]topic.Message, error) {
				return nil, change(s, in)
			})
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return w.subscriptions.Delete(ctx, key(caller.Organization, "subscription", id), nil)
		},
	}
}
