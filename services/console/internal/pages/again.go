package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// againPage is the data of again.html.
type againPage struct {
	Form     *forms.Form
	Passkey  *forms.Form // nil: the member has no passkey, or may use only single sign-on
	Needed   bool        // a password is not enough: the member must use a passkey, or single sign-on if SignOn is true
	Provider *app.Provider
	SignOn   bool
	SSO      string // path of the single sign-on; empty: SignOn is false
	Kept     bool   // the page contains the values that the member typed
}

// askAgain responds with the page that asks the member to sign in again. The page contains the values that the member typed,
// without secrets.
func (v *visit) askAgain() error {
	next, was := v.formPage(), ""
	typed := func(f *forms.Field) bool { return !f.Secret() && f.Value() != "" }
	if v.form != nil && slices.ContainsFunc(v.form.Shown(), typed) {
		was = v.form.Values().Encode()
	}
	return v.showAgain(http.StatusForbidden, againForm("", next, was))
}

func againForm(prefix, next, was string) *forms.Form {
	form := forms.New("/sign-in/again", "Confirm",
		&forms.Field{Kind: forms.Password, Name: "password", Label: "Password", Max: 128, Autocomplete: "current-password"},
		&forms.Field{Kind: forms.Code, Name: "code", Label: "Code", Hint: "The 6 digits that your authenticator app shows, or a recovery code.", Max: 40, Autocomplete: "one-time-code"},
		&forms.Field{Kind: forms.Hidden, Name: "ticket", Max: 1 << 14}, &forms.Field{Kind: forms.Hidden, Name: "credential", Max: 1 << 16},
		&forms.Field{Kind: forms.Hidden, Name: "next", Max: 2048, Values: []string{next}}, &forms.Field{Kind: forms.Hidden, Name: "was", Max: 1 << 20, Values: []string{was}})
	for _, field := range form.Fields {
		field.Prefix = prefix
	}
	return form
}

// only returns a form without the fields that have one of the names.
func only(form *forms.Form, without ...string) *forms.Form {
	kept := forms.New(form.Action, form.Submit)
	kept.Problem = form.Problem
	for _, field := range form.Fields {
		if !strings.Contains(" "+strings.Join(without, " ")+" ", " "+field.Name+" ") {
			kept.Fields = append(kept.Fields, field)
		}
	}
	return kept
}

func (v *visit) showAgain(status int, form *forms.Form) error {
	profile, err := v.profile()
	if err != nil {
		return err
	}
	data := againPage{Kept: form.Value("was") != ""}
	data.SignOn = profile.SignOn || profile.SignOnOnly // profile.SignOn is false before the first single sign-on
	if profile.SecondFactors.Passkeys > 0 && !profile.SignOnOnly {
		data.Passkey = only(againForm("passkey-", form.Value("next"), form.Value("was")), "password", "code")
	}
	if data.SignOn {
		if found, err := v.app.Provider(v.Request.Context(), ""); err == nil {
			data.Provider = found.Provider
		}
		kept := ""
		if data.Kept {
			kept = "1"
		}
		data.SSO = ssoPath(data.Provider, form.Value("next"), kept)
	}
	without := []string{"ticket", "credential"}
	if !profile.SecondFactors.TOTP {
		without = append(without, "code")
	}
	data.Needed = profile.SecondFactorRequired && !profile.SecondFactors.TOTP && data.Passkey != nil // a password is no second factor
	if profile.AllowPasswordAuth && !data.Needed {
		data.Form = only(form, without...)
	} else {
		data.Form = only(form, append(without, "password", "code")...)
	}
	return v.showPage(status, "again.html", &page{Title: "Confirm that it is you", Data: data, Script: data.Passkey != nil})
}

// again shows the page that asks the member to sign in again. After a POST it makes the sign-in of the session recent. Then it
// shows the form that the member had sent, as the member filled it. If the member had typed nothing but secrets, it redirects
// to the page of that form.
func (p *pages) again(v *visit) error {
	if !v.isPost() {
		return v.showAgain(http.StatusOK, againForm("", safeNext(v.Query("next")), ""))
	}
	form := againForm("", "", "")
	return v.submit(form, func() error {
		in := app.Evidence{Password: form.Value("password"), Code: form.Value("code")}
		if form.Value("credential") != "" {
			in.Passkey = &app.PasskeyAnswer{Ticket: form.Value("ticket"), Credential: raw(form.Value("credential"))}
		}
		_, err := v.app.SignInAgain(v.Request.Context(), in)
		if failed := app.As(err); failed != nil && failed.Status == http.StatusForbidden && failed.Message != "" {
			failed.Status, failed.Again = http.StatusBadRequest, false
		}
		if err != nil {
			return err
		}
		was, err := url.ParseQuery(form.Value("was"))
		if next := safeNext(form.Value("next")); len(was) == 0 || err != nil {
			return v.done(strings.TrimPrefix(next, root), "confirmed")
		} else {
			return v.resume(next, was)
		}
	}, func(status int) error { return v.showAgain(status, form) })
}

// resume shows the page at the path next with the values that the member typed before. If there is no such page, it redirects
// to the overview.
func (v *visit) resume(next string, was url.Values) error {
	at, err := url.Parse(next)
	if err != nil {
		return err
	}
	r, params, found := v.pages.page(at.Path)
	if !found {
		return v.redirect("/")
	}
	v.Params, v.kept = params, was
	v.Request.Method, v.Request.URL = get, at
	return v.open(r)
}
