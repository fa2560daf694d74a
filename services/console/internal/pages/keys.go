package pages

import (
	"net/http"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const keysPath = "/profile/keys"

// keysPage is the data of keys.html.
type keysPage struct {
	Keys      []app.Key
	More      string // token of the next page; empty: there is none
	Form      *forms.Form
	Legacy    *app.LegacyKey
	MayLegacy bool
	Replace   *forms.Form
}

func keyForm() *forms.Form {
	form := forms.New(keysPath, "Create a key",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 80, Hint: "What uses the key, such as “deploy pipeline”."})
	return form
}

// keys lists the member's keys.
func (p *pages) keys(v *visit) error {
	form := keyForm()
	v.fill(form)
	return v.showKeys(http.StatusOK, form)
}

func (v *visit) showKeys(status int, form *forms.Form) error {
	data := keysPage{Form: form, MayLegacy: v.caller.Has(passport.RoleAPI)}
	var work concurrent
	work.Go(func() error {
		found, err := v.app.Keys(v.Request.Context(), v.Query("after"))
		if data.Keys = found.APIKeys; found.NextToken != nil {
			data.More = *found.NextToken
		}
		return err
	})
	work.Go(func() error {
		found, err := v.app.LegacyKey(v.Request.Context())
		data.Legacy = found.LegacyKey
		return err
	})
	if err := work.Wait(); err != nil {
		return err
	}
	label := "Create a legacy key"
	if data.Legacy != nil {
		label = "Replace"
	}
	data.Replace = forms.New("/profile/legacy-key", label)
	return v.show(status, "keys.html", "Keys", data)
}

// newKeyPage is the data of key_new.html.
type newKeyPage struct{ Key, Curl string }

// keyAdd creates a key, and shows it once with a command that uses it.
func (p *pages) keyAdd(v *visit) error {
	form := keyForm()
	return v.submit(form, func() error {
		key, err := v.app.AddKey(v.Request.Context(), app.Name{Name: form.Value("name")})
		if err != nil {
			return err
		}
		return v.showSecret("key_new.html", "Your new key", newKeyPage{key.APIKey,
			"curl -H 'Authorization: Bearer " + key.APIKey + "' " + p.Links.AppBaseURL + "/app/profile"})
	}, func(status int) error { return v.showKeys(status, form) })
}

// errNoKey is the error for a key that the member does not have. A revoked key is deleted.
var errNoKey = fault.New(fault.NotFound, "You have no such key. If it was in your list before, it is revoked.")

// keyRevoke revokes a key.
func (p *pages) keyRevoke(v *visit) error {
	name := "this key"
	found, err := v.app.Keys(v.Request.Context(), "")
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(found.APIKeys, func(k app.Key) bool { return k.KeyID == v.Param("id") }); at >= 0 {
		name = "“" + isolate(found.APIKeys[at].Name) + "”"
	} else if found.NextToken == nil {
		return errNoKey
	}
	form := forms.New(keysPath+"/"+v.Param("id")+"/revoke", "Revoke the key")
	form.Danger = true
	return v.ask("Revoke "+name+"?", confirm{Back: keysPath, BackLabel: "Keys", Text: "The next request with the key is refused. A revoked key cannot come back.", Form: form}, func() error {
		if _, err := v.app.RevokeKey(v.Request.Context(), v.Param("id")); isGone(err) {
			return errNoKey
		} else if err != nil {
			return err
		}
		return v.done(keysPath, "key-revoked")
	})
}

// legacyKeyReplace creates or replaces the key of the legacy interface, and shows it once.
func (p *pages) legacyKeyReplace(v *visit) error {
	return v.act(keysPath, func() error {
		key, err := v.app.ReplaceLegacyKey(v.Request.Context())
		if err != nil {
			return err
		}
		return v.showSecret("key_new.html", "Your new legacy key", newKeyPage{key.Username + ":" + key.Key,
			"curl -H 'Authorization: ApiKey " + key.Username + ":" + key.Key + "' " + p.Links.LegacyBaseURL + "/api/v1/service/"})
	})
}

func (p *pages) legacyKeyRevoke(v *visit) error {
	form := forms.New("/profile/legacy-key/revoke", "Revoke the legacy key")
	form.Danger = true
	return v.ask("Revoke your legacy key?", confirm{Back: keysPath, BackLabel: "Keys", Text: "The next request with the key is refused.", Form: form}, func() error {
		if _, err := v.app.RevokeLegacyKey(v.Request.Context()); isGone(err) {
			return v.done(keysPath, "no-legacy-key")
		} else if err != nil {
			return err
		}
		return v.done(keysPath, "key-revoked")
	})
}
