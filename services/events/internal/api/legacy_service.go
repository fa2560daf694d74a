package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// services is service/: the components.
func (a api) services() legacy.Resource[catalog.Component] {
	return legacy.Resource[catalog.Component]{
		Name:   "service",
		Fields: serviceFields(),
		Indexes: []legacy.Index{
			{Name: catalog.IndexLegacyID},
			{Name: catalog.IndexGroup, Equal: []string{catalog.FieldGroup}},
			{Name: catalog.IndexName, Equal: []string{catalog.FieldName}},
		},
		FaultFields: map[string]string{"name": "service_name"},
		ID:          func(c catalog.Component) int64 { return c.LegacyID },
		View:        func(c catalog.Component) any { return viewService(c) },
		List: func(ctx context.Context, caller passport.Passport, query find.Query) ([]catalog.Component, int64, error) {
			return a.catalog.ListComponents(ctx, caller.Organization, query)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.Component, error) {
			return a.catalog.CreateComponent(ctx, command(caller), func(c *catalog.Component) error { return applyService(c, in) })
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.Component, error) {
			found, err := a.catalog.ComponentByLegacyID(ctx, caller.Organization, id)
			if err != nil {
				return found, err
			}
			return a.catalog.ChangeComponent(ctx, command(caller), found.ID, func(c *catalog.Component) error { return applyService(c, in) })
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			found, err := a.catalog.ComponentByLegacyID(ctx, caller.Organization, id)
			if err != nil {
				return err
			}
			return a.catalog.RemoveComponent(ctx, command(caller), found.ID)
		},
	}
}

func serviceFields() []legacy.Field {
	return []legacy.Field{
		{Name: "service_name", Type: legacy.String, Required: true, Max: 50, Find: catalog.FieldName, Help: "Name shown on the dashboard."},
		{Name: "description", Type: legacy.String, Max: 250, Default: "", Find: catalog.FieldDescription, Help: "The description."},
		{Name: "group", Type: legacy.String, Max: 50, Default: catalog.DefaultGroup, ResetOnPut: true, Find: catalog.FieldGroup,
			Help: "Group on the dashboard."},
		flag("hidden", catalog.FieldHidden, "Hidden from the dashboard."),
		flag("hidden_notifications", catalog.FieldHiddenFromNotifications, "Left out of notifications of events."),
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

func applyService(c *catalog.Component, in legacy.Input) error {
	assign(&c.Name, in.Text("service_name"))
	assign(&c.Description, in.Text("description"))
	assign(&c.Group, in.Text("group"))
	assign(&c.Hidden, in.Flag("hidden"))
	assign(&c.HiddenFromNotifications, in.Flag("hidden_notifications"))
	return nil
}

// serviceRelation returns the relation to a service. Its keys are component ids.
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
