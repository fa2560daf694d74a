package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// users returns the legacy resource user/. It is read-only.
func users(accounts *account.Accounts) legacy.Resource[account.User] {
	return legacy.Resource[account.User]{
		Name: "user",
		Fields: []legacy.Field{
			{Name: "date_joined", Type: legacy.Datetime, Readonly: true, Find: account.FieldCreatedAt, Help: "When the user was created"},
			{Name: "email", Type: legacy.String, Readonly: true, Find: account.FieldEmail, Help: "Email address"},
			{Name: "first_name", Type: legacy.String, Readonly: true, Find: account.FieldFirstName},
			{Name: "is_active", Type: legacy.Boolean, Readonly: true, Find: account.FieldActive, Help: "Whether the user may use the service"},
			{Name: "last_login", Type: legacy.Datetime, Readonly: true, Nullable: true, Find: account.FieldLastLoginAt, Help: "When the user was last seen; null for never"},
			{Name: "last_name", Type: legacy.String, Readonly: true, Find: account.FieldLastName},
			{Name: "username", Type: legacy.String, Readonly: true, Unique: true, Find: account.FieldUsername},
		},
		Doc: legacy.Doc{
			Name: "User", Names: "Users", One: "a user", Many: "users",
			Record: `{"date_joined": "2026-01-05T08:00:00", "email": "ada@example.com", "first_name": "Ada", "is_active": true,
				"last_login": null, "last_name": "Byron", "resource_uri": "/api/v1/user/1/", "username": "ada"}`,
		},
		Indexes: []legacy.Index{{Name: account.IndexLegacy}},
		ID:      func(u account.User) int64 { return u.LegacyID },
		View:    func(u account.User) any { return viewLegacyUser(u) },
		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]account.User, int64, error) {
			return accounts.Members(ctx, caller.Organization, q)
		},
	}
}

type legacyUserView struct {
	DateJoined  legacy.Time  `json:"date_joined"`
	Email       string       `json:"email"`
	FirstName   string       `json:"first_name"`
	IsActive    bool         `json:"is_active"`
	LastLogin   *legacy.Time `json:"last_login"`
	LastName    string       `json:"last_name"`
	ResourceURI string       `json:"resource_uri"`
	Username    string       `json:"username"`
}

func viewLegacyUser(u account.User) legacyUserView {
	return legacyUserView{
		DateJoined: legacy.Time(*account.Second(&u.CreatedAt)), Email: u.Email, FirstName: u.FirstName, IsActive: !u.Disabled,
		LastLogin: legacy.TimeOf(account.Second(u.LastLoginAt)), LastName: u.LastName, Username: u.Username,
		ResourceURI: legacy.URI("user", u.LegacyID),
	}
}
