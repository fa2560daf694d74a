package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// addressResource returns the resource email/ or number/.
func (k kind) addressResource() legacy.Resource[audience.Address] {
	return legacy.Resource[audience.Address]{
		Name:        k.name,
		Fields:      k.addressFields(),
		Doc:         k.addressDoc(),
		FaultFields: map[string]string{audience.FieldText: k.name},
		Indexes: []legacy.Index{
			{Name: audience.IndexLegacy},
			{Name: audience.IndexSame, Equal: []string{audience.FieldNormal}, Few: true},
		},
		ID:   func(a audience.Address) int64 { return a.LegacyID },
		View: k.addressView,
		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]audience.Address, int64, error) {
			return k.audience.Addresses(ctx, caller.Organization, k.channel, q)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (audience.Address, error) {
			return k.audience.AddAddress(ctx, caller.Organization, k.channel, *in.Text(k.name))
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (audience.Address, error) {
			address, err := k.address(ctx, caller, id)
			if text := in.Text(k.name); err == nil && text != nil {
				return k.audience.ChangeAddress(ctx, caller.Organization, address.ID, *text)
			}
			return address, err
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			address, err := k.address(ctx, caller, id)
			if err != nil {
				return err
			}
			return k.audience.RemoveAddress(ctx, caller.Organization, address.ID)
		},
	}
}

// address returns the address with the legacy id, or fault.NotFound.
func (k kind) address(ctx context.Context, caller passport.Passport, id int64) (audience.Address, error) {
	found, _, err := k.audience.Addresses(ctx, caller.Organization, k.channel, find.Query{Where: []find.Condition{find.Eq(audience.FieldLegacyID, id)}})
	if err == nil && len(found) == 0 {
		err = fault.New(fault.NotFound, "There is no such %s.", k.name)
	}
	if err != nil {
		return audience.Address{}, err
	}
	return found[0], nil
}

func (k kind) addressFields() []legacy.Field {
	fields := []legacy.Field{{
		Name: k.name, Type: legacy.String, Required: true, Unique: true, Max: 254, Help: k.label + ".", Keywords: k.keywords,
		Find: audience.FieldText, Compared: audience.FieldNormal, Normal: func(text string) (string, bool) { return audience.Normal(k.channel, text) },
	}}
	if k.blocked {
		fields = append(fields, legacy.Field{Name: "blocked", Type: legacy.Boolean, Readonly: true, Find: audience.FieldBlocked, Help: "True if no message is sent to it.",
			Keywords: map[string]any{"description": "True if no message is sent to the number, because it refused messages or is not a mobile number. A change of the number clears this."}})
	}
	return fields
}

func (k kind) addressDoc() legacy.Doc {
	doc := legacy.Doc{
		Name: "Email", Names: "Emails", One: "an email address", Many: "email addresses",
		Record: `{"email": "ada@example.com", "resource_uri": "/api/v1/email/1/"}`, Body: `{"email": "ada@example.com"}`,
	}
	if k.channel == topic.SMS {
		doc = legacy.Doc{
			Name: "Number", Names: "Numbers", One: "a phone number", Many: "phone numbers",
			Record: `{"blocked": false, "number": "+4915112345678", "resource_uri": "/api/v1/number/1/"}`, Body: `{"number": "+4915112345678"}`,
		}
	}
	doc.Delete = "Deletes its subscriptions too."
	return doc
}

// addressView returns the address as the legacy interface shows it. The keys of the JSON are in alphabetical order.
func (k kind) addressView(a audience.Address) any {
	view := map[string]any{k.name: a.Text, "resource_uri": legacy.URI(k.name, a.LegacyID)}
	if k.blocked {
		view["blocked"] = a.Suppression != nil
	}
	return view
}
