package pages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const usersPath = "/users"

// usersPage is the data of users.html.
type usersPage struct {
	Users []app.User
	Query string
	All   int // number of members without the search
	Me    string
}

// users lists the members that the text in the address finds, in the order of the App interface.
func (p *pages) users(v *visit) error {
	found, err := v.app.Users(v.Request.Context())
	if err != nil {
		return err
	}
	data := usersPage{Query: strings.TrimSpace(v.Query("q")), All: len(found.Users), Me: v.caller.User}
	for _, u := range found.Users {
		if isMember(u, data.Query) {
			data.Users = append(data.Users, u)
		}
	}
	return v.show(http.StatusOK, "users.html", "Members", data)
}

// isMember reports whether the names and the address of the member contain each word of the text.
func isMember(u app.User, text string) bool {
	known := strings.ToLower(u.FirstName + " " + u.LastName + " " + u.Username + " " + u.Email)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(text)), func(word string) bool { return !strings.Contains(known, word) })
}

// nameOf returns the name of a member, or the user name if there is none.
func nameOf(u app.User) string {
	if name := strings.TrimSpace(u.FirstName + " " + u.LastName); name != "" {
		return name
	}
	return u.Username
}

// Name returns the name of a member for templates.
func (usersPage) Name(u app.User) string { return nameOf(u) }

func rolesField() *forms.Field {
	return &forms.Field{Kind: forms.Ticks, Name: "roles", Label: "Roles", Required: true, Options: []forms.Option{
		{Value: passport.RoleAdmin, Label: roleLabel(passport.RoleAdmin), Hint: "Everything, including members and settings."},
		{Value: passport.RoleEvent, Label: roleLabel(passport.RoleEvent), Hint: "Report and update incidents and maintenance."},
		{Value: passport.RoleSubscriber, Label: roleLabel(passport.RoleSubscriber), Hint: "Manage subscribers, endpoints and deliveries."},
		{Value: passport.RoleAPI, Label: roleLabel(passport.RoleAPI), Hint: "Use the legacy interface with a key."},
	}}
}

func memberFields() []*forms.Field {
	return []*forms.Field{
		{Kind: forms.Text, Name: "firstName", Label: "First name", Max: 100, Autocomplete: "off"},
		{Kind: forms.Text, Name: "lastName", Label: "Last name", Max: 100, Autocomplete: "off"},
		{Kind: forms.Email, Name: "email", Label: "Email", Required: true, Max: 254, Autocomplete: "off"},
		rolesField(),
	}
}

// userNew invites a member. The response shows the link once.
func (p *pages) userNew(v *visit) error {
	form := forms.New(usersPath+"/new", "Send the invitation", append([]*forms.Field{
		{Kind: forms.Text, Name: "username", Label: "User name", Required: true, Max: 150, Autocomplete: "off", Hint: "For signing in. Without spaces, colons and @."},
	}, memberFields()...)...)
	form.Cancel = usersPath
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "form.html", "Invite a member", formPage{usersPath, "Members", "The member gets a mail with a link, which is valid for 72 hours, and sets a password with it.", form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		invited, err := v.app.Invite(v.Request.Context(), app.NewUser{
			Username: form.Value("username"), Email: form.Value("email"), FirstName: form.Value("firstName"), LastName: form.Value("lastName"), Roles: form.Field("roles").Values,
		})
		if err != nil {
			return err
		}
		return v.showSecret("invited.html", isolate(nameOf(invited.User))+" is invited", invitedPage{invited.User, invited.Invitation, nameOf(invited.User)})
	}, show)
}

// invitedPage is the data of invited.html.
type invitedPage struct {
	User       app.User
	Invitation app.Invitation
	Name       string
}

// userPage is the data of user.html.
type userPage struct {
	User           app.User
	Name           string
	Form           *forms.Form
	Toggle, Invite *forms.Form
	Self           bool
}

func userForm(u app.User) *forms.Form {
	form := forms.New(usersPath+"/"+u.UserID, "Save changes", memberFields()...)
	form.Fields = append(form.Fields, &forms.Field{Kind: forms.Tick, Name: "allowPasswordAuth", Label: "May sign in with a password", Hint: "Without it, the member signs in with a passkey or single sign-on. If single sign-on is enforced, only members with this tick may use their password."})
	form.Version = u.Version
	form.Field("firstName").Values, form.Field("lastName").Values = []string{u.FirstName}, []string{u.LastName}
	form.Field("email").Values, form.Field("roles").Values = []string{u.Email}, u.Roles
	if u.AllowPasswordAuth {
		form.Field("allowPasswordAuth").Values = []string{"on"}
	}
	if !u.HasPassword {
		form.Fields = form.Fields[:len(form.Fields)-1]
	}
	return form
}

// user shows and changes a member.
func (p *pages) user(v *visit) error {
	found, err := v.app.User(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	form := userForm(found.User)
	v.fill(form)
	show := func(status int) error { return v.showUser(status, found.User, form) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		first, last, email, roles := form.Value("firstName"), form.Value("lastName"), form.Value("email"), form.Field("roles").Values
		in := app.UserChange{FirstName: &first, LastName: &last, Email: &email, Roles: &roles}
		if found.User.HasPassword {
			if allow := form.Ticked("allowPasswordAuth"); allow != found.User.AllowPasswordAuth {
				in.AllowPasswordAuth = &allow
			}
		}
		_, err := v.app.ChangeUser(v.Request.Context(), found.User.UserID, form.Version, in)
		if outdated(err, form.Version, found.User.Version) {
			return v.conflict(form, userForm(found.User), found.User.UserID, nameOf(found.User))
		}
		if err != nil {
			return err
		}
		return v.done(usersPath+"/"+found.User.UserID, "saved")
	}, show)
}

func (v *visit) showUser(status int, u app.User, form *forms.Form) error {
	data := userPage{User: u, Name: nameOf(u), Form: form, Self: u.UserID == v.caller.User}
	at := usersPath + "/" + u.UserID
	if data.Toggle = forms.New(at+"/disable", "Disable"); u.Disabled {
		data.Toggle = forms.New(at+"/enable", "Enable")
	}
	if data.Invite = forms.New(at+"/invitation", "Send the invitation again"); u.HasPassword {
		data.Invite.Submit = "Send a link for a new password"
	}
	return v.show(status, "user.html", data.Name, data)
}

// userDisable disables or enables a member. The next page offers to reverse the change.
func (p *pages) userDisable(v *visit) error {
	at := usersPath + "/" + v.Param("id")
	return v.act(at, func() error {
		disable := strings.HasSuffix(v.Request.URL.Path, "/disable")
		found, err := v.app.ChangeUser(v.Request.Context(), v.Param("id"), 0, app.UserChange{Disabled: &disable})
		if err != nil {
			return err
		}
		if disable {
			v.notify("disabled", nameOf(found.User), at+"/enable")
		} else {
			v.notify("enabled", nameOf(found.User), at+"/disable")
		}
		return v.redirect(at)
	})
}

// userInvite sends a member a new link. If the response of the App interface has the link, the page shows it once.
func (p *pages) userInvite(v *visit) error {
	at := usersPath + "/" + v.Param("id")
	return v.act(at, func() error {
		found, err := v.app.User(v.Request.Context(), v.Param("id"))
		if err != nil {
			return err
		}
		link, err := v.app.InviteAgain(v.Request.Context(), v.Param("id"))
		if err != nil {
			return err
		}
		if link.Invitation.URL == nil {
			v.notify("mailed", nameOf(found.User), "")
			return v.redirect(at)
		}
		return v.showSecret("invited.html", isolate(nameOf(found.User))+" is invited", invitedPage{found.User, link.Invitation, nameOf(found.User)})
	})
}

// askUser is ask for a change of the member in the path.
func (v *visit) askUser(title, text, label, path string, points []string, do func(app.User) error) error {
	found, err := v.app.User(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	name := nameOf(found.User)
	form := forms.New(usersPath+"/"+found.User.UserID+path, label)
	form.Danger = true
	for i := range points {
		points[i] = strings.ReplaceAll(points[i], "%s", isolate(name))
	}
	return v.ask(strings.ReplaceAll(title, "%s", isolate(name)), confirm{
		Back: usersPath + "/" + found.User.UserID, BackLabel: name, Text: strings.ReplaceAll(text, "%s", isolate(name)), Points: points, Form: form,
	}, func() error { return do(found.User) })
}

func (p *pages) userFactors(v *visit) error {
	return v.askUser("Remove the second factors of %s?", "For a member who has lost the phone and the recovery codes. Make sure that %s has asked you for it.", "Remove second factors", "/second-factors",
		[]string{"The authenticator app, the recovery codes and all passkeys are removed.", "All sessions of the member end."},
		func(u app.User) error {
			if _, err := v.app.RemoveSecondFactors(v.Request.Context(), u.UserID); err != nil {
				return err
			}
			v.notify("factors", nameOf(u), "")
			return v.redirect(usersPath + "/" + u.UserID)
		})
}

func (p *pages) userDelete(v *visit) error {
	return v.askUser("Delete %s?", "This cannot be reversed. To keep the member for later, disable the account instead.", "Delete the member", "/delete",
		[]string{"All keys of %s stop working with the next request.", "All sessions end.", "Events, messages and the audit log stay."},
		func(u app.User) error {
			if _, err := v.app.DeleteUser(v.Request.Context(), u.UserID); err != nil {
				return err
			}
			v.notify("deleted", nameOf(u), "")
			return v.redirect(usersPath)
		})
}
