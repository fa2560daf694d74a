package command

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

type userCommands struct {
	List   listUsers  `cmd:"" help:"List the users of an organization."`
	Create createUser `cmd:"" help:"Create a user. key creates the keys of the user."`
	Change changeUser `cmd:"" help:"Change the roles of a user, or disable or enable a user. The change takes effect for the next request."`
	Invite inviteUser `cmd:"" help:"Print a link with which a user sets a password for the console. It works once, for 72 hours."`
	Delete deleteUser `cmd:"" help:"Delete a user. The user's keys and sessions end."`
}

type user struct {
	ID, Username, Email, FirstName, LastName, CreatedAt string
	Roles                                               []string
	Disabled                                            bool
}

func (u user) row() []string {
	state := "enabled"
	if u.Disabled {
		state = "disabled"
	}
	return []string{u.ID, u.Username, u.Email, strings.Join(u.Roles, ","), state}
}

var userHeadings = []string{"ID", "USERNAME", "EMAIL", "ROLES", "STATE"}

type listUsers struct {
	connection
	Organization string `arg:"" help:"Id of the organization."`
}

// Run lists the users.
func (c *listUsers) Run(ctx context.Context) error {
	var out struct{ Users []user }
	return c.show(ctx, http.MethodGet, address("organizations", c.Organization, "users"), nil, &out, func() [][]string {
		rows := [][]string{userHeadings}
		for _, u := range out.Users {
			rows = append(rows, u.row())
		}
		return rows
	})
}

type createUser struct {
	connection
	Organization string   `arg:"" help:"Id of the organization."`
	Username     string   `arg:"" help:"Name of the user, unique on the installation."`
	Email        string   `arg:"" help:"Mail address."`
	Role         []string `name:"role" required:"" enum:"admin,event,subscriber,api" help:"Role: admin, event, subscriber or api. Repeat the flag for more."`
	FirstName    string   `name:"first-name" help:"First name."`
	LastName     string   `name:"last-name" help:"Last name."`
}

// Run creates the user.
func (c *createUser) Run(ctx context.Context) error {
	return c.user(ctx, http.MethodPost, address("organizations", c.Organization, "users"), map[string]any{
		"username": c.Username, "email": c.Email, "roles": c.Role, "firstName": c.FirstName, "lastName": c.LastName,
	})
}

type changeUser struct {
	connection
	ID      string   `arg:"" help:"Id of the user."`
	Role    []string `name:"role" enum:"admin,event,subscriber,api" help:"The new roles, instead of the present ones. Repeat the flag for more."`
	Disable bool     `name:"disable" xor:"state" help:"Refuse the user's keys, and end the user's sessions."`
	Enable  bool     `name:"enable" xor:"state" help:"Let the user sign in, and accept the user's keys, again."`
}

// Run changes the user.
func (c *changeUser) Run(ctx context.Context) error {
	patch := map[string]any{}
	if len(c.Role) > 0 {
		patch["roles"] = c.Role
	}
	if c.Disable || c.Enable {
		patch["disabled"] = c.Disable
	}
	if len(patch) == 0 {
		return errors.New("nothing to change: give --role, --disable or --enable")
	}
	return c.user(ctx, http.MethodPatch, address("users", c.ID), patch)
}

type inviteUser struct {
	connection
	ID string `arg:"" help:"Id of the user."`
}

// Run creates the link and prints the link.
func (c *inviteUser) Run(ctx context.Context) error {
	var out struct{ URL, ExpiresAt string }
	return c.show(ctx, http.MethodPost, address("users", c.ID, "invitation"), nil, &out, func() [][]string {
		return [][]string{{"link", out.URL}, {"expires", out.ExpiresAt}}
	})
}

type deleteUser struct {
	connection
	ID string `arg:"" help:"Id of the user."`
}

// Run deletes the user and prints nothing.
func (c *deleteUser) Run(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodDelete, address("users", c.ID), nil, nil)
	return err
}

// user sends a request and prints the user in the response.
func (c connection) user(ctx context.Context, method, path string, in any) error {
	var out struct{ User user }
	return c.show(ctx, method, path, in, &out, func() [][]string { return [][]string{userHeadings, out.User.row()} })
}

type keyCommands struct {
	Create createKey `cmd:"" help:"Create a key for the App interface. Only this output shows it."`
	Legacy legacyKey `cmd:"" help:"Set the key for the legacy interface. Only this output shows it. The former legacy key stops working."`
}

type createKey struct {
	connection
	User string `arg:"" help:"Id of the user."`
	Name string `name:"name" help:"Name of the key."`
}

// Run creates the key and prints the key.
func (c *createKey) Run(ctx context.Context) error {
	in := map[string]any{}
	if c.Name != "" {
		in["name"] = c.Name
	}
	var out struct{ KeyID, APIKey string }
	return c.show(ctx, http.MethodPost, address("users", c.User, "api-keys"), in, &out, func() [][]string {
		return [][]string{{"key id", out.KeyID}, {"api key", out.APIKey}}
	})
}

type legacyKey struct {
	connection
	User string `arg:"" help:"Id of the user."`
}

// Run sets the key and prints the key.
func (c *legacyKey) Run(ctx context.Context) error {
	var out struct{ Username, Key string }
	return c.show(ctx, http.MethodPost, address("users", c.User, "legacy-key"), nil, &out, func() [][]string {
		return [][]string{{"username", out.Username}, {"legacy key", out.Key}}
	})
}
