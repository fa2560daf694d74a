package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// services is service/: a component as the legacy interface knows it.
func (a api) services() legacy.Resource[catalog.Component] {
	return legacy.Resource[catalog.Component]{
		Name:   "service",
		Fields: serviceFields(),
		Indexes: []legacy.Index{
			{Name: "org_legacy"},
			{Name: "org_group_legacy", Equal: []string{"group"}},
			{Name: "org_name_legacy", Equal: []string{"name"}},
		},
		FaultFields: map[string]string{"name": "service_name"},
		ID:          func(c catalog.Component) int64 { return c.LegacyID },
		View:        func(c catalog.Component) any { return viewService(c) },
		List: func(ctx context.Context, caller passport.Passport, query find.Query) ([]catalog.Component, int64, error) {
			return a.catalog.ListComponents(ctx, caller.Organization, query)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.Component, error) {
			return a.catalog.AddComponent(ctx, caller.Organization, servicePatch(in))
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.Component, error) {
			return a.catalog.ChangeComponent(ctx, caller.Organization, id, servicePatch(in))
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return a.catalog.RemoveComponent(ctx, caller.Organization, id)
		},
	}
}

func serviceFields() []legacy.Field {
	return []legacy.Field{
		{Name: "service_name", Type: legacy.String, Required: true, Max: 50, Find: "name", Help: "Name shown on the dashboard."},
		{Name: "description", Type: legacy.String, Max: 250, Default: "", Find: "description", Help: "What the service is."},
		{Name: "group", Type: legacy.String, Max: 50, Default: catalog.DefaultGroup, ResetOnPut: true, Find: "group",
			Help: "Group on the dashboard."},
		{Name: "hidden", Type: legacy.Boolean, Default: false, Find: "hidden", Help: "Not shown on the dashboard."},
		{Name: "hidden_notifications", Type: legacy.Boolean, Default: false, Find: "hiddenFromNotifications",
			Help: "Left out of notifications of events."},
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
		Description: c.Description, Group: c.Group, Hidden: c.Hidden, HiddenNotifications: c.HiddenFromNotifications,
		ResourceURI: legacy.URI("service", c.LegacyID), ServiceName: c.Name,
	}
}

func servicePatch(in legacy.Input) catalog.ComponentPatch {
	return catalog.ComponentPatch{
		Name: in.Text("service_name"), Description: in.Text("description"), Group: in.Text("group"),
		Hidden: in.Flag("hidden"), HiddenFromNotifications: in.Flag("hidden_notifications"),
	}
}

// serviceRelation refers to a service; its keys are component ids.
func (a api) serviceRelation() *legacy.Relation {
	return &legacy.Relation{
		To: "service",
		Resolve: func(ctx context.Context, caller passport.Passport, id int64) (string, error) {
			component, err := a.catalog.ComponentByLegacyID(ctx, caller.Organization, id)
			return component.ID, err
		},
		Fields: serviceFields(),
		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
			components, err := a.catalog.ComponentsWhere(ctx, caller.Organization, where)
			keys := make([]string, len(components))
			for i, component := range components {
				keys[i] = component.ID
			}
			return keys, err
		},
	}
}
