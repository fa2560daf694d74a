// Package account is the domain of organizations with their plans, their users, the keys of the users, and how users
// sign in.
//
// Decision: a user and all of its keys and sessions are one record. Revoking a key, ending a session, disabling a user,
// changing its roles and deleting it are therefore one atomic write each, and each such write applies to exactly the
// keys and sessions that exist at that time. A sign-in uses up a code in the write that starts the session, and a link in
// the write that sets the password. Secrets are stored as digests, or sealed if the service must read them.
//
// # Changes take effect for the next request
//
// Gateways cache the rights of a key or session (a credential) in Redis for one minute. What follows about keys also
// holds for sessions. A change of rights takes these steps:
//
//  1. Store the change, and set StaleSince in the same write.
//  2. Void the cache entries of the keys. Gateways request a key with a void entry from identity. Gateways do not
//     overwrite a void entry, and it outlives every lookup in progress. So a lookup that read the former rights cannot
//     cache them.
//  3. Clear StaleSince, and respond.
//
// A key that is created before step 1 is in the record that step 1 returns. A key that is created after step 1 has
// the new rights.
//
// If the process is killed between the steps, or Redis is down, StaleSince stays set. While Redis is down, gateways
// request every key from identity. But when Redis is back, it may still have an entry from before the outage. And if only
// this process has no connection to Redis, gateways still use the cached entries. So the response is Unavailable: the
// change is stored but not confirmed. Sweep voids the entries when Redis accepts writes again, also after a restart. A
// client can repeat the request to confirm the change at once. A repeated revocation or deletion succeeds as long as
// StaleSince is set.
//
// # Operations of several steps
//
// Each organization gets a dashboard, which the events service stores. AddOrganization stores the organization as
// pending, with the id of the dashboard. Then it creates the dashboard and sends the plan to the events service. Both
// steps may be repeated. Then it marks the organization as ready. No operation finds a pending organization. Sweep
// completes pending organizations.
//
// DeleteUser marks the user as deleted. This one write disables the user's keys and makes the name available. Then
// DeleteUser removes the record. Sweep removes a record that is marked but not removed.
package account

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// The fields that queries may name.
const (
	FieldState        = "state" // Organization.State
	FieldStale        = "stale" // organizations and users: true if Sweep must process the record
	FieldOrganization = "organization"
	FieldLegacyID     = "legacyId"
	FieldUsername     = "username"
	FieldEmail        = "email"
	FieldFirstName    = "firstName"
	FieldLastName     = "lastName"
	FieldActive       = "active"
	FieldCreatedAt    = "joinedAt"    // to the second
	FieldLastLoginAt  = "lastLoginAt" // to the second
	FieldKeyIDs       = "keyIds"      // several values: the ids of the active App keys
	FieldSessionIDs   = "sessionIds"  // several values: the ids of the sessions that have not ended
	FieldAddress      = "address"     // FieldEmail in lower case
	FieldSignInName   = "signInName"  // FieldAddress if the user can sign in with it, see User.SignInName
	FieldProvenName   = "provenName"  // FieldSignInName if it is proven, see User.ProvenName
	FieldSubject      = "subject"     // absent: the user never signed in by single sign-on
	FieldSignOn       = "signOn"      // organizations: SignOn.Name, absent without single sign-on
)

// IndexLegacy is the index (organization, legacyId) of users.
const IndexLegacy = "org_legacy"

// The unique indexes of single sign-on: of users by their organization and their subject, and of organizations by the
// name of their provider.
const (
	IndexSubject = "org_subject"
	IndexSignOn  = "sign_on"
)

// Store stores the domain's records.
type Store struct {
	Organizations find.Collection[Organization]
	Users         find.Collection[User] // usernames are unique in the installation
	Audit         AuditLog
	// Next returns the next number of a counter: 1, 2, 3. It returns each number once.
	Next func(ctx context.Context, counter string) (int64, error)
}

// Gateways is the cache of credentials that the gateways share.
type Gateways interface {
	// Void replaces the cache entries of the keys by void entries, so that gateways request these keys from identity.
	Void(ctx context.Context, keys []KeyRef) error
}

// Accounts holds the operations of the domain.
type Accounts struct {
	Options
	plans  map[Plan]Terms
	hasher *hasher
}

// Options are the dependencies and settings of Accounts.
type Options struct {
	Store    Store
	Gateways Gateways
	// Dashboard creates an organization's first dashboard, if no dashboard has the id, and returns the slug of the
	// dashboard.
	Dashboard func(ctx context.Context, organization, id, name string) (slug string, err error)
	// Plan sends the features of an organization's plan to the events service, which applies them to the dashboards.
	Plan func(ctx context.Context, organization string, of Features) error
	// LegacyPerHour and AppPerMinute are the rates of the default plan.
	LegacyPerHour int
	AppPerMinute  int
	Tries         Tries
	Observer      Observer
	Issuers       Issuers
	// SignOnResolve names issuers that need not be public.
	SignOnResolve egress.Resolve
	// Secret is the platform's secret, for seals and signatures.
	Secret string
	// ConsoleBaseURL is the base URL of the links to the console.
	ConsoleBaseURL string
	Log            *slog.Logger
	Now            func() time.Time // UTC, whole milliseconds
}

// New returns the operations.
func New(o Options) *Accounts {
	return &Accounts{o, plans(o.LegacyPerHour, o.AppPerMinute), newHasher(hashSlots(runtime.GOMAXPROCS(0)), o.Observer.PasswordHashed)}
}

// finishTimeout is the time limit of a change of several steps.
const finishTimeout = 15 * time.Second

// finish returns a context for a change of several steps. This context does not end when the client disconnects.
func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
}

func noOrganization() error { return fault.New(fault.NotFound, "There is no such organization.") }
func noUser() error         { return fault.New(fault.NotFound, "There is no such user.") }
func noKey() error          { return fault.New(fault.NotFound, "There is no such API key.") }
