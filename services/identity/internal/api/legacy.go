package api

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// users is the legacy resource user/, read-only.
func users(directory *account.Directory) legacy.Resource[account.User] {
	return legacy.Resource[account.User]{
		Name: "user",
		Fields: []legacy.Field{
			{Name: "date_joined", Type: legacy.Datetime, Readonly: true, Find: "joinedAt", Help: "When the user was created"},
			{Name: "email", Type: legacy.String, Readonly: true, Find: "email", Help: "Email address"},
			{Name: "first_name", Type: legacy.String, Readonly: true, Find: "firstName"},
			{Name: "is_active", Type: legacy.Boolean, Readonly: true, Find: "active", Help: "Whether the user may use the service"},
			{Name: "last_login", Type: legacy.Datetime, Readonly: true, Nullable: true, Find: "lastLoginAt", Help: "When the user was last seen; null for never"},
			{Name: "last_name", Type: legacy.String, Readonly: true, Find: "lastName"},
			{Name: "username", Type: legacy.String, Readonly: true, Unique: true, Find: "username"},
		},
		Indexes: []legacy.Index{{Name: "org_legacy"}},
		ID:      func(u account.User) int64 { return u.LegacyID },
		View:    func(u account.User) any { return viewLegacyUser(u) },
		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]account.User, int64, error) {
			return directory.Members(ctx, caller.Organization, q)
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
	joined := u.JoinedAt()
	return legacyUserView{
		DateJoined: legacy.Time(joined), Email: u.Email, FirstName: u.FirstName, IsActive: !u.Disabled,
		LastLogin: legacy.TimeOf(u.SeenAt()), LastName: u.LastName, Username: u.Username,
		ResourceURI: legacy.URI("user", u.LegacyID),
	}
}
