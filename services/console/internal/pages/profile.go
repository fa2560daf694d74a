package pages

import (
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

func profileForm(of app.Profile) *forms.Form {
	return forms.New("/profile", "Save changes",
		&forms.Field{Kind: forms.Text, Name: "firstName", Label: "First name", Max: 100, Autocomplete: "given-name", Values: []string{of.FirstName}},
		&forms.Field{Kind: forms.Text, Name: "lastName", Label: "Last name", Max: 100, Autocomplete: "family-name", Values: []string{of.LastName}},
		&forms.Field{Kind: forms.Email, Name: "email", Label: "Email", Required: true, Max: 254, Autocomplete: "email", Hint: "Security messages and links to set a password go to this address. You can sign in with a new address after you have used such a link.", Values: []string{of.Email}},
		&forms.Field{Kind: forms.Text, Name: "timeZone", Label: "Time zone", Required: true, Max: 64, Hint: "Times in the console are in this zone, such as Europe/Berlin.", Members: []string{"preferences.timeZone"}, Values: []string{of.Preferences.TimeZone}},
		&forms.Field{Kind: forms.Segments, Name: "theme", Label: "Theme", Required: true, Options: []forms.Option{{Value: "system", Label: "As the system"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}, Values: []string{of.Preferences.Theme}},
		&forms.Field{Kind: forms.Segments, Name: "density", Label: "Rows in lists", Required: true, Options: []forms.Option{{Value: "comfortable", Label: "Comfortable"}, {Value: "compact", Label: "Compact"}}, Values: []string{of.Preferences.Density}},
		&forms.Field{Kind: forms.Tick, Name: "shortcuts", Label: "Keyboard shortcuts", Hint: "Press ? on any page for the list.", Values: ticked(of.Preferences.Shortcuts)})
}

// profile shows and changes the member's own profile.
func (p *pages) profile(v *visit) error {
	profile, err := v.profile()
	if err != nil {
		return err
	}
	form := profileForm(profile)
	v.fill(form)
	show := func(status int) error { return v.show(status, "form.html", "Profile", formPage{Form: form}) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		if _, err := time.LoadLocation(form.Value("timeZone")); err != nil || form.Value("timeZone") == "Local" {
			return &app.Error{Status: http.StatusBadRequest, Field: "timeZone", Message: "Enter a name such as Europe/Berlin or America/New_York."}
		}
		in := app.ProfileChange{FirstName: form.Value("firstName"), LastName: form.Value("lastName"), Preferences: app.Preferences{
			TimeZone: form.Value("timeZone"), Theme: form.Value("theme"), Density: form.Value("density"), Shortcuts: form.Ticked("shortcuts"),
		}}
		if email := form.Value("email"); email != profile.Email {
			in.Email = &email // a new address needs a recent sign-in
		}
		if _, err := v.app.ChangeProfile(v.Request.Context(), in); err != nil {
			return err
		}
		return v.done("/profile", "saved")
	}, show)
}

const shortcutsPath = "/profile/shortcuts"

// shortcuts lists the keyboard shortcuts of the pages that the member may open.
func (p *pages) shortcuts(v *visit) error {
	return v.show(http.StatusOK, "shortcuts.html", "Keyboard shortcuts", nil)
}

// formPage is the data of form.html.
type formPage struct {
	Back, BackLabel string
	Lede            string
	Form            *forms.Form
}

// ListsShortcuts reports whether the page links to the list of shortcuts: only the page of the profile does.
func (d formPage) ListsShortcuts() bool { return d.Form.Action == "/profile" }
