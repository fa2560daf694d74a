package pages

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// fact is a line of a list of facts.
type fact struct{ Name, Value string }

// organizationPage is the data of organization.html.
type organizationPage struct {
	Form  *forms.Form
	Facts []fact
}

func organizationForm(o app.Organization) *forms.Form {
	form := forms.New("/organization", "Save changes",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 100, Values: []string{o.Name}},
		&forms.Field{Kind: forms.Tick, Name: "requireTwoFactor", Label: "Require a second factor", Hint: "Members without one can do nothing but set one up."})
	if o.RequireTwoFactor {
		form.Field("requireTwoFactor").Values = []string{"on"}
	}
	form.Version = o.Version
	return form
}

// words returns the name of a member of JSON as words: "maxDashboards" becomes "Max dashboards".
func words(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i == 0 {
			r = unicode.ToUpper(r)
		} else if unicode.IsUpper(r) {
			out.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// limitLabel returns the name of a limit of a plan.
func limitLabel(name string) string {
	if known := map[string]string{
		"appPerMinute": "App calls per minute", "legacyPerHour": "Legacy calls per hour", "uniqueEndpoints": "Endpoints", "maxDashboards": "Dashboards",
	}[name]; known != "" {
		return known
	}
	return words(name)
}

// limitText returns the value of a limit, with commas between groups of three digits, or "unlimited" if value is no number.
func limitText(value any) string {
	number, is := value.(float64)
	if !is {
		return "unlimited"
	}
	text := strconv.FormatFloat(number, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// organization shows and changes the organization.
func (p *pages) organization(v *visit) error {
	found, err := v.app.Organization(v.Request.Context())
	if err != nil {
		return err
	}
	form := organizationForm(found.Organization)
	v.fill(form)
	show := func(status int) error {
		data := organizationPage{Form: form, Facts: []fact{{"Plan", words(found.Organization.Plan)}}}
		for _, name := range slices.Sorted(maps.Keys(found.Organization.Limits)) {
			data.Facts = append(data.Facts, fact{limitLabel(name), limitText(found.Organization.Limits[name])})
		}
		return v.show(status, "organization.html", "Organization", data)
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		_, err := v.app.ChangeOrganization(v.Request.Context(), form.Version, app.OrganizationChange{Name: form.Value("name"), RequireTwoFactor: form.Ticked("requireTwoFactor")})
		if outdated(err, form.Version, found.Organization.Version) {
			return v.conflict(form, organizationForm(found.Organization), found.Organization.ID, found.Organization.Name)
		}
		if err != nil {
			return err
		}
		return v.done("/organization", "saved")
	}, show)
}

const signOnPath = "/sign-on"

// signOnPage is the data of sign_on.html.
type signOnPage struct {
	Form   *forms.Form
	SignOn *app.SignOn // nil: there is none
	Link   string      // address with which members sign in
	Back   string      // address to which the provider sends members back
	Test   *forms.Form
	Result *app.SignOnTest
}

// signOnForm returns the form for a provider. profile is the profile of the member who fills in the form.
func signOnForm(s *app.SignOn, profile app.Profile) *forms.Form {
	roles := rolesField()
	roles.Name, roles.Label, roles.Required = "defaultRoles", "Roles of new members", false
	secret := "The provider shows it once."
	current := app.SignOn{}
	if s != nil {
		current, secret = *s, "Leave this empty to keep the stored secret."
	}
	var mapped strings.Builder
	for _, value := range slices.Sorted(maps.Keys(current.RoleMap)) {
		mapped.WriteString(value + " = " + strings.Join(current.RoleMap[value], ", ") + "\n")
	}
	form := forms.New(signOnPath, "Save changes",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 63, Hint: "Part of the sign-in link: small letters, digits and hyphens.", Values: []string{current.Name}},
		&forms.Field{Kind: forms.Text, Name: "label", Label: "Label of the button", Required: true, Max: 60, Placeholder: "Acme login", Values: []string{current.Label}},
		&forms.Field{Kind: forms.URL, Name: "issuer", Label: "Issuer", Required: true, Max: 500, Placeholder: "https://login.example.com", Hint: "The provider's address, as in its OpenID configuration.", Values: []string{current.Issuer}},
		&forms.Field{Kind: forms.Text, Name: "clientId", Label: "Client ID", Required: true, Autocomplete: "off", Values: []string{current.ClientID}},
		&forms.Field{Kind: forms.Password, Name: "clientSecret", Label: "Client secret", Required: s == nil, Max: 1000, Autocomplete: "off", Hint: secret},
		&forms.Field{Kind: forms.Tick, Name: "createMembers", Label: "Create members at their first sign-in", Hint: "Otherwise only members whom you have invited can sign in.", Values: ticked(current.CreateMembers)},
		roles,
		&forms.Field{Kind: forms.Text, Name: "rolesClaim", Label: "Claim with roles", Max: 100, Hint: "Its values set the roles at each sign-in, by the table below.", Values: []string{current.RolesClaim}},
		&forms.Field{Kind: forms.Area, Name: "roleMap", Label: "Roles by value of the claim", Max: 10000, Hint: "One line for each value: status-admins = admin, event", Values: []string{strings.TrimSpace(mapped.String())}},
		&forms.Field{Kind: forms.Tick, Name: "enforced", Label: "Enforce single sign-on", Hint: "Members sign in with the provider only. One administrator must keep a password as the way back in.", Values: ticked(current.Enforced)})
	form.Field("defaultRoles").Values = current.DefaultRoles
	if profile.HasPassword {
		form.Fields = append(form.Fields, &forms.Field{Kind: forms.Tick, Name: "keepPassword", Label: "Keep my password as this way back in", Hint: "You then may use it although single sign-on is enforced.", Values: ticked(profile.AllowPasswordAuth)})
	}
	return form
}

// readRoleMap reads lines such as "status-admins = admin, event". It returns the roles by value, or the first line that it
// cannot read.
func readRoleMap(text string) (map[string][]string, string) {
	byValue := map[string][]string{}
	known := []string{passport.RoleAdmin, passport.RoleEvent, passport.RoleSubscriber, passport.RoleAPI}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := strings.LastIndex(line, "=")
		if at <= 0 {
			return nil, line
		}
		value := strings.TrimSpace(line[:at])
		for role := range strings.SplitSeq(line[at+1:], ",") {
			if role = strings.TrimSpace(role); !slices.Contains(known, role) {
				return nil, line
			}
			byValue[value] = append(byValue[value], role)
		}
	}
	return byValue, ""
}

// signOn shows and changes single sign-on.
func (p *pages) signOn(v *visit) error {
	found, err := v.app.SignOn(v.Request.Context())
	if err != nil {
		return err
	}
	profile, err := v.profile()
	if err != nil {
		return err
	}
	form := signOnForm(found.SignOn, profile)
	v.fill(form)
	show := func(status int) error { return v.showSignOn(status, found.SignOn, profile, form, nil) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		byValue, wrong := readRoleMap(form.Value("roleMap"))
		if wrong != "" {
			return &app.Error{Status: http.StatusBadRequest, Field: "roleMap", Message: "Write each line as “value = role, role”. The roles are admin, event, subscriber and api. This line is not like that: " + wrong}
		}
		change := app.SignOnChange{
			Name: form.Value("name"), Label: form.Value("label"), Issuer: form.Value("issuer"), ClientID: form.Value("clientId"), ClientSecret: form.Value("clientSecret"),
			Enforced: form.Ticked("enforced"), CreateMembers: form.Ticked("createMembers"), DefaultRoles: append([]string{}, form.Field("defaultRoles").Values...),
			RolesClaim: form.Value("rolesClaim"), RoleMap: byValue,
		}
		if err := v.setSignOn(change, profile, form); err != nil {
			return err
		}
		return v.done(signOnPath, "saved")
	}, show)
}

// setSignOn stores single sign-on. If the App interface refuses this because no administrator has a way back in, and the
// member has ticked keepPassword, setSignOn allows the member's password and tries again.
func (v *visit) setSignOn(change app.SignOnChange, profile app.Profile, form *forms.Form) error {
	_, err := v.app.SetSignOn(v.Request.Context(), change)
	failed := app.As(err)
	if failed == nil || failed.Status != http.StatusConflict || failed.Field != "" || !profile.HasPassword || !form.Ticked("keepPassword") {
		return err
	}
	keep := true
	if _, err := v.app.ChangeUser(v.Request.Context(), profile.UserID, 0, app.UserChange{AllowPasswordAuth: &keep}); err != nil {
		return err
	}
	_, err = v.app.SetSignOn(v.Request.Context(), change)
	return err
}

func (v *visit) showSignOn(status int, s *app.SignOn, profile app.Profile, form *forms.Form, result *app.SignOnTest) error {
	data := signOnPage{Form: form, SignOn: s, Test: forms.New(signOnPath+"/test", "Test the provider"), Result: result}
	data.Test.Page = signOnPath
	data.Back = v.pages.Links.ConsoleBaseURL + root + "/sign-in/sso-callback/" + profile.Organization.ID
	if s != nil {
		data.Link = v.pages.Links.ConsoleBaseURL + root + "/sign-in/sso/" + s.Name
	}
	return v.show(status, "sign_on.html", "Single sign-on", data)
}

// signOnTest checks that the provider sends usable metadata, and shows the result.
func (p *pages) signOnTest(v *visit) error {
	return v.act(signOnPath, func() error {
		found, err := v.app.SignOn(v.Request.Context())
		if err != nil {
			return err
		}
		result, err := v.app.TestSignOn(v.Request.Context())
		if err != nil {
			return err
		}
		profile, err := v.profile()
		if err != nil {
			return err
		}
		return v.showSignOn(http.StatusOK, found.SignOn, profile, signOnForm(found.SignOn, profile), &result)
	})
}

func (p *pages) signOnDelete(v *visit) error {
	form := forms.New(signOnPath+"/delete", "Remove single sign-on")
	form.Danger = true
	return v.ask("Remove single sign-on?", confirm{
		Back: signOnPath, BackLabel: "Single sign-on", Text: "Members can then sign in with a password or a passkey only.", Points: []string{"Members without a password need a new link from an administrator."}, Form: form,
	}, func() error {
		if _, err := v.app.DeleteSignOn(v.Request.Context()); err != nil {
			return err
		}
		return v.done(signOnPath, "sign-on-deleted")
	})
}
