package main_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const (
	noRole        = "Your role does not allow this."
	noEntitlement = "The plan of your organization does not include "
)

// refusedKeys are the errors for a key that calls an operation of the console.
var refusedKeys = map[web.Access]string{
	web.SignedIn:  "This needs a session of the console. A key cannot call it.",
	web.SignedOut: "Only the sign-in pages of the console can call this.",
}

// forKeys reports whether a key may call the operation of the App interface. If the service has no such operation, it
// returns true.
func forKeys(method, path string) bool {
	return !slices.ContainsFunc(declared.Operations(), func(o declared.Operation) bool {
		return o.Method == method && o.Path == path && o.Access != web.Members
	})
}

// keptReads matches the operations about recipients that an organization may still use without the entitlement of
// integrations.
var keptReads = regexp.MustCompile(`^(GET /app/\S*/(suppression|problems|logs|logs/\{logId\})|GET /app/notifications/(channels|counts)|POST /app/notifications/(audience|why|(email|sms|whatsapp)/test))$`)

// This test calls every App operation with every role and entitlement. The declarations define which calls are
// admitted. An admitted request may fail for other reasons: the test only checks for the two errors of a refused role
// or entitlement.
func TestEveryOperationAdmitsTheRolesItDeclares(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	paying := provision(t, base, "Acme", "acme-admin", "admin")
	free := provision(t, base, "Free", "free-admin", "admin")
	send(t, http.MethodPatch, base+"/operator/v1/organizations/"+free.OrganizationID, free.operator(),
		map[string]any{"enabledFeatures": map[string]any{"integrations": false}, "capabilities": map[string]any{"uptimeReports": false}}).expect(t, http.StatusOK)
	members := map[string]credentials{passport.RoleAdmin: paying}
	for _, role := range []string{passport.RoleEvent, passport.RoleSubscriber, passport.RoleAPI} {
		members[role] = addUser(t, paying, "acme-"+role, role)
	}
	walked, kept := 0, 0
	for _, operation := range declared.Operations() {
		if operation.Surface() != passport.App {
			continue
		}
		walked++
		path := base + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(operation.Path, "01890a5d-ac96-774b-bcce-b302099a8057")
		if refusal, is := refusedKeys[operation.Access]; is {
			t.Run(operation.Method+" "+operation.Path+" with a key", func(t *testing.T) {
				if got := send(t, operation.Method, path, paying.app(), nil); got.status != http.StatusForbidden || !strings.Contains(string(got.body), refusal) {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
			continue
		}
		for role, member := range members {
			t.Run(operation.Method+" "+operation.Path+" "+role, func(t *testing.T) {
				got := send(t, operation.Method, path, member.app(), nil)
				if refused := strings.Contains(string(got.body), noRole); refused == operation.Allows(role) {
					t.Errorf("%d %s; the declaration says that the role is allowed: %v", got.status, got.body, operation.Allows(role))
				}
			})
		}
		t.Run(operation.Method+" "+operation.Path+" without entitlements", func(t *testing.T) {
			got := send(t, operation.Method, path, free.app(), nil)
			needed := operation.Entitlement != web.NoEntitlement
			if about := strings.HasPrefix(operation.Path, "/app/integrations/"); about || strings.HasPrefix(operation.Path, "/app/notifications/") {
				readable := keptReads.MatchString(operation.Method + " " + operation.Path)
				if readable == needed {
					t.Errorf("declared as in need of the entitlement: %v", needed)
				}
				if readable {
					kept++
				}
			}
			if refused := got.status == http.StatusForbidden && strings.Contains(string(got.body), noEntitlement); refused != needed {
				t.Errorf("%d %s; the declaration needs %q", got.status, got.body, fmt.Sprint(operation.Entitlement))
			}
		})
	}
	if walked == 0 || kept == 0 {
		t.Errorf("%d operations were walked, %d of them reads of integrations", walked, kept)
	}
}

// This test calls every App operation directly at its service, as the gateway does with a key, and as the console does for
// a member with a session and for somebody who is signed out. The Access and the roles of the declaration define which
// calls are admitted. The session belongs to an organization without the feature API, which is about keys.
func TestEveryOperationAdmitsTheCallersOfItsAccess(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	signer := passport.NewSigner(secret, time.Now)
	key := func(role string) passport.Passport {
		return passport.Passport{
			Surface: passport.App, Organization: acme.OrganizationID, User: acme.UserID, KeyID: "a-key", Roles: []string{role},
			Features: passport.Features{API: true, Integrations: true, UptimeReports: true},
		}
	}
	session := func(role string) passport.Passport {
		member := key(role)
		member.KeyID, member.Session, member.Caller, member.Features.API = "", "a-session", "console", false
		return member
	}
	signedOut := func(string) passport.Passport { return passport.Passport{Surface: passport.App, Caller: "console"} }
	const signIn = "Sign in first."
	columns := []struct {
		name   string
		caller func(role string) passport.Passport
		// refusal is the error by the operation's Access. Empty: the roles decide.
		refusal map[web.Access]string
	}{
		{"key", key, refusedKeys},
		{"session", session, nil},
		{"signed out", signedOut, map[web.Access]string{web.Members: signIn, web.SignedIn: signIn}},
	}
	for _, operation := range declared.Operations() {
		if operation.Surface() != passport.App {
			continue
		}
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(operation.Path, "01890a5d-ac96-774b-bcce-b302099a8057")
		for _, column := range columns {
			for _, role := range []string{passport.RoleAdmin, passport.RoleEvent, passport.RoleSubscriber, passport.RoleAPI} {
				caller := column.caller(role)
				caller.Audience = operation.Service
				want := column.refusal[operation.Access]
				if want == "" && operation.Access != web.SignedOut && !operation.Allows(role) {
					want = noRole
				}
				got := direct(t, operation.Method, "http://"+cluster.addresses[operation.Service]+path, signer.Sign(caller), "")
				var refused string
				for _, text := range []string{noRole, refusedKeys[web.SignedIn], refusedKeys[web.SignedOut], signIn} {
					if got.status == http.StatusForbidden && strings.Contains(string(got.body), text) {
						refused = text
					}
				}
				if refused != want {
					t.Errorf("%s %s, %s, %s: %d %s; want %q", operation.Method, operation.Path, column.name, role, got.status, got.body, want)
				}
			}
		}
	}
}
