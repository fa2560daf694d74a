package pages

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"rsc.io/qr"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const securityPath = "/profile/security"

// securityPage is the data of security.html.
type securityPage struct {
	Profile     app.Profile
	Passkeys    []app.OwnPasskey
	NoPasskeys  bool // the passkeys cannot be read
	Sessions    []app.Session
	NoSessions  bool // the sessions cannot be read
	EndOthers   *forms.Form
	Several     bool
	SecondFirst bool // the member must set up a second factor before anything else
}

// EndForm returns the form that ends a session.
func (securityPage) EndForm(s app.Session) *forms.Form {
	return forms.New(securityPath+"/sessions/"+s.ID+"/end", "End")
}

// security shows the member's credentials and sessions.
func (p *pages) security(v *visit) error {
	var data securityPage
	var work concurrent
	work.Go(func() error {
		found, err := v.app.Passkeys(v.Request.Context())
		data.Passkeys, data.NoPasskeys = found.Passkeys, err != nil
		return nil
	})
	work.Go(func() error {
		found, err := v.app.Sessions(v.Request.Context())
		data.Sessions, data.NoSessions = found.Sessions, err != nil
		return nil
	})
	profile, err := v.profile()
	_ = work.Wait() // the page shows what cannot be read
	if err != nil {
		return err
	}
	data.Profile, data.SecondFirst, data.Several = profile, profile.SecondFactorRequired, len(data.Sessions) > 1
	data.EndOthers = forms.New(securityPath+"/sessions/end-others", "End all others")
	return v.show(http.StatusOK, "security.html", "Security", data)
}

// password sets the member's own password.
func (p *pages) password(v *visit) error {
	profile, err := v.profile()
	if err != nil {
		return err
	}
	form := forms.New(securityPath+"/password", "Save the password", newPasswordField("password", "New password"))
	form.Cancel = securityPath
	if profile.HasPassword {
		form.Fields = append([]*forms.Field{{Kind: forms.Password, Name: "current", Label: "Current password", Required: true, Max: 128, Autocomplete: "current-password"}}, form.Fields...)
	}
	show := func(status int) error {
		return v.show(status, "form.html", "Password", formPage{securityPath, "Security", "Your other sessions end when you set a new password.", form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		in := app.NewPassword{Password: form.Value("password")}
		if profile.HasPassword {
			in.Current = form.Value("current")
		}
		if _, err := v.app.SetPassword(v.Request.Context(), in); err != nil {
			return atField("current", err)
		}
		return v.done(securityPath, "password")
	}, show)
}

// totpPage is the data of totp.html.
type totpPage struct {
	Secret string
	QR     template.HTML
	Form   *forms.Form
}

// totp shows a page about the authenticator app. Its button calls totpStart.
func (p *pages) totp(v *visit) error {
	return v.show(http.StatusOK, "totp_start.html", "Authenticator app", forms.New(securityPath+"/app", "Set up an app"))
}

// totpStart makes a new secret and shows it.
func (p *pages) totpStart(v *visit) error {
	v.form = forms.New(securityPath+"/app", "")
	if err := v.form.Read(v.Request); err != nil {
		return err
	}
	made, err := v.app.NewTOTP(v.Request.Context())
	if err != nil {
		return err
	}
	form := totpForm()
	form.Field("secret").Values, form.Field("url").Values = []string{made.Secret}, []string{made.URL}
	return v.showTOTP(http.StatusOK, form)
}

func totpForm() *forms.Form {
	form := forms.New(securityPath+"/app/confirm", "Turn on",
		&forms.Field{Kind: forms.Code, Name: "code", Label: "Code", Hint: "The 6 digits that the app shows now.", Required: true, Max: 12, Autocomplete: "one-time-code"},
		&forms.Field{Kind: forms.Hidden, Name: "secret", Max: 200}, &forms.Field{Kind: forms.Hidden, Name: "url", Max: 1000})
	form.Page, form.Cancel = securityPath+"/app", securityPath
	return form
}

func (v *visit) showTOTP(status int, form *forms.Form) error {
	picture, err := drawQR(form.Value("url"))
	if err != nil {
		return err
	}
	v.secret = true
	return v.show(status, "totp.html", "Authenticator app", totpPage{spaced(form.Value("secret")), picture, form})
}

// spaced returns a secret in groups of four characters, which are easier to type.
func spaced(secret string) string {
	var out strings.Builder
	for i, r := range secret {
		if i > 0 && i%4 == 0 {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// drawQR returns the QR code of a text as SVG. It has dark modules on a light ground in every theme, because some
// apps read no other code.
func drawQR(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const border = 4
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				path.WriteString("M" + strconv.Itoa(x+border) + " " + strconv.Itoa(y+border) + "h1v1h-1z")
			}
		}
	}
	side := strconv.Itoa(code.Size + 2*border)
	return template.HTML(`<svg class="qr" viewBox="0 0 ` + side + ` ` + side + `" shape-rendering="crispEdges" role="img" aria-label="QR code for your authenticator app"><path fill="#000" d="` + path.String() + `"/></svg>`), nil // numbers only
}

// totpConfirm activates the secret if the code is right, and shows the recovery codes.
func (p *pages) totpConfirm(v *visit) error {
	form := totpForm()
	return v.submit(form, func() error {
		codes, err := v.app.ConfirmTOTP(v.Request.Context(), app.TOTPCode{Code: strings.ReplaceAll(form.Value("code"), " ", "")})
		if err != nil {
			return atField("code", err)
		}
		return v.showSecret("codes.html", "Recovery codes", codes.RecoveryCodes)
	}, func(status int) error { return v.showTOTP(status, form) })
}

func (p *pages) totpRemove(v *visit) error {
	form := forms.New(securityPath+"/app/remove", "Remove the app")
	form.Danger = true
	return v.ask("Remove the authenticator app?", confirm{
		Back: securityPath, BackLabel: "Security", Text: "You then sign in without its codes. Your other sessions end.", Points: []string{"The recovery codes stop working."}, Form: form,
	}, func() error {
		if _, err := v.app.RemoveTOTP(v.Request.Context()); err != nil {
			return err
		}
		return v.done(securityPath, "app-removed")
	})
}

func (p *pages) recoveryCodes(v *visit) error {
	return v.ask("New recovery codes", confirm{
		Back: securityPath, BackLabel: "Security", Text: "You get 10 new codes. Each replaces the code of your app once. The former codes stop working.",
		Form: forms.New(securityPath+"/recovery-codes", "Make new codes"),
	}, func() error {
		codes, err := v.app.NewRecoveryCodes(v.Request.Context())
		if err != nil {
			return err
		}
		return v.showSecret("codes.html", "Recovery codes", codes.RecoveryCodes)
	})
}

func (p *pages) sessionEnd(v *visit) error {
	return v.act(securityPath, func() error {
		if _, err := v.app.EndSession(v.Request.Context(), v.Param("id")); err != nil {
			return err
		}
		if v.Param("id") == v.caller.Session {
			v.setCookie("", "", ended)
			return v.done("/sign-in", "signed-out")
		}
		return v.done(securityPath, "session-ended")
	})
}

func (p *pages) sessionsEnd(v *visit) error {
	return v.act(securityPath, func() error {
		if _, err := v.app.EndOtherSessions(v.Request.Context()); err != nil {
			return err
		}
		return v.done(securityPath, "sessions-ended")
	})
}

// act reads a form that is only a button, and calls do. page is the path of the page with the button.
func (v *visit) act(page string, do func() error) error {
	v.form = forms.New(strings.TrimPrefix(v.Request.URL.Path, root), "")
	v.form.Page = page
	if err := v.form.Read(v.Request); err != nil {
		return err
	}
	return do()
}
