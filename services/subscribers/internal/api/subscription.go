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

// subscriptionResource returns the resource subscribers/email/ or subscribers/sms/.
func (k kind) subscriptionResource() legacy.Resource[audience.Detail] {
	return legacy.Resource[audience.Detail]{
		Name: k.subscriptions,
		Fields: []legacy.Field{
			{Name: k.name, Type: legacy.Related, Required: true, Find: audience.FieldAddress, Relation: k.addressRelation(), Help: k.label + " to notify."},
			{Name: "service", Type: legacy.Related, Required: true, Find: audience.FieldComponent, Relation: k.serviceRelation(), Help: "Service to notify about."},
			{Name: "confirmed", Type: legacy.Boolean, Default: false, Find: audience.FieldConfirmed, Help: "No message is sent for an unconfirmed subscription."},
		},
		Doc:         k.subscriptionDoc(),
		FaultFields: map[string]string{audience.FieldText: k.name, audience.FieldComponent: "service"},
		Indexes: []legacy.Index{
			{Name: audience.IndexLegacy},
			{Name: audience.IndexAddress, Equal: []string{audience.FieldAddress}},
			{Name: audience.IndexComponent, Equal: []string{audience.FieldComponent}},
		},
		ID:   func(d audience.Detail) int64 { return d.LegacyID },
		View: k.subscriptionView,
		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]audience.Detail, int64, error) {
			return k.audience.Subscriptions(ctx, caller.Organization, k.channel, q)
		},
		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (audience.Detail, error) {
			return k.audience.Subscribe(ctx, caller.Organization, k.channel, k.patch(in))
		},
		Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (audience.Detail, error) {
			key, err := k.subscription(ctx, caller, id)
			if err != nil {
				return audience.Detail{}, err
			}
			return k.audience.ChangeSubscription(ctx, caller.Organization, k.channel, key, k.patch(in))
		},
		Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
			key, err := k.subscription(ctx, caller, id)
			if err != nil {
				return err
			}
			return k.audience.Unsubscribe(ctx, caller.Organization, key)
		},
	}
}

func (k kind) subscriptionDoc() legacy.Doc {
	doc := legacy.Doc{
		Name: "EmailSubscription", Names: "EmailSubscriptions", One: "an email subscription", Many: "email subscriptions",
		List: "For example email__email=someone@example.com.",
	}
	if k.channel == topic.SMS {
		doc = legacy.Doc{Name: "SMSSubscription", Names: "SMSSubscriptions", One: "an SMS subscription", Many: "SMS subscriptions"}
	}
	doc.Record = `{"confirmed": true, "` + k.name + `": ` + k.addressDoc().Record + `, "resource_uri": "` + legacy.URI(k.subscriptions, 1) + `",
		"service": {"description": "", "group": "default", "hidden": false, "hidden_notifications": false, "resource_uri": "/api/v1/service/1/", "service_name": "API"}}`
	doc.Body = `{"` + k.name + `": ` + k.addressDoc().Body + `, "service": "/api/v1/service/1/", "confirmed": true}`
	return doc
}

// subscription returns the UUID of the subscription with the legacy id, or fault.NotFound.
func (k kind) subscription(ctx context.Context, caller passport.Passport, id int64) (string, error) {
	return k.audience.SubscriptionID(ctx, caller.Organization, k.channel, find.Eq(audience.FieldLegacyID, id))
}

func (k kind) patch(in legacy.Input) audience.SubscriptionPatch {
	patch := audience.SubscriptionPatch{AddressID: in.Key(k.name), ComponentID: in.Key("service"), Confirmed: in.Flag("confirmed")}
	if ref := in.Ref(k.name); ref != nil && ref.New != nil {
		patch.AddressText = ref.New.Text(k.name)
	}
	return patch
}

// addressRelation is the relation of a subscription to its address. Its keys are ids of addresses.
func (k kind) addressRelation() *legacy.Relation {
	return &legacy.Relation{
		To: k.name, New: k.addressFields()[:1], Fields: k.addressFields(),
		Resolve: func(ctx context.Context, caller passport.Passport, id int64) (string, error) {
			address, err := k.address(ctx, caller, id)
			return address.ID, err
		},
		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
			return k.audience.AddressIDs(ctx, caller.Organization, k.channel, where)
		},
	}
}

// serviceRelation is the relation of a subscription to its service, which is a component of the events service. Its
// keys are ids of components.
func (k kind) serviceRelation() *legacy.Relation {
	return &legacy.Relation{
		To: "service",
		Fields: []legacy.Field{
			{Name: "service_name", Type: legacy.String, Find: "name"},
			{Name: "description", Type: legacy.String, Find: "description"},
			{Name: "group", Type: legacy.String, Find: "group"},
			{Name: "hidden", Type: legacy.Boolean, Find: "hidden"},
			{Name: "hidden_notifications", Type: legacy.Boolean, Find: "hiddenFromNotifications"},
		},
		Resolve: func(ctx context.Context, caller passport.Passport, id int64) (string, error) {
			ids, err := k.audience.ComponentIDs(ctx, caller.Organization, []find.Condition{find.Eq("legacyId", id)})
			if err != nil {
				return "", err
			}
			if len(ids) == 0 {
				return "", fault.New(fault.NotFound, "There is no such service.")
			}
			return ids[0], nil
		},
		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
			return k.audience.ComponentIDs(ctx, caller.Organization, where)
		},
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

// subscriptionView returns the subscription as the legacy interface shows it. The keys of the JSON are in alphabetical
// order.
func (k kind) subscriptionView(d audience.Detail) any {
	return map[string]any{
		"confirmed": d.Confirmed, k.name: k.addressView(d.Address), "resource_uri": legacy.URI(k.subscriptions, d.LegacyID),
		"service": serviceView{
			Description: d.Component.Description, Group: legacy.ShortName(d.Component.Group), Hidden: d.Component.Hidden,
			HiddenNotifications: d.Component.HiddenFromNotifications, ServiceName: legacy.ShortName(d.Component.Name),
			ResourceURI: legacy.URI("service", d.Component.LegacyID),
		},
	}
}
