package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// TOTP is the app of a user that shows one-time codes (RFC 6238).
type TOTP struct {
	Secret      string     `json:"secret"`                          // sealed
	ConfirmedAt *time.Time `json:"confirmedAt" audit:"confirmedAt"` // nil: not active, because no code was shown yet
	LastStep    int64      `json:"lastStep"`                        // time step of the last code that was used
}

const (
	totpPeriod    = 30 * time.Second
	totpDigits    = otp.DigitsSix
	totpDrift     = 1 // time steps by which the time of the app's device may differ
	recoveryCodes = 10
)

// HasTOTP reports whether the user has an app that shows codes. Then a password alone does not sign the user in.
func (u User) HasTOTP() bool { return u.TOTP != nil && u.TOTP.ConfirmedAt != nil }

func (a *Accounts) totpBox() seal.Box { return seal.NewBox(a.Secret, "identity/totp") }

// StartTOTP stores a new secret for the app of the caller, and returns the secret and its otpauth URL. The app is active
// only after ConfirmTOTP.
func (a *Accounts) StartTOTP(ctx context.Context, who Who) (secret, url string, err error) {
	user, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return "", "", err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Bellbuoy", AccountName: user.Username, Period: uint(totpPeriod.Seconds()), Digits: totpDigits})
	if err != nil {
		return "", "", fault.Wrap(fault.Internal, err, "The secret cannot be made.")
	}
	sealed := a.totpBox().Seal(key.Secret(), user.ID)
	_, err = a.Store.Users.Change(ctx, user.ID, func(u *User) error {
		if err := allow(u); err != nil {
			return err
		}
		if u.HasTOTP() {
			return fault.New(fault.Conflict, "You have an authenticator app already. Remove it first.")
		}
		u.TOTP = &TOTP{Secret: sealed}
		return nil
	})
	return key.Secret(), key.URL(), fault.IfMissing(err, noUser())
}

// ConfirmTOTP activates the app of the caller if the code is right, and returns the recovery codes. From then on, the
// session counts as one with a second factor.
func (a *Accounts) ConfirmTOTP(ctx context.Context, who Who, code string) (codes []string, err error) {
	_, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return nil, err
	}
	_, err = a.changeUser(ctx, who.User, func(u *User, now time.Time) ([]topic.Message, error) {
		if err := allow(u); err != nil {
			return nil, err
		}
		if u.TOTP == nil || u.HasTOTP() {
			return nil, fault.New(fault.Conflict, "Start the setup of an authenticator app first.")
		}
		before := *u
		pending := *u.TOTP
		u.TOTP = &pending
		if right, err := a.useStep(u, plainCode(code), now); err != nil || !right {
			if err == nil {
				err = fault.Field("code", "is wrong. Check the clock of the device, and enter the code that the app shows now")
			}
			return nil, err
		}
		u.TOTP.ConfirmedAt = &now
		codes, u.RecoveryCodes = a.newRecoveryCodes(u.ID)
		u.showSecondFactor(who.Session, now)
		return append(edited(ctx, now, &before, u), mailTo(u, topic.MemberTOTPAdded, "", now)...), nil
	})
	return codes, err
}

// RemoveTOTP removes the app and the recovery codes of the caller, and ends the caller's other sessions.
func (a *Accounts) RemoveTOTP(ctx context.Context, who Who) error {
	_, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return err
	}
	_, err = a.changeUser(ctx, who.User, func(u *User, now time.Time) ([]topic.Message, error) {
		if err := allow(u); err != nil {
			return nil, err
		}
		if u.TOTP == nil {
			return nil, noTOTP(fault.NotFound)
		}
		before := *u
		u.TOTP, u.RecoveryCodes = nil, nil
		u.endSessions(who.Session, now)
		if s := u.session(who.Session, now); s != nil && (s.Method != ByPasskey || !u.hasSecondFactor()) {
			s.SecondFactor = false
		}
		return append(edited(ctx, now, &before, u), mailTo(u, topic.MemberTOTPRemoved, "", now)...), nil
	})
	return err
}

// NewRecoveryCodes replaces the recovery codes of the caller.
func (a *Accounts) NewRecoveryCodes(ctx context.Context, who Who) (codes []string, err error) {
	_, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return nil, err
	}
	_, err = a.Store.Users.Update(ctx, who.User, func(u *User) ([]topic.Message, error) {
		if err := allow(u); err != nil {
			return nil, err
		}
		if !u.HasTOTP() {
			return nil, noTOTP(fault.Conflict)
		}
		now, before := a.Now(), *u
		codes, u.RecoveryCodes = a.newRecoveryCodes(u.ID)
		u.Version++
		return append(audit.Entry(audit.From(ctx), actionRecoveryCodes, now, &before, u), mailTo(u, topic.MemberRecoveryCodes, "", now)...), nil
	})
	return codes, fault.IfMissing(err, noUser())
}

func noTOTP(kind fault.Kind) error { return fault.New(kind, "You have no authenticator app.") }

func (u User) hasSecondFactor() bool { return u.HasTOTP() || len(u.Passkeys) > 0 }

// showSecondFactor stores that the user has shown two factors in the session.
func (u *User) showSecondFactor(session string, now time.Time) {
	u.Sessions = slices.Clone(u.Sessions) // copies of the record share the list
	if s := u.session(session, now); s != nil {
		s.SecondFactor = true
	}
}

// newRecoveryCodes returns new codes, and their digests. The digests have the secret of the platform as their key, so
// the short codes cannot be found from a copy of the database.
func (a *Accounts) newRecoveryCodes(user string) (codes, digests []string) {
	for range recoveryCodes {
		raw := make([]byte, 7)
		rand.Read(raw)
		code := strings.ToLower(base32.StdEncoding.EncodeToString(raw)[:10])
		codes, digests = append(codes, code[:5]+"-"+code[5:]), append(digests, a.recoveryDigest(user, code))
	}
	return codes, digests
}

func (a *Accounts) recoveryDigest(user, code string) string {
	return seal.Sign(a.Secret, "recovery code", user+" "+code)
}

// plainCode returns a code in lower case, without the spaces and hyphens that people type.
func plainCode(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(code))
}

// useCode uses up a code of the user's app, or a recovery code. It returns Forbidden if the code is wrong or was used.
func (a *Accounts) useCode(u *User, code string, now time.Time) error {
	if !u.HasTOTP() {
		return errCode()
	}
	plain := plainCode(code)
	if len(plain) == totpDigits.Length() {
		used := *u.TOTP
		u.TOTP = &used // copies of the record share the value
		right, err := a.useStep(u, plain, now)
		if err == nil && !right {
			err = errCode()
		}
		return err
	}
	i := slices.Index(u.RecoveryCodes, a.recoveryDigest(u.ID, plain))
	if i < 0 {
		return errCode()
	}
	u.RecoveryCodes = slices.Delete(slices.Clone(u.RecoveryCodes), i, i+1)
	return nil
}

// useStep reports whether the code is that of an unused time step, at most totpDrift steps from now. If so, it uses up
// this step and all earlier ones, so each code is accepted once.
func (a *Accounts) useStep(u *User, code string, now time.Time) (right bool, err error) {
	secret, err := a.totpBox().Open(u.TOTP.Secret, u.ID)
	if err != nil {
		return false, fault.Wrap(fault.Internal, err, "The secret of the authenticator app cannot be read.")
	}
	current := now.Unix() / int64(totpPeriod.Seconds())
	for step := max(current-totpDrift, u.TOTP.LastStep+1); step <= current+totpDrift; step++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(step), hotp.ValidateOpts{Digits: totpDigits, Algorithm: otp.AlgorithmSHA1}) //nolint:gosec // a time after 1970
		if err != nil {
			return false, fault.Wrap(fault.Internal, err, "The code cannot be checked.")
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			u.TOTP.LastStep = step
			return true, nil
		}
	}
	return false, nil
}
