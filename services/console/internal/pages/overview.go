package pages

import (
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// step is an item of the checklist. It is done when the data says so.
type step struct {
	Done               bool
	Title, Text        string
	Path, Action, Icon string
}

// overviewPage is the data of overview.html.
type overviewPage struct {
	Steps []step
	Done  int
	Next  int // index of the first step that is not done; -1: all are
}

// overview shows the checklist, and one calm line when all is done.
func (p *pages) overview(v *visit) error {
	var members app.Users
	var work errgroup.Group
	if v.caller.Has(passport.RoleAdmin) {
		work.Go(func() (err error) {
			members, err = v.app.Users(v.Request.Context())
			return err
		})
	}
	profile, err := v.profile()
	if failed := work.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	steps := []step{
		{profile.HasPassword || profile.SignOn, "Set a password", "With it you can sign in from every device.", "/profile/security/password", "Set a password", "lock"},
		{profile.SecondFactors.TOTP || profile.SecondFactors.Passkeys > 0, "Add a second factor", "A stolen password alone is then worth nothing.", "/profile/security/app", "Set up an app", "phone"},
		{profile.SecondFactors.Passkeys > 0, "Add a passkey", "Sign in with your fingerprint, your face or a security key, in one tap.", "/profile/security/passkeys/new", "Add a passkey", "passkey"},
	}
	if v.caller.Has(passport.RoleAdmin) {
		steps = append(steps, step{len(members.Users) > 1, "Invite a colleague", "Incidents are easier to handle together.", "/users/new", "Invite", "people"})
	}
	data := overviewPage{Steps: steps, Next: -1}
	for i, s := range steps {
		if s.Done {
			data.Done++
		} else if data.Next < 0 {
			data.Next = i
		}
	}
	return v.show(http.StatusOK, "overview.html", "Overview", data)
}
