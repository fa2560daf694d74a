package account

import "time"

// TOTP is the app of a user that shows one-time codes (RFC 6238).
type TOTP struct {
	Secret      string     `json:"secret"`                          // sealed
	ConfirmedAt *time.Time `json:"confirmedAt" audit:"confirmedAt"` // nil: not in force, because no code was shown yet
	LastStep    int64      `json:"lastStep"`                        // time step of the last code that was used
}

// HasTOTP reports whether the user has an app that shows codes. Then a password alone does not sign the user in.
func (u User) HasTOTP() bool { return u.TOTP != nil && u.TOTP.ConfirmedAt != nil }

// useCode uses up a code of the user's app, or a recovery code. It returns Forbidden if the code is wrong or was used.
func (a *Accounts) useCode(u *User, code string, now time.Time) error {
	return errCode()
}
