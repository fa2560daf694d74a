package account

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// SignInName returns the mail address with which the user can sign in if nobody else has it, in lower case. It returns ""
// for users who are disabled, have no password, or have set the address without proof.
func (u User) SignInName() string {
	if u.Disabled || u.Password == "" || u.OwnEmail {
		return ""
	}
	return Address(u.Email)
}

// ProvenName returns the SignInName if it is proven, else "".
func (u User) ProvenName() string {
	if name := u.SignInName(); name == u.ProvenEmail {
		return name
	}
	return ""
}

// named returns the user who signs in with the name. This is the first of these users who is enabled and has a password:
// the user with this user name, the only user with this ProvenName, the only user with this SignInName. So members of
// other organizations cannot hide the user whose address is proven. If there is none, named returns the enabled user with
// this user name, although this user has no password, else the zero User.
func (a *Accounts) named(ctx context.Context, name string) (User, error) {
	var noPassword User
	address := Address(name)
	for _, condition := range []find.Condition{find.Eq(FieldUsername, name), find.Eq(FieldProvenName, address), find.Eq(FieldSignInName, address)} {
		page, err := a.Store.Users.Find(ctx, find.Query{Where: []find.Condition{condition}, Limit: 2})
		switch {
		case err != nil:
			return User{}, err
		case len(page.Items) != 1 || page.Items[0].Disabled:
		case page.Items[0].Password != "":
			return page.Items[0], nil
		default:
			noPassword = page.Items[0]
		}
	}
	return noPassword, nil
}
