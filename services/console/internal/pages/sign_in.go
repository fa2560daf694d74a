package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// signInPage is the data of sign_in.html.
type signInPage struct {
	Form     *forms.Form
	Passkey  *forms.Form // the script fills in and sends this form
	Provider *app.Provider
	SSO      string // path of the single sign-on
}

// nextFields returns two hidden fields. next is the path of the page to show after the sign-in. kept is not empty if the browser
// has kept the values that the member typed.
func (v *visit) nextFields() []*forms.Field {
	next, kept := v.Query("next"), v.Query("kept")
	if v.isPost() {
		next, kept = v.PostForm("next"), v.PostForm("kept")
	}
	return []*forms.Field{
		{Kind: forms.Hidden, Name: "next", Max: 2048, Values: []string{safeNext(next)}},
		{Kind: forms.Hidden, Name: "kept", Max: 1, Values: []string{kept}},
	}
}

func keepField() *forms.Field {
	return &forms.Field{Kind: forms.Tick, Name: "keep", Label: "Keep me signed in"}
}

func (v *visit) passwordForm() *forms.Form {
	return forms.New("/sign-in", "Sign in", append([]*forms.Field{
		{Kind: forms.Text, Name: "username", Label: "User name or email", Required: true, Autocomplete: "username webauthn"},
		{Kind: forms.Password, Name: "password", Label: "Password", Required: true, Autocomplete: "current-password"},
		keepField(),
	}, v.nextFields()...)...)
}

func (v *visit) passkeyForm() *forms.Form {
	form := forms.New("/sign-in/passkey", "", append([]*forms.Field{
		{Kind: forms.Hidden, Name: "ticket", Max: 1 << 14}, {Kind: forms.Hidden, Name: "credential", Max: 1 << 16}, {Kind: forms.Hidden, Name: "keep", Max: 2},
	}, v.nextFields()...)...)
	for _, field := range form.Fields {
		field.Prefix = "passkey-"
	}
	return form
}

// signIn shows the sign-in. It redirects a member who is signed in already.
func (p *pages) signIn(v *visit) error {
	if v.signedIn() {
		if v.Query("kept") != "" { // the member has already signed in in another tab
			v.notify("kept", "", "")
		}
		return v.redirectTo(safeNext(v.Query("next")))
	}
	return v.showSignIn(http.StatusOK, v.passwordForm())
}

func (v *visit) showSignIn(status int, form *forms.Form) error {
	provider, err := v.app.Provider(v.Request.Context(), "")
	if err != nil {
		provider.Provider = nil // the page works without the provider
	}
	return v.showGate(status, "sign_in.html", "Sign in", signInPage{form, v.passkeyForm(), provider.Provider, ssoPath(provider.Provider, form.Value("next"), form.Value("kept"))})
}

// ssoPath returns the path of the single sign-on at a provider. For a nil provider, this is the page that asks for the
// name of the provider. See entrance for next and kept.
func ssoPath(provider *app.Provider, next, kept string) string {
	path := "/sign-in/sso"
	if provider != nil {
		path += "/" + url.PathEscape(provider.Name)
	}
	return withQuery(path, entrance(next, kept))
}

// signInPassword signs in with a password.
func (p *pages) signInPassword(v *visit) error {
	form := v.passwordForm()
	return v.submit(form, func() error {
		result, err := v.app.SignIn(v.Request.Context(), app.Password{
			Username: form.Value("username"), Password: form.Value("password"), Keep: form.Ticked("keep"), Browser: v.browser(),
		})
		if err != nil {
			return atField("", err) // all failures have one text, above the form
		}
		return v.enter(result, form.Value("next"), form.Value("kept"))
	}, func(status int) error { return v.showSignIn(status, form) })
}

// enter completes a step of a sign-in: it sets the cookies of the new session and redirects to the page next, or asks for the
// second factor. kept is not empty if the browser has kept the values that the member typed.
func (v *visit) enter(result app.SignIn, next, kept string) error {
	if result.Session == nil && result.SecondFactor != nil {
		v.setCookie(codeCookie, url.QueryEscape(result.SecondFactor.Ticket), stepLife)
		return v.redirect("/sign-in/code?" + url.Values{"next": {next}, "kept": {kept}}.Encode())
	}
	life := browserLife
	if !result.Session.Keep {
		life = 0
	}
	v.setCookie("", result.Session.Token, life)
	if result.Browser != "" {
		v.setCookie(browserCookie, url.QueryEscape(result.Browser), browserLife)
	}
	v.setCookie(codeCookie, "", ended)
	if kept != "" {
		v.notify("kept", "", "")
	}
	return v.redirectTo(safeNext(next))
}

// signInCode asks for the code of the second factor, and signs in with it.
func (p *pages) signInCode(v *visit) error {
	ticket, err := url.QueryUnescape(v.cookie(codeCookie))
	if ticket == "" || err != nil {
		return v.redirect("/sign-in")
	}
	form := forms.New("/sign-in/code", "Continue", append([]*forms.Field{
		{Kind: forms.Code, Name: "code", Label: "Code", Hint: "The 6 digits that your authenticator app shows, or a recovery code.", Required: true, Max: 40, Autocomplete: "one-time-code"},
	}, v.nextFields()...)...)
	show := func(status int) error {
		return v.showGate(status, "sign_in_code.html", "Enter a code", form)
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		result, err := v.app.SignInCode(v.Request.Context(), app.Code{Ticket: ticket, Code: form.Value("code"), Browser: v.browser()})
		if err != nil {
			return atField("code", err)
		}
		return v.enter(result, form.Value("next"), form.Value("kept"))
	}, show)
}

// browser returns the ticket of this browser, or an empty text if the browser has none.
func (v *visit) browser() string {
	ticket, _ := url.QueryUnescape(v.cookie(browserCookie)) // the service treats a wrong ticket like none
	return ticket
}

// passkeyChallenge responds to the script with the challenge for the browser's passkeys.
func (p *pages) passkeyChallenge(v *visit) error {
	challenge, err := v.app.PasskeyChallenge(v.Request.Context())
	if err != nil {
		return err
	}
	return v.json(challenge)
}

// signInPasskey signs in with the form that the script fills.
func (p *pages) signInPasskey(v *visit) error {
	form := v.passkeyForm()
	show := v.passwordForm()
	return v.submit(form, func() error {
		result, err := v.app.SignInPasskey(v.Request.Context(), app.Passkey{
			Ticket: form.Value("ticket"), Credential: raw(form.Value("credential")), Keep: form.Ticked("keep"), Browser: v.browser(),
		})
		if err != nil {
			return atField("", err)
		}
		return v.enter(result, form.Value("next"), form.Value("kept"))
	}, func(status int) error {
		show.Problem = form.Problem
		return v.showSignIn(status, show)
	})
}

// raw returns JSON from a form. A text that is no JSON becomes null, which the service refuses.
func raw(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// signInSSO asks for the name of the organization's provider, and redirects to the single sign-on.
func (p *pages) signInSSO(v *visit) error {
	form := forms.New("/sign-in/sso", "Continue", append([]*forms.Field{
		{Kind: forms.Text, Name: "name", Label: "Name of your organization's sign-on", Hint: "Your administrator knows it. It is the last part of your sign-in link.", Required: true, Max: 63},
	}, v.nextFields()...)...)
	name := v.Query("name")
	if name == "" {
		return v.showGate(http.StatusOK, "sign_in_sso.html", "Single sign-on", form)
	}
	form.Field("name").Values = []string{name}
	found, err := v.app.Provider(v.Request.Context(), name)
	if err != nil {
		return err
	}
	if found.Provider == nil {
		form.Refuse("name", "No organization signs in with this name.")
		return v.showGate(http.StatusUnprocessableEntity, "sign_in_sso.html", "Single sign-on", form)
	}
	return v.redirect(ssoPath(found.Provider, form.Value("next"), form.Value("kept")))
}

// signInSSOStart redirects to the provider. A link calls it and not a form, because form-action in the policy also applies to
// redirects.
func (p *pages) signInSSOStart(v *visit) error {
	next := ""
	if v.Query("next") != "" {
		next = safeNext(v.Query("next"))
	}
	started, err := v.app.StartSignOn(v.Request.Context(), app.SignOnStart{Name: v.Param("name"), Next: next})
	if failed := app.As(err); failed != nil && failed.Status == http.StatusServiceUnavailable {
		return v.signOnFailed(failed)
	}
	if err != nil {
		return err
	}
	cookie := url.QueryEscape(started.State)
	if v.Query("kept") != "" {
		cookie += "&1" // an escaped state has no "&"; the callback passes 1 on as kept
	}
	v.setCookie(signOnCookie, cookie, stepLife)
	return v.redirectTo(started.URL)
}

// signInSSOCallback completes a single sign-on.
func (p *pages) signInSSOCallback(v *visit) error {
	cookie, kept, _ := strings.Cut(v.cookie(signOnCookie), "&")
	state, err := url.QueryUnescape(cookie)
	v.setCookie(signOnCookie, "", ended)
	if state == "" || err != nil {
		return v.showSignOnFailed(http.StatusForbidden, "It has expired, or it began in another browser.")
	}
	result, err := v.app.FinishSignOn(v.Request.Context(), app.SignOnFinish{
		State: state, OrganizationID: v.Param("organization"), Query: v.Request.URL.RawQuery, Browser: v.browser(),
	})
	if failed := app.As(err); failed != nil && failed.Status != http.StatusTooManyRequests {
		return v.signOnFailed(failed)
	}
	if err != nil {
		return err
	}
	return v.enter(result, result.Next, kept)
}

// signOnFailed shows the reason why a single sign-on failed, if identity has named the reason. Identity names it also if the
// provider cannot be reached. signOnFailed returns any other error.
func (v *visit) signOnFailed(failed *app.Error) error {
	isReason := failed.Status < http.StatusInternalServerError || failed.Status == http.StatusServiceUnavailable && failed.Cause == nil
	if !isReason || failed.Message == "" {
		return failed
	}
	return v.showSignOnFailed(failed.Status, failed.Message)
}

func (v *visit) showSignOnFailed(status int, reason string) error {
	return v.showGate(status, "sign_on_failed.html", "The sign-in did not work", reason)
}

// signOut asks whether to sign out, and ends the session.
func (p *pages) signOut(v *visit) error {
	if !v.signedIn() {
		return v.redirect("/sign-in")
	}
	if !v.isPost() {
		return v.show(http.StatusOK, "confirm.html", "Sign out", confirm{Text: "This ends your session in this browser.", Form: forms.New("/sign-out", "Sign out")})
	}
	if _, err := v.app.EndSession(v.Request.Context(), v.caller.Session); err != nil && app.As(err).Status != http.StatusNotFound {
		return err
	}
	v.setCookie("", "", ended)
	return v.done("/sign-in", "signed-out")
}

// linkPage is the data of welcome.html.
type linkPage struct {
	Form *forms.Form
	Link app.Link
}

func newPasswordField(name, label string) *forms.Field {
	return &forms.Field{
		Kind: forms.Password, Name: name, Label: label, Required: true, Max: 128, Autocomplete: "new-password",
		Hint: "At least 12 characters. A few random words are good. Not a common password, and not your name.",
	}
}

func acceptForm(action string, kind string) *forms.Form {
	fields := []*forms.Field{{Kind: forms.Hidden, Name: "token", Max: 2048}}
	submit := "Set the password and sign in"
	if kind == "invitation" {
		submit = "Create the account and sign in"
		fields = append(fields,
			&forms.Field{Kind: forms.Text, Name: "firstName", Label: "First name", Max: 100, Autocomplete: "given-name"},
			&forms.Field{Kind: forms.Text, Name: "lastName", Label: "Last name", Max: 100, Autocomplete: "family-name"})
	}
	return forms.New(action, submit, append(fields, newPasswordField("password", "Password"), keepField())...)
}

// welcome shows the form for the link of an invitation. This does not use up the link.
func (p *pages) welcome(v *visit) error {
	return v.showLink(http.StatusOK, v.Query("token"), nil)
}

func (v *visit) showLink(status int, token string, form *forms.Form) error {
	found, err := v.app.ReadLink(v.Request.Context(), app.Token{Token: token})
	if failed := app.As(err); failed != nil && slices.Contains([]int{http.StatusNotFound, http.StatusBadRequest}, failed.Status) {
		return v.showGate(http.StatusNotFound, "link_gone.html", "This link does not work", nil)
	}
	if err != nil {
		return err
	}
	link := found.Invitation
	if form == nil {
		action := "/welcome"
		if link.Kind == "password" {
			action = "/forgotten/new"
		}
		form = acceptForm(action, link.Kind)
		form.Field("token").Values = []string{token}
		if link.Kind == "invitation" {
			form.Field("firstName").Values, form.Field("lastName").Values = []string{link.FirstName}, []string{link.LastName}
		}
	}
	title := "Set a new password"
	if link.Kind == "invitation" {
		title = "Welcome to " + link.Organization.Name
	}
	return v.showGate(status, "welcome.html", title, linkPage{form, link})
}

// accept sets the password of the member who got the link, and signs in.
func (p *pages) accept(v *visit) error {
	kind := "password"
	if v.route.path == "/welcome" {
		kind = "invitation"
	}
	form := acceptForm(v.route.path, kind)
	return v.submit(form, func() error {
		in := app.Acceptance{Token: form.Value("token"), Password: form.Value("password"), Keep: form.Ticked("keep"), Browser: v.browser()}
		if kind == "invitation" {
			first, last := form.Value("firstName"), form.Value("lastName")
			in.FirstName, in.LastName = &first, &last
		}
		result, err := v.app.AcceptLink(v.Request.Context(), in)
		if failed := app.As(err); failed != nil && failed.Status == http.StatusNotFound {
			return v.showGate(http.StatusNotFound, "link_gone.html", "This link does not work", nil)
		}
		if err != nil {
			return err
		}
		return v.enter(result, "", "")
	}, func(status int) error { return v.showLink(status, form.Value("token"), form) })
}

// forgotten sends a link to set a password, or shows the page of such a link.
func (p *pages) forgotten(v *visit) error {
	if token := v.Query("token"); token != "" && !v.isPost() {
		return v.showLink(http.StatusOK, token, nil)
	}
	form := forms.New("/forgotten", "Send a link",
		&forms.Field{Kind: forms.Text, Name: "username", Label: "User name or email", Required: true, Autocomplete: "username"})
	show := func(status int) error {
		return v.showGate(status, "forgotten.html", "Forgotten password", form)
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		if _, err := v.app.Forgotten(v.Request.Context(), app.ForgottenName{Username: form.Value("username")}); err != nil {
			return err
		}
		return v.done("/sign-in", "sent")
	}, show)
}
