package app

import (
	"context"
	"net/url"
	"time"
)

// Users are the members of the organization.
type Users struct {
	Users []User `json:"users"`
}

// User is a member of the organization.
type User struct {
	UserID            string      `json:"userId"`
	Username          string      `json:"username"`
	Email             string      `json:"email"`
	FirstName         string      `json:"firstName"`
	LastName          string      `json:"lastName"`
	Roles             []string    `json:"roles"`
	AllowPasswordAuth bool        `json:"allowPasswordAuth"`
	Disabled          bool        `json:"disabled"`
	CreatedAt         time.Time   `json:"createdAt"`
	LastLoginAt       *time.Time  `json:"lastLoginAt"`
	SecondFactors     UserFactors `json:"secondFactors"`
	SignOn            bool        `json:"signOn"`
	HasPassword       bool        `json:"hasPassword"`
	Invited           bool        `json:"invited"`
	Version           int64       `json:"version"`
}

// UserFactors are the second factors of a member.
type UserFactors struct {
	TOTP     bool `json:"totp"`
	Passkeys int  `json:"passkeys"`
}

const usersPath = "/app/users"

// Users lists the members.
func (c *Caller) Users(ctx context.Context) (Users, error) {
	return call[Users](ctx, c, request{service: identity, method: "GET", path: usersPath})
}

// UserResult is one member.
type UserResult struct {
	User User `json:"user"`
}

// User returns a member.
func (c *Caller) User(ctx context.Context, id string) (UserResult, error) {
	return call[UserResult](ctx, c, request{service: identity, method: "GET", path: usersPath + "/" + url.PathEscape(id)})
}

// NewUser is a member to invite.
type NewUser struct {
	Username  string   `json:"username"`
	Email     string   `json:"email"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Roles     []string `json:"roles"`
}

// InvitedUser is a new member with a link to accept the invitation.
type InvitedUser struct {
	User       User       `json:"user"`
	Invitation Invitation `json:"invitation"`
}

// Invitation is a link. URL is nil if the link was only sent by mail.
type Invitation struct {
	URL       *string    `json:"url"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// InvitationResult is a new link.
type InvitationResult struct {
	Invitation Invitation `json:"invitation"`
}

// Invite invites a member.
func (c *Caller) Invite(ctx context.Context, in NewUser) (InvitedUser, error) {
	return call[InvitedUser](ctx, c, request{service: identity, method: "POST", path: usersPath, body: in})
}

// UserChange is a change of a member. A nil field is not changed.
type UserChange struct {
	FirstName         *string   `json:"firstName,omitempty"`
	LastName          *string   `json:"lastName,omitempty"`
	Email             *string   `json:"email,omitempty"`
	Roles             *[]string `json:"roles,omitempty"`
	Disabled          *bool     `json:"disabled,omitempty"`
	AllowPasswordAuth *bool     `json:"allowPasswordAuth,omitempty"`
}

// ChangeUser changes a member that has the version. With version 0, the member may have any version.
func (c *Caller) ChangeUser(ctx context.Context, id string, version int64, in UserChange) (UserResult, error) {
	return call[UserResult](ctx, c, request{service: identity, method: "PATCH", path: usersPath + "/" + url.PathEscape(id), version: version, body: in})
}

// DeleteUser deletes a member.
func (c *Caller) DeleteUser(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: usersPath + "/" + url.PathEscape(id)})
}

// InviteAgain sends a member a new link.
func (c *Caller) InviteAgain(ctx context.Context, id string) (InvitationResult, error) {
	return call[InvitationResult](ctx, c, request{service: identity, method: "POST", path: usersPath + "/" + url.PathEscape(id) + "/invitation"})
}

// RemoveSecondFactors removes the second factors of a member.
func (c *Caller) RemoveSecondFactors(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: usersPath + "/" + url.PathEscape(id) + "/second-factors"})
}

// OrganizationResult is the organization of the caller.
type OrganizationResult struct {
	Organization Organization `json:"organization"`
}

// Organization is an organization with its plan.
type Organization struct {
	ID               string         `json:"id"`
	Name             string         `json:"name"`
	Plan             string         `json:"plan"`
	Limits           map[string]any `json:"limits"`
	RequireTwoFactor bool           `json:"requireTwoFactor"`
	Version          int64          `json:"version"`
}

// Organization returns the caller's organization.
func (c *Caller) Organization(ctx context.Context) (OrganizationResult, error) {
	return call[OrganizationResult](ctx, c, request{service: identity, method: "GET", path: "/app/organization"})
}

// OrganizationChange is a change of the organization.
type OrganizationChange struct {
	Name             string `json:"name"`
	RequireTwoFactor bool   `json:"requireTwoFactor"`
}

// ChangeOrganization changes the organization if it has the version.
func (c *Caller) ChangeOrganization(ctx context.Context, version int64, in OrganizationChange) (OrganizationResult, error) {
	return call[OrganizationResult](ctx, c, request{service: identity, method: "PATCH", path: "/app/organization", version: version, body: in})
}

// SignOnResult has the single sign-on of the organization, or nil if there is none.
type SignOnResult struct {
	SignOn *SignOn `json:"signOn"`
}

// SignOn is the single sign-on of an organization.
type SignOn struct {
	Name          string              `json:"name"`
	Label         string              `json:"label"`
	Issuer        string              `json:"issuer"`
	ClientID      string              `json:"clientId"`
	Enforced      bool                `json:"enforced"`
	CreateMembers bool                `json:"createMembers"`
	DefaultRoles  []string            `json:"defaultRoles"`
	RolesClaim    string              `json:"rolesClaim"`
	RoleMap       map[string][]string `json:"roleMap"`
}

const signOnPath = "/app/organization/sign-on"

// SignOn returns the single sign-on of the organization.
func (c *Caller) SignOn(ctx context.Context) (SignOnResult, error) {
	return call[SignOnResult](ctx, c, request{service: identity, method: "GET", path: signOnPath})
}

// SignOnChange replaces the single sign-on. An empty ClientSecret keeps the stored one, unless the issuer changes.
type SignOnChange struct {
	Name          string              `json:"name"`
	Label         string              `json:"label"`
	Issuer        string              `json:"issuer"`
	ClientID      string              `json:"clientId"`
	ClientSecret  string              `json:"clientSecret,omitempty"`
	Enforced      bool                `json:"enforced"`
	CreateMembers bool                `json:"createMembers"`
	DefaultRoles  []string            `json:"defaultRoles"`
	RolesClaim    string              `json:"rolesClaim"`
	RoleMap       map[string][]string `json:"roleMap"`
}

// SetSignOn replaces the single sign-on of the organization.
func (c *Caller) SetSignOn(ctx context.Context, in SignOnChange) (SignOnResult, error) {
	return call[SignOnResult](ctx, c, request{service: identity, method: "PUT", path: signOnPath, body: in})
}

// DeleteSignOn removes the single sign-on of the organization.
func (c *Caller) DeleteSignOn(ctx context.Context) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: signOnPath})
}

// SignOnTest is the result of a test of the provider.
type SignOnTest struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// TestSignOn checks that the provider sends usable metadata.
func (c *Caller) TestSignOn(ctx context.Context) (SignOnTest, error) {
	return call[SignOnTest](ctx, c, request{service: identity, method: "POST", path: signOnPath + "/test"})
}

// AuditEntries is a page of the audit log.
type AuditEntries struct {
	Entries   []AuditEntry `json:"entries"`
	NextToken *string      `json:"nextToken"`
}

// AuditEntry is the entry of a write in the audit log.
type AuditEntry struct {
	ID            string         `json:"id"`
	OccurredAt    time.Time      `json:"occurredAt"`
	Actor         Actor          `json:"actor"`
	Action        string         `json:"action"`
	EntityType    string         `json:"entityType"`
	EntityID      string         `json:"entityId"`
	EntityName    string         `json:"entityName"`
	ChangedFields []string       `json:"changedFields"`
	Before        map[string]any `json:"before"`
	After         map[string]any `json:"after"`
	IP            *string        `json:"ip"`
	RequestID     *string        `json:"requestId"`
	Surface       string         `json:"surface"`
}

// Actor is who made a write.
type Actor struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Email string `json:"email"`
	KeyID string `json:"keyId"`
}

// AuditEntries lists the audit entries that match the query, the newest first.
func (c *Caller) AuditEntries(ctx context.Context, query url.Values) (AuditEntries, error) {
	return call[AuditEntries](ctx, c, request{service: identity, method: "GET", path: "/app/audit", query: query})
}
