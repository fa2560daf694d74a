package account

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Theme is the colour scheme of the console.
type Theme string

const (
	SystemTheme Theme = "system" // the default
	Light       Theme = "light"
	Dark        Theme = "dark"
)

// Density is the height of the rows in lists of the console.
type Density string

const (
	Comfortable Density = "comfortable" // the default
	Compact     Density = "compact"
)

// Preferences are the settings of a user for the console. A field with its zero value has the default.
type Preferences struct {
	TimeZone    string  `json:"timeZone" audit:"timeZone"` // name in the IANA database; default UTC
	Theme       Theme   `json:"theme" audit:"theme"`
	Density     Density `json:"density" audit:"density"`
	NoShortcuts bool    `json:"noShortcuts" audit:"noShortcuts"`
}

// ProfilePatch is the input of ChangeProfile.
type ProfilePatch struct {
	FirstName optional.Value[string]
	LastName  optional.Value[string]
	Email     optional.Value[string]
	TimeZone  optional.Value[string]
	Theme     optional.Value[Theme]
	Density   optional.Value[Density]
	Shortcuts optional.Value[bool]
}

func (p ProfilePatch) check() error {
	if p == (ProfilePatch{}) {
		return fault.New(fault.Invalid, "Send at least one field to change.")
	}
	user := p.user()
	if err := user.check(); err != nil {
		return err
	}
	if p.TimeZone.Sent {
		zone := p.TimeZone.Value
		if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
			return fault.Field("preferences.timeZone", "must be the name of a time zone, such as Europe/Berlin")
		}
	}
	if theme := p.Theme.Value; p.Theme.Sent && theme != SystemTheme && theme != Light && theme != Dark {
		return fault.Field("preferences.theme", "must be one of %s, %s, %s", SystemTheme, Light, Dark)
	}
	if density := p.Density.Value; p.Density.Sent && density != Comfortable && density != Compact {
		return fault.Field("preferences.density", "must be one of %s, %s", Comfortable, Compact)
	}
	return nil
}

func (p ProfilePatch) user() UserPatch {
	return UserPatch{FirstName: p.FirstName, LastName: p.LastName, Email: p.Email}
}

func (p ProfilePatch) apply(u *User) {
	p.user().apply(u)
	optional.Assign(&u.Preferences.TimeZone, p.TimeZone.Pointer())
	optional.Assign(&u.Preferences.Theme, p.Theme.Pointer())
	optional.Assign(&u.Preferences.Density, p.Density.Pointer())
	if p.Shortcuts.Sent {
		u.Preferences.NoShortcuts = !p.Shortcuts.Value
	}
}

// ChangeProfile changes the caller's own name, mail address and preferences. A new mail address needs a recent sign-in,
// because links to set a password are sent to it. Unless the new address is ProvenEmail, it does not identify the caller
// until the caller uses such a link. An address that an admin sets later identifies the caller.
func (a *Accounts) ChangeProfile(ctx context.Context, who Who, p ProfilePatch) error {
	user, err := a.Caller(ctx, who)
	if err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	moves := p.Email.Sent && p.Email.Value != user.Email
	if moves {
		if err := a.recent(&user, who.Session); err != nil {
			return err
		}
	}
	change := func(u *User, now time.Time) ([]topic.Message, error) {
		before := *u
		p.apply(u)
		u.OwnEmail = Address(u.Email) != u.ProvenEmail && (u.OwnEmail || Address(before.Email) != Address(u.Email))
		messages := edited(ctx, now, &before, u)
		if before.Version == u.Version {
			return nil, fault.ErrUnchanged
		}
		if before.Email != u.Email {
			u.Links = nil // they were sent to the former address
			messages = append(messages, mailNewAddress(u, before.Email, now)...)
		}
		return messages, nil
	}
	if moves { // credentials at the gateways contain the address
		_, err = a.changeUser(ctx, who.User, change)
		return err
	}
	_, err = a.Store.Users.Update(ctx, who.User, func(u *User) ([]topic.Message, error) { return change(u, a.Now()) })
	return fault.IfMissing(err, noUser())
}

// ChangePassword sets the password of the caller, and ends the caller's other sessions. current is the former password,
// if there is one.
func (a *Accounts) ChangePassword(ctx context.Context, who Who, current, password string) error {
	user, err := a.Caller(ctx, who)
	if err != nil {
		return err
	}
	organization, err := a.Organization(ctx, user.Organization)
	if err != nil {
		return err
	}
	if err := checkPassword(password, user, organization); err != nil {
		return err
	}
	if err := a.proveCurrent(ctx, who, user, organization, current); err != nil {
		return err
	}
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	_, err = a.changeUser(ctx, user.ID, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.session(who.Session, now) == nil || u.Password != user.Password {
			return nil, fault.New(fault.Conflict, "The password was changed in the meantime.")
		}
		before := *u
		u.setPassword(hash, who.Session, now)
		return append(edited(ctx, now, &before, u), mailTo(u, topic.MemberPassword, "", now)...), nil
	})
	return err
}

// proveCurrent checks the current password of the caller. A caller without a password needs a recent sign-in.
func (a *Accounts) proveCurrent(ctx context.Context, who Who, u User, o Organization, current string) error {
	switch {
	case !u.admitsPassword(o):
		return fault.New(fault.Conflict, "Your organization signs in without passwords.")
	case u.Password == "":
		return a.recent(&u, who.Session)
	case current == "":
		return fault.Field("current", "must be your current password")
	}
	right, err := a.check(ctx, a.again(ctx, u.ID), u.Password, current)
	if err == nil && !right {
		return fault.Field("current", "is not your current password")
	}
	return err
}
