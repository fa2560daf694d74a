// Package store keeps organizations and users as documents, and voids what the
// gateways have cached of credentials in Redis.
package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// Store implements account.Store.
type Store struct {
	db            *document.Database
	organizations *document.Collection[account.Organization]
	users         *document.Collection[account.User]
}

// New declares the collections in db.
func New(db *document.Database) *Store {
	return &Store{
		db:            db,
		organizations: document.Declare(db, organizations()),
		users:         document.Declare(db, users()),
	}
}

func organizations() document.Schema[account.Organization] {
	type organization = account.Organization
	return document.Schema[organization]{
		Name: "organizations",
		Key:  func(o *organization) string { return o.ID },
		Fields: []document.Field[organization]{
			{Name: "state", Value: func(o *organization) any { return o.State }},
			{Name: "unsettled", Value: func(o *organization) any { return flag(o.Unsettled != nil) }},
		},
		Indexes: []document.Index{
			{Name: "state", Fields: []string{"state"}},
			{Name: "unsettled", Fields: []string{"unsettled"}},
		},
	}
}

// usernameIndex holds that a name is one user's on the whole installation.
const usernameIndex = "username"

// users declares the collection. A deleted user, whose record is only waiting to be
// removed, has no fields but unsettled: nothing finds it, and its name is free.
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
		Name: "users",
		Key:  func(u *user) string { return u.ID },
		Fields: []document.Field[user]{
			field("organization", func(u *user) any { return u.Organization }),
			field("legacyId", func(u *user) any { return u.LegacyID }),
			field("username", func(u *user) any { return u.Username }),
			field("email", func(u *user) any { return u.Email }),
			field("firstName", func(u *user) any { return u.FirstName }),
			field("lastName", func(u *user) any { return u.LastName }),
			field("active", func(u *user) any { return !u.Disabled }),
			field("joinedAt", func(u *user) any { return u.JoinedAt() }),
			field("lastLoginAt", func(u *user) any { return u.SeenAt() }),
			{Name: "keyIds", Many: true, Value: keyIDs},
			{Name: "unsettled", Value: func(u *user) any { return flag(u.Unsettled != nil || u.DeletedAt != nil) }},
		},
		Indexes: []document.Index{
			{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true},
			{Name: usernameIndex, Fields: []string{"username"}, Unique: true},
			{Name: "keys", Fields: []string{"keyIds"}},
			{Name: "unsettled", Fields: []string{"unsettled"}},
		},
	}
}

// flag is true or absent, so that an index holds the few that have it.
func flag(set bool) any {
	if set {
		return true
	}
	return nil
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

// AddOrganization implements account.Store.
func (s *Store) AddOrganization(ctx context.Context, o account.Organization) error {
	return s.organizations.Insert(ctx, o)
}

// Organization implements account.Store.
func (s *Store) Organization(ctx context.Context, id string) (account.Organization, error) {
	return s.organizations.Get(ctx, id)
}

// ChangeOrganization implements account.Store.
func (s *Store) ChangeOrganization(ctx context.Context, id string, change func(*account.Organization) error) (account.Organization, error) {
	return s.organizations.Update(ctx, id, silent(change))
}

// Organizations implements account.Store.
func (s *Store) Organizations(ctx context.Context, q find.Query) (find.Page[account.Organization], error) {
	return s.organizations.Find(ctx, q)
}

// NextLegacyID implements account.Store.
func (s *Store) NextLegacyID(ctx context.Context) (int64, error) { return s.db.Next(ctx, "user") }

// AddUser implements account.Store.
func (s *Store) AddUser(ctx context.Context, u account.User) error {
	err := s.users.Insert(ctx, u)
	if fault.Is(err, fault.Conflict) && document.ViolatedIndex(err) != usernameIndex {
		return fault.Wrap(fault.Internal, err, "an id was given twice")
	}
	return err
}

// User implements account.Store.
func (s *Store) User(ctx context.Context, id string) (account.User, error) {
	return s.users.Get(ctx, id)
}

// ChangeUser implements account.Store.
func (s *Store) ChangeUser(ctx context.Context, id string, change func(*account.User) error) (account.User, error) {
	return s.users.Update(ctx, id, silent(change))
}

// RemoveUser implements account.Store.
func (s *Store) RemoveUser(ctx context.Context, id string) error {
	return s.users.Delete(ctx, id, func(u *account.User) ([]topic.Message, error) {
		if u.DeletedAt == nil || u.Unsettled != nil {
			return nil, fault.New(fault.Internal, "a user is removed that is not ready for it")
		}
		return nil, nil
	})
}

// Users implements account.Store.
func (s *Store) Users(ctx context.Context, q find.Query) (find.Page[account.User], error) {
	return s.users.Find(ctx, q)
}

// CountUsers implements account.Store.
func (s *Store) CountUsers(ctx context.Context, q find.Query) (int64, error) {
	return s.users.Count(ctx, q)
}

// EachUser implements account.Store.
func (s *Store) EachUser(ctx context.Context, q find.Query, visit func(account.User) error) error {
	return s.users.Each(ctx, q, visit)
}

// silent is a change without messages: nobody else follows users and organizations.
func silent[T any](change func(*T) error) func(*T) ([]topic.Message, error) {
	return func(item *T) ([]topic.Message, error) {
		return nil, change(item)
	}
}
