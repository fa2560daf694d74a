package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// addressResource returns the resource email/ or number/.
func (k kind) addressResource() legacy.Resource[audience.Address] {
	return legacy.Resource[audience.Address]{
		Name:   k.name,
		Fields: k.addressFields(),
		Indexes: []legacy.Index{
			{Name: audience.IndexLegacy},
			{Name: audience.IndexText, Equal: []string{audience.FieldText}},
		},
		ID:   func(a audience.Address) int64 { return a.LegacyID },
		View: k.addressView,
		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]audience.Address, int64, error) {
			return k.audience.Addresses(ctx, caller.Organization, k.channel, q)
		},
		GetMany: func(ctx context.Context, caller passport.Passport, ids []int64) ([]audience.Address, error) {
			found, _, err := k.audience.Addresses(ctx, caller.Organization, k.channel, find.Query{Where: []find.Condition{find.In(audience.FieldLegacyID, ids...)}})
			return found, err
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (audience.Address, error) {
			return k.audience.AddAddress(ctx, caller.Organization, k.channel, *in.Text(k.name))
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (audience.Address, error) {
			return k.audience.ChangeAddress(ctx, caller.Organization, k.channel, id, in.Text(k.name))
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			return k.audience.RemoveAddress(ctx, caller.Organization, k.channel, id)
		},
	}
}

func (k kind) addressFields() []legacy.Field {
	fields := []legacy.Field{{Name: k.name, Type: legacy.String, Required: true, Unique: true, Max: 254, Find: audience.FieldText, Help: k.label + "."}}
	if k.blocked {
		fields = append(fields, legacy.Field{Name: "blocked", Type: legacy.Boolean, Readonly: true, Find: audience.FieldBlocked, Help: "Nothing is sent to it."})
	}
	return fields
}

// addressView returns the address as the legacy interface shows it. Keys are written in alphabetical order.
func (k kind) addressView(a audience.Address) any {
	view := map[string]any{k.name: a.Text, "resource_uri": legacy.URI(k.name, a.LegacyID)}
	if k.blocked {
		view["blocked"] = a.Blocked
	}
	return view
}
