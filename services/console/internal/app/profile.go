package app

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// ProfileResult is the profile of the caller.
type ProfileResult struct {
	Profile Profile `json:"profile"`
}

// Profile is the member who uses the console.
type Profile struct {
	UserID               string              `json:"userId"`
	Username             string              `json:"username"`
	Email                string              `json:"email"`
	FirstName            string              `json:"firstName"`
	LastName             string              `json:"lastName"`
	Roles                []string            `json:"roles"`
	Organization         ProfileOrganization `json:"organization"`
	HasPassword          bool                `json:"hasPassword"`
	AllowPasswordAuth    bool                `json:"allowPasswordAuth"`
	SecondFactors        OwnFactors          `json:"secondFactors"`
	SecondFactorRequired bool                `json:"secondFactorRequired"`
	SignOn               bool                `json:"signOn"`
	SignOnOnly           bool                `json:"signOnOnly"` // passwords and passkeys are not accepted
	Preferences          Preferences         `json:"preferences"`
}

// ProfileOrganization is the organization of the member.
type ProfileOrganization struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	RequireTwoFactor bool   `json:"requireTwoFactor"`
}

// OwnFactors are the second factors of the member.
type OwnFactors struct {
	TOTP          bool `json:"totp"`
	Passkeys      int  `json:"passkeys"`
	RecoveryCodes int  `json:"recoveryCodes"`
}

// Preferences are the settings of a member for the pages of the console.
type Preferences struct {
	TimeZone  string `json:"timeZone"`
	Theme     string `json:"theme"`
	Density   string `json:"density"`
	Shortcuts bool   `json:"shortcuts"`
}

// Profile returns the caller's profile.
func (c *Caller) Profile(ctx context.Context) (ProfileResult, error) {
	return call[ProfileResult](ctx, c, request{service: identity, method: "GET", path: "/app/profile"})
}

// ProfileChange is a change of the profile. A nil Email leaves the address as it is.
type ProfileChange struct {
	FirstName   string      `json:"firstName"`
	LastName    string      `json:"lastName"`
	Email       *string     `json:"email,omitempty"`
	Preferences Preferences `json:"preferences"`
}

// ChangeProfile changes the caller's profile.
func (c *Caller) ChangeProfile(ctx context.Context, in ProfileChange) (ProfileResult, error) {
	return call[ProfileResult](ctx, c, request{service: identity, method: "PATCH", path: "/app/profile", body: in})
}

// NewPassword is a new password, with the current one if there is one.
type NewPassword struct {
	Current  string `json:"current,omitempty"`
	Password string `json:"password"`
}

// SetPassword sets the caller's password.
func (c *Caller) SetPassword(ctx context.Context, in NewPassword) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "PUT", path: "/app/profile/password", body: in})
}

// TOTPSecret is the secret for an authenticator app.
type TOTPSecret struct {
	Secret string `json:"secret"`
	URL    string `json:"url"`
}

// NewTOTP creates a secret. The secret is active only after ConfirmTOTP.
func (c *Caller) NewTOTP(ctx context.Context) (TOTPSecret, error) {
	return call[TOTPSecret](ctx, c, request{service: identity, method: "POST", path: "/app/profile/totp"})
}

// RecoveryCodes are codes that each replace a second factor once.
type RecoveryCodes struct {
	RecoveryCodes []string `json:"recoveryCodes"`
}

// TOTPCode is a code of an authenticator app.
type TOTPCode struct {
	Code string `json:"code"`
}

// ConfirmTOTP activates the secret, and returns the recovery codes.
func (c *Caller) ConfirmTOTP(ctx context.Context, in TOTPCode) (RecoveryCodes, error) {
	return call[RecoveryCodes](ctx, c, request{service: identity, method: "PUT", path: "/app/profile/totp", body: in})
}

// RemoveTOTP removes the authenticator app.
func (c *Caller) RemoveTOTP(ctx context.Context) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: "/app/profile/totp"})
}

// NewRecoveryCodes replaces the recovery codes.
func (c *Caller) NewRecoveryCodes(ctx context.Context) (RecoveryCodes, error) {
	return call[RecoveryCodes](ctx, c, request{service: identity, method: "POST", path: "/app/profile/recovery-codes"})
}

// Passkeys are the passkeys of a member.
type Passkeys struct {
	Passkeys []OwnPasskey `json:"passkeys"`
}

// OwnPasskey is a passkey of a member.
type OwnPasskey struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// PasskeyResult is one passkey.
type PasskeyResult struct {
	Passkey OwnPasskey `json:"passkey"`
}

const passkeysPath = "/app/profile/passkeys"

// Passkeys lists the caller's passkeys.
func (c *Caller) Passkeys(ctx context.Context) (Passkeys, error) {
	return call[Passkeys](ctx, c, request{service: identity, method: "GET", path: passkeysPath})
}

// NewPasskeyChallenge starts the creation of a passkey.
func (c *Caller) NewPasskeyChallenge(ctx context.Context) (Challenge, error) {
	return call[Challenge](ctx, c, request{service: identity, method: "POST", path: passkeysPath + "/options"})
}

// NewPasskey is the browser's response to a Challenge, with a name.
type NewPasskey struct {
	Ticket     string          `json:"ticket"`
	Credential json.RawMessage `json:"credential"`
	Name       string          `json:"name"`
}

// AddPasskey stores a passkey.
func (c *Caller) AddPasskey(ctx context.Context, in NewPasskey) (PasskeyResult, error) {
	return call[PasskeyResult](ctx, c, request{service: identity, method: "POST", path: passkeysPath, body: in})
}

// Name is a new name.
type Name struct {
	Name string `json:"name"`
}

// RenamePasskey renames a passkey.
func (c *Caller) RenamePasskey(ctx context.Context, id string, in Name) (PasskeyResult, error) {
	return call[PasskeyResult](ctx, c, request{service: identity, method: "PATCH", path: passkeysPath + "/" + url.PathEscape(id), body: in})
}

// RemovePasskey removes a passkey.
func (c *Caller) RemovePasskey(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: passkeysPath + "/" + url.PathEscape(id)})
}

// Keys is a page of the caller's keys.
type Keys struct {
	APIKeys   []Key   `json:"apiKeys"`
	NextToken *string `json:"nextToken"`
}

// Key is a key of the App interface.
type Key struct {
	KeyID      string     `json:"keyId"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// Keys returns a page of the caller's keys: the page of the token next, or the first page if next is empty.
func (c *Caller) Keys(ctx context.Context, next string) (Keys, error) {
	query := url.Values{"limit": {"50"}}
	if next != "" {
		query.Set("nextToken", next)
	}
	return call[Keys](ctx, c, request{service: identity, method: "GET", path: "/app/api-keys", query: query})
}

// NewKey is a key with its secret.
type NewKey struct {
	KeyID  string `json:"keyId"`
	APIKey string `json:"apiKey"`
}

// AddKey creates a key.
func (c *Caller) AddKey(ctx context.Context, in Name) (NewKey, error) {
	return call[NewKey](ctx, c, request{service: identity, method: "POST", path: "/app/api-keys", body: in})
}

// RevokeKey revokes a key.
func (c *Caller) RevokeKey(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: "/app/api-keys/" + url.PathEscape(id)})
}

// LegacyKeyResult is the caller's key of the legacy interface, or nil.
type LegacyKeyResult struct {
	LegacyKey *LegacyKey `json:"legacyKey"`
}

// LegacyKey is a key of the legacy interface.
type LegacyKey struct {
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// LegacyKey returns the caller's key of the legacy interface.
func (c *Caller) LegacyKey(ctx context.Context) (LegacyKeyResult, error) {
	return call[LegacyKeyResult](ctx, c, request{service: identity, method: "GET", path: "/app/legacy-key"})
}

// NewLegacyKey is a key of the legacy interface with its secret.
type NewLegacyKey struct {
	Username string `json:"username"`
	Key      string `json:"key"`
}

// ReplaceLegacyKey creates the key, and revokes the former one.
func (c *Caller) ReplaceLegacyKey(ctx context.Context) (NewLegacyKey, error) {
	return call[NewLegacyKey](ctx, c, request{service: identity, method: "PUT", path: "/app/legacy-key"})
}

// RevokeLegacyKey revokes the caller's key of the legacy interface.
func (c *Caller) RevokeLegacyKey(ctx context.Context) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: "/app/legacy-key"})
}
