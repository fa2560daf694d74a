package account

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The ways in which clients attempt to sign in, beside the Methods of sessions.
const (
	byCode  Method = "code"  // the second step, after a password, a link or a single sign-on
	byAgain Method = "again" // a signed-in member proves who they are
)

// AttemptMethods returns the methods that observe counts.
func AttemptMethods() []Method { return []Method{ByPassword, byCode, ByPasskey, BySignOn, byAgain} }

// Outcome is the result of an attempt to sign in.
type Outcome string

const (
	accepted  Outcome = "accepted" // also the first of two steps
	refused   Outcome = "refused"
	throttled Outcome = "throttled" // refused at a limit
	failed    Outcome = "failed"    // nothing was proven or refuted, because a part of the platform or the provider failed
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{accepted, refused, throttled, failed} }

// Observer counts for the metrics.
type Observer interface {
	SignIn(method Method, outcome Outcome)
	PasswordHashed()
}

// attempt is a request to sign in. An operation sets each field when it knows the value. observe reports the attempt at the
// end of the operation.
type attempt struct {
	method Method
	from   Client
	user   string // id; empty: unknown
	reason string // reason of a refusal; empty: the message for the client
	record bool   // a refusal gets an audit entry
}

// observe counts the attempt. It logs a refused attempt, but nothing that the client typed. A refusal at a limit, and a
// refusal with attempt.record, gets an audit entry of attempt.user, if the user is known.
//
// Decision: strangers can cause refusals as often as they like, and the audit log is kept forever. So a wrong password
// is in the log of the service only, and Tries limits the entries.
func (a *Accounts) observe(ctx context.Context, at *attempt, err error) {
	outcome, level, reason := accepted, slog.LevelInfo, ""
	if err != nil {
		shown := fault.As(err)
		outcome, reason = refused, cmp.Or(at.reason, shown.Message)
		switch shown.Kind {
		case fault.TooMany:
			outcome, level, reason = throttled, slog.LevelWarn, "too many tries"
		case fault.Unavailable, fault.Internal:
			outcome = failed
		}
	}
	a.Observer.SignIn(at.method, outcome)
	if outcome == accepted || outcome == failed {
		return
	}
	attributes := []any{"method", string(at.method), "reason", reason, "ip", at.from.IP}
	if at.user != "" {
		attributes = append(attributes, "user", at.user)
	}
	if at.method == BySignOn {
		attributes = append(attributes, "error", err)
	}
	a.Log.Log(ctx, level, "sign-in refused", attributes...)
	if outcome != throttled && !at.record {
		return
	}
	// The time of the response must not reveal whether there is such a user.
	_, err = timing.Run(ctx, func() (struct{}, error) { return struct{}{}, a.recordRefusal(ctx, at, reason) })
	if err != nil {
		a.Log.WarnContext(ctx, "a refused sign-in is not in the audit log", "user", at.user, "error", err)
	}
}

// refusedSignIn is a refusal as audit entries show it.
type refusedSignIn struct {
	Method Method `audit:"method"`
	Reason string `audit:"reason"`
	user   User
}

// AuditEntity implements audit.Record.
func (r refusedSignIn) AuditEntity() audit.Entity { return r.user.AuditEntity() }

// recordRefusal stores an audit entry of the user, unless the limit of Tries for such entries is reached. The actor of
// the entry is a visitor, or the member who signs in again.
func (a *Accounts) recordRefusal(ctx context.Context, at *attempt, reason string) error {
	if at.user == "" || a.Tries.Refusal(ctx, at.from.IP, at.user) > 0 {
		return nil
	}
	origin := audit.From(ctx)
	if origin.Actor.ID == "" {
		origin.Actor = topic.Actor{Type: topic.ActorVisitor}
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	_, err := a.Store.Users.Update(ctx, at.user, func(u *User) ([]topic.Message, error) {
		return audit.Entry(origin, actionSignInRefuse, a.Now(), nil, &refusedSignIn{at.method, reason, *u}), nil
	})
	return fault.UnlessMissing(err)
}
