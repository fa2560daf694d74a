package pages

import (
	"net/http"
	"slices"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const passkeysPath = securityPath + "/passkeys/"

// passkeyNew shows the form for a new passkey, and adds the passkey that the script has created. After the member has signed
// in again, the address has the name that was typed.
func (p *pages) passkeyNew(v *visit) error {
	form := forms.New(passkeysPath+"new", "Create the passkey",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 60, Hint: "So that you recognize it later, such as “Work laptop”."},
		&forms.Field{Kind: forms.Hidden, Name: "ticket", Max: 1 << 14}, &forms.Field{Kind: forms.Hidden, Name: "credential", Max: 1 << 16})
	form.Cancel, form.Field("name").Values = securityPath, []string{v.Query("name")}
	v.fill(form)
	show := func(status int) error {
		form.Field("ticket").Values, form.Field("credential").Values = nil, nil
		return v.showPage(status, "passkey_new.html", &page{Title: "Add a passkey", Data: form, Script: true})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		if form.Value("credential") == "" {
			return &app.Error{Status: http.StatusBadRequest, Message: "Your browser has not created a passkey. Passkeys need JavaScript."}
		}
		added, err := v.app.AddPasskey(v.Request.Context(), app.NewPasskey{Ticket: form.Value("ticket"), Credential: raw(form.Value("credential")), Name: form.Value("name")})
		if err != nil {
			return atField("", err)
		}
		v.notify("passkey-added", added.Passkey.Name, "")
		return v.redirect(securityPath)
	}, show)
}

// passkeyNewChallenge responds to the script with the challenge for a new passkey. 403 with {"again": true} says that the
// member must sign in again first.
func (p *pages) passkeyNewChallenge(v *visit) error {
	challenge, err := v.app.NewPasskeyChallenge(v.Request.Context())
	if failed := app.As(err); failed != nil && failed.Again {
		v.JSON(http.StatusForbidden, map[string]bool{"again": true})
		return nil
	}
	if err != nil {
		return err
	}
	return v.json(challenge)
}

// ownPasskey returns the member's passkey whose id is in the path, or errNotFound.
func (v *visit) ownPasskey() (app.OwnPasskey, error) {
	found, err := v.app.Passkeys(v.Request.Context())
	if err != nil {
		return app.OwnPasskey{}, err
	}
	at := slices.IndexFunc(found.Passkeys, func(k app.OwnPasskey) bool { return k.ID == v.Param("id") })
	if at < 0 {
		return app.OwnPasskey{}, errNotFound
	}
	return found.Passkeys[at], nil
}

// passkey renames a passkey.
func (p *pages) passkey(v *visit) error {
	key, err := v.ownPasskey()
	if err != nil {
		return err
	}
	form := forms.New(passkeysPath+key.ID, "Save", &forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 60, Values: []string{key.Name}})
	form.Cancel = securityPath
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "passkey.html", "Passkey", passkeyPage{form, key})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		if _, err := v.app.RenamePasskey(v.Request.Context(), key.ID, app.Name{Name: form.Value("name")}); err != nil {
			return err
		}
		return v.done(securityPath, "passkey-renamed")
	}, show)
}

// passkeyPage is the data of passkey.html.
type passkeyPage struct {
	Form *forms.Form
	Key  app.OwnPasskey
}

func (p *pages) passkeyRemove(v *visit) error {
	key, err := v.ownPasskey()
	if err != nil {
		return err
	}
	form := forms.New(passkeysPath+key.ID+"/remove", "Remove the passkey")
	form.Danger = true
	return v.ask("Remove “"+isolate(key.Name)+"”?", confirm{
		Back: securityPath, BackLabel: "Security", Text: "You can no longer sign in with this passkey. Your other sessions end. Remove it in your device or password manager, too.", Form: form,
	}, func() error {
		if _, err := v.app.RemovePasskey(v.Request.Context(), key.ID); err != nil {
			return err
		}
		return v.done(securityPath, "passkey-removed")
	})
}
