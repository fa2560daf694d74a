// Package store declares the collections of organizations, users and audit entries, with the indexes for their queries.
// It also voids the credentials that the gateways have cached in Redis.
package store

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// New declares the collections in db and returns them.
func New(db *document.Database) account.Store {
	return account.Store{
		Organizations: document.Declare(db, organizations()),
		Users:         document.Declare(db, users()),
		Audit:         document.Declare(db, auditLog()),
		Next:          db.Next,
	}
}

func organizations() document.Schema[account.Organization] {
	type organization = account.Organization
	return document.Schema[organization]{
		Name:  "organizations",
		Key:   func(o *organization) string { return o.ID },
		Shard: document.Whole("A name for single sign-on is unique on the installation. An organization has one record."),
		Fields: []document.Field[organization]{
			{Name: account.FieldState, Value: func(o *organization) any { return o.State }},
			{Name: account.FieldStale, Value: func(o *organization) any { return optional.OrNull(o.StaleSince != nil) }},
			{Name: account.FieldSignOn, Value: signOnName},
		},
		Indexes: []document.Index{
			{Name: "state", Fields: []string{account.FieldState}},
			{Name: "stale", Fields: []string{account.FieldStale}},
			{Name: account.IndexSignOn, Fields: []string{account.FieldSignOn}, Unique: true},
		},
	}
}

// users declares the collection of users. A deleted user whose record is not removed yet has no value for any field
// except FieldStale. So only a query by FieldStale finds the user, and the user name is available.
func users() document.Schema[account.User] {
	type user = account.User
	field := func(name string, value func(u *user) any) document.Field[user] {
		return document.Field[user]{Name: name, Value: func(u *user) any {
			if u.DeletedAt != nil {
				return nil
			}
			return value(u)
		}}
	}
	return document.Schema[user]{
		Name:  "users",
		Key:   func(u *user) string { return u.ID },
		Shard: document.Whole("A username is unique on the installation. A key, a session and an address find a user without an organization."),
		Fields: []document.Field[user]{
			field(account.FieldOrganization, func(u *user) any { return u.Organization }),
			field(account.FieldLegacyID, func(u *user) any { return u.LegacyID }),
			field(account.FieldUsername, func(u *user) any { return u.Username }),
			field(account.FieldEmail, func(u *user) any { return u.Email }),
			field(account.FieldFirstName, func(u *user) any { return u.FirstName }),
			field(account.FieldLastName, func(u *user) any { return u.LastName }),
			field(account.FieldActive, func(u *user) any { return !u.Disabled }),
			field(account.FieldCreatedAt, func(u *user) any { return account.Second(&u.CreatedAt) }),
			field(account.FieldLastLoginAt, func(u *user) any { return account.Second(u.LastLoginAt) }),
			field(account.FieldAddress, func(u *user) any { return account.Address(u.Email) }),
			field(account.FieldSignInName, func(u *user) any { return optional.OrNull(u.SignInName()) }),
			field(account.FieldProvenName, func(u *user) any { return optional.OrNull(u.ProvenName()) }),
			field(account.FieldSubject, func(u *user) any { return optional.OrNull(u.Subject) }),
			{Name: account.FieldKeyIDs, Many: true, Value: keyIDs},
			{Name: account.FieldSessionIDs, Many: true, Value: sessionIDs},
			{Name: account.FieldStale, Value: func(u *user) any { return optional.OrNull(u.StaleSince != nil || u.DeletedAt != nil) }},
		},
		Indexes: []document.Index{
			{Name: account.IndexLegacy, Fields: []string{account.FieldOrganization, account.FieldLegacyID}, Unique: true},
			{Name: "username", Fields: []string{account.FieldUsername}, Unique: true},
			{Name: "sign_in_name", Fields: []string{account.FieldSignInName}},
			{Name: "proven_name", Fields: []string{account.FieldProvenName}},
			{Name: "org_address", Fields: []string{account.FieldOrganization, account.FieldAddress}},
			{Name: account.IndexSubject, Fields: []string{account.FieldOrganization, account.FieldSubject}, Unique: true},
			{Name: "keys", Fields: []string{account.FieldKeyIDs}},
			{Name: "sessions", Fields: []string{account.FieldSessionIDs}},
			{Name: "stale", Fields: []string{account.FieldStale}},
		},
	}
}

// auditLog declares the collection of audit entries. There is an index for each combination of filters, ordered by time. A
// filter by action needs no filter by type.
func auditLog() document.Schema[topic.AuditEntry] {
	type entry = topic.AuditEntry
	schema := document.Schema[entry]{
		Name:  "audit",
		Key:   func(e *entry) string { return e.ID },
		Shard: document.By(account.FieldOrganization),
		Fields: []document.Field[entry]{
			{Name: account.FieldOrganization, Value: func(e *entry) any { return e.Organization }},
			{Name: account.FieldActor, Value: func(e *entry) any { return optional.OrNull(e.Actor.ID) }},
			{Name: account.FieldAction, Value: func(e *entry) any { return e.Action }},
			{Name: account.FieldEntityType, Value: func(e *entry) any { return e.EntityType }},
			{Name: account.FieldEntityID, Value: func(e *entry) any { return e.EntityID }},
			{Name: account.FieldOccurredAt, Value: func(e *entry) any { return e.OccurredAt }},
		},
	}
	for _, actor := range []string{"", account.FieldActor} {
		for _, kind := range []string{"", account.FieldEntityType, account.FieldAction} {
			for _, entity := range []string{"", account.FieldEntityID} {
				fields := slices.DeleteFunc([]string{account.FieldOrganization, actor, kind, entity, account.FieldOccurredAt},
					func(field string) bool { return field == "" })
				schema.Indexes = append(schema.Indexes, document.Index{Name: strings.Join(fields, "_"), Fields: fields})
			}
		}
	}
	return schema
}

func keyIDs(u *account.User) any {
	ids := []string{}
	if u.DeletedAt == nil {
		for _, key := range u.ActiveKeys() {
			ids = append(ids, key.ID)
		}
	}
	return ids
}

func sessionIDs(u *account.User) any {
	ids := []string{}
	for _, session := range u.Sessions {
		if session.EndedAt == nil && u.DeletedAt == nil {
			ids = append(ids, session.ID)
		}
	}
	return ids
}

func signOnName(o *account.Organization) any {
	if o.SignOn == nil {
		return nil
	}
	return o.SignOn.Name
}
