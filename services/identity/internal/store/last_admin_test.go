package store_test

import (
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// withBob returns a setting with the admins ann and bob, both with a password that they may use, and the change of a member
// by ann's key.
func withBob(t *testing.T) (s *setting, bob account.User, change func(id string, p account.UserPatch) error) {
	s = open(t)
	bob, err := s.AddUser(t.Context(), s.user.Organization, account.NewUser{
		Username: "bob", Email: "bob@example.com", Roles: []account.Role{account.Admin},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{s.user.ID, bob.ID} {
		if _, err := s.store.Users.Change(t.Context(), id, func(u *account.User) error {
			u.Password, u.PasswordAuth = "stored", new(true)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.store.Organizations.Change(t.Context(), s.user.Organization, func(o *account.Organization) error {
		o.SignOn = &account.SignOn{Name: "acme"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s, bob, func(id string, p account.UserPatch) error {
		who := account.Who{Organization: s.user.Organization, User: s.user.ID, KeyID: s.key.ID}
		_, err := s.ChangeMember(t.Context(), who, id, func(account.User) (account.UserPatch, error) { return p, nil })
		return err
	}
}

var noAdmin = account.UserPatch{Roles: optional.Of([]account.Role{account.Event})}

// An admin who may no longer use a password keeps the role. So another admin can lose the role meanwhile.
func TestAnAdminWhoLosesThePasswordStaysAnAdmin(t *testing.T) {
	s, bob, change := withBob(t)
	s.ahead = func() {
		if err := change(bob.ID, noAdmin); err != nil {
			t.Errorf("bob loses the role while ann loses the password: %v", err)
		}
	}
	if err := change(s.user.ID, account.UserPatch{PasswordAuth: optional.Of(false)}); err != nil {
		t.Fatal(err)
	}
}

// While a change takes the role of an admin, another change of the same admin begins and is refused. One admin stays all
// the same.
func TestARefusedChangeDoesNotHideThatAnAdminLeaves(t *testing.T) {
	s, bob, change := withBob(t)
	s.ahead = func() {
		wrong := noAdmin
		wrong.FirstName = optional.Of("two\nlines")
		if err := change(bob.ID, wrong); !fault.Is(err, fault.Invalid) {
			t.Errorf("a wrong name: %v", err)
		}
		if err := change(s.user.ID, noAdmin); !fault.Is(err, fault.Conflict) {
			t.Errorf("ann leaves while bob leaves: %v", err)
		}
	}
	if err := change(bob.ID, noAdmin); err != nil {
		t.Error(err)
	}
	members, _, err := s.Members(t.Context(), s.user.Organization, find.Query{})
	if err != nil || !slices.ContainsFunc(members, func(u account.User) bool { return slices.Contains(u.Roles, account.Admin) }) {
		t.Errorf("no admin is left: %v", err)
	}
}
