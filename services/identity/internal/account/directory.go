// Package account knows who may use the platform: organizations with their plan,
// the users in them, and the keys they call with.
//
// Decision: a user and all of its keys are one record. Revoking, disabling,
// changing roles and deleting are therefore each one atomic write, and whoever
// changes a user sees exactly the keys that exist at that write. Secrets are not
// known here at all, only their digests.
//
// # What holds for the next request
//
// Gateways keep what a key says (a credential) in Redis for a minute. So that a
// change holds for the very next request, it goes in this order:
//
//  1. Void the entries of all keys concerned. A void entry makes gateways ask
//     here, and they cannot overwrite it with what they read before.
//  2. Write the change, provided that the user has no key that was not voided; a
//     key made in between starts this over. An organization's users cannot be
//     held still like that: its change is written together with a debt (below).
//  3. Void again: the write may have taken longer than a void entry lives, and an
//     organization may have got users since. Then the caller has its answer.
//
// A crash after 1 leaves everything as it was. After 2, entries are void already,
// or the debt is in the database.
//
// # When Redis cannot be written
//
// A leaked key must be revocable during an outage, and while Redis is down
// gateways do ask here each time. So the change is made nevertheless. But an entry
// from before the outage can come back with Redis, or gateways may still reach what
// we cannot; it would live for up to a minute. Hence the change is written with a
// debt, Unsettled, in the same record, and the answer is Unavailable: it says
// that the change is stored but not yet confirmed everywhere, for a success would promise more
// than is known. The sweep pays the debt, voiding the entries as soon as Redis can be
// written, after a restart too. Whoever repeats the request pays it at once and gets
// the success: a repeated revocation or deletion answers like the first one until
// the debt is paid.
//
// # What takes several steps
//
// An organization is born with a dashboard, which is the events service's. It is
// written as pending, with the dashboard's id chosen; then the dashboard is made, which
// may be repeated; then the organization is marked ready. A pending one is visible
// to nobody, and the sweep completes it.
//
// A user is deleted by marking it deleted, which stops its keys and frees its name in
// one write, and then removing the record. The sweep removes what was only marked.
package account

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Store keeps the records. Errors are faults: NotFound for a missing record, Conflict
// for a user name that is taken.
type Store interface {
	AddOrganization(ctx context.Context, o Organization) error
	Organization(ctx context.Context, id string) (Organization, error)
	// ChangeOrganization writes what change made of the record; change may run several
	// times and returns fault.ErrUnchanged to write nothing.
	ChangeOrganization(ctx context.Context, id string, change func(*Organization) error) (Organization, error)
	Organizations(ctx context.Context, q find.Query) (find.Page[Organization], error)

	NextLegacyID(ctx context.Context) (int64, error)
	AddUser(ctx context.Context, u User) error
	User(ctx context.Context, id string) (User, error)
	// ChangeUser is for users what ChangeOrganization is for organizations.
	ChangeUser(ctx context.Context, id string, change func(*User) error) (User, error)
	// RemoveUser removes a record that is marked deleted and owes nothing.
	RemoveUser(ctx context.Context, id string) error
	Users(ctx context.Context, q find.Query) (find.Page[User], error)
	CountUsers(ctx context.Context, q find.Query) (int64, error)
	EachUser(ctx context.Context, q find.Query, visit func(User) error) error
}

// Gateways is what the gateways have cached of credentials.
type Gateways interface {
	// Void makes every gateway ask anew about the keys.
	Void(ctx context.Context, keys []KeyRef) error
}

// MakeDashboard makes an organization's first dashboard with the id, or finds the one
// an earlier try made, and returns its slug.
type MakeDashboard func(ctx context.Context, organization, id, name string) (slug string, err error)

// Directory is all organizations and users.
type Directory struct {
	store     Store
	gateways  Gateways
	dashboard MakeDashboard
	plans     map[Plan]Terms
	log       *slog.Logger
	now       func() time.Time
}

// Options are what a Directory is made of.
type Options struct {
	Store     Store
	Gateways  Gateways
	Dashboard MakeDashboard
	// DefaultPlan are the rates of the default plan: LEGACY_RATE_PER_HOUR, APP_RATE_PER_MINUTE.
	LegacyPerHour int
	AppPerMinute  int
	Log           *slog.Logger
	Now           func() time.Time // UTC, whole milliseconds
}

// New makes the directory.
func New(o Options) *Directory {
	return &Directory{
		store: o.Store, gateways: o.Gateways, dashboard: o.Dashboard,
		plans: plans(o.LegacyPerHour, o.AppPerMinute), log: o.Log, now: o.Now,
	}
}

// finishing is long enough for any change; a client that hangs up does not
// interrupt one between its steps.
const finishing = 15 * time.Second

func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishing)
}

func noOrganization() error { return fault.New(fault.NotFound, "There is no such organization.") }
func noUser() error         { return fault.New(fault.NotFound, "There is no such user.") }
func noKey() error          { return fault.New(fault.NotFound, "There is no such API key.") }
