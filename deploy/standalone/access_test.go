package main_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// expectRefused fails the test unless the response is 403 with an empty body.
func expectRefused(t *testing.T, got answer) {
	t.Helper()
	if got.status != http.StatusForbidden || len(got.body) != 0 {
		t.Errorf("%d %q instead of an empty 403", got.status, got.body)
	}
	if got.header.Get("WWW-Authenticate") != "" {
		t.Error("the answer has a WWW-Authenticate header")
	}
}

func TestEveryAuthenticationFailureIsAnEmpty403(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	c := provision(t, base, "Acme", "acme-admin", "admin", "api")
	keyID, keySecret, _ := strings.Cut(c.AppKey, ":")
	disabled := addUser(t, c, "disabled", "admin", "api")
	deleted := addUser(t, c, "deleted", "admin", "api")
	revoked := addUser(t, c, "revoked", "admin", "api")
	users, services := base+"/app/users", base+"/api/v1/service/"
	for _, u := range []credentials{c, disabled, deleted, revoked} {
		send(t, http.MethodGet, users, u.app(), nil).expect(t, http.StatusOK)
		send(t, http.MethodGet, services, u.legacy(), nil).expect(t, http.StatusOK)
	}
	send(t, http.MethodPatch, base+"/operator/v1/users/"+disabled.UserID, c.operator(), map[string]any{"disabled": true}).expect(t, http.StatusOK)
	send(t, http.MethodDelete, base+"/operator/v1/users/"+deleted.UserID, c.operator(), nil).expect(t, http.StatusNoContent)
	revokedID, _, _ := strings.Cut(revoked.AppKey, ":")
	send(t, http.MethodDelete, base+"/app/api-keys/"+revokedID, revoked.app(), nil).expect(t, http.StatusNoContent)
	send(t, http.MethodPost, base+"/operator/v1/users/"+revoked.UserID+"/legacy-key", c.operator(), nil).expect(t, http.StatusCreated)

	for name, authorization := range map[string]string{
		"none":                   "",
		"scheme only":            "Bearer",
		"no colon":               "Bearer " + keyID,
		"empty secret":           "Bearer " + keyID + ":",
		"empty id":               "Bearer :" + keySecret,
		"wrong secret":           "Bearer " + keyID + ":" + strings.Repeat("x", len(keySecret)),
		"secret cut short":       "Bearer " + c.AppKey[:len(c.AppKey)-1],
		"unknown id":             "Bearer nobody:" + keySecret,
		"basic":                  "Basic " + c.AppKey,
		"the legacy scheme":      c.legacy(),
		"a legacy key as bearer": "Bearer " + c.Username + ":" + c.LegacyKey,
		"an operator's token":    c.operator(),
		"revoked":                revoked.app(),
		"of a disabled user":     disabled.app(),
		"of a deleted user":      deleted.app(),
		"very long":              "Bearer " + strings.Repeat("k", 8000) + ":s",
	} {
		t.Run("app: "+name, func(t *testing.T) { expectRefused(t, send(t, http.MethodGet, users, authorization, nil)) })
	}
	for name, authorization := range map[string]string{
		"none":               "",
		"scheme only":        "ApiKey",
		"no colon":           "ApiKey " + c.Username,
		"empty key":          "ApiKey " + c.Username + ":",
		"wrong key":          "ApiKey " + c.Username + ":" + strings.Repeat("x", len(c.LegacyKey)),
		"user in upper case": "ApiKey " + strings.ToUpper(c.Username) + ":" + c.LegacyKey,
		"unknown user":       "ApiKey nobody:" + c.LegacyKey,
		"the app's scheme":   c.app(),
		"an app key":         "ApiKey " + c.AppKey,
		"replaced":           revoked.legacy(),
		"of a disabled user": disabled.legacy(),
		"of a deleted user":  deleted.legacy(),
	} {
		t.Run("legacy: "+name, func(t *testing.T) { expectRefused(t, send(t, http.MethodGet, services, authorization, nil)) })
	}
	t.Run("legacy: in the query", func(t *testing.T) {
		expectRefused(t, send(t, http.MethodGet, services+"?username="+c.Username+"&api_key="+c.LegacyKey, "", nil))
	})
	t.Run("operator: wrong token", func(t *testing.T) {
		expectRefused(t, send(t, http.MethodGet, base+"/operator/v1/organizations", "Operator "+strings.Repeat("x", len(operatorToken)), nil))
	})
	t.Run("app: an unknown path without a key", func(t *testing.T) {
		expectRefused(t, send(t, http.MethodGet, base+"/app/nothing", "", nil))
	})
	t.Run("legacy: scheme in any case", func(t *testing.T) {
		send(t, http.MethodGet, services, "apikey   "+c.Username+":"+c.LegacyKey, nil).expect(t, http.StatusOK)
	})
}

func TestRevokedKeyFailsOnTheNextRequestThroughAnotherGateway(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	c := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	for round := range 20 {
		key := addUser(t, c, "user-"+string(rune('a'+round)), "admin")
		id, _, _ := strings.Cut(key.AppKey, ":")
		for _, gateway := range cluster.gateways {
			send(t, http.MethodGet, gateway+"/app/users", key.app(), nil).expect(t, http.StatusOK)
		}
		send(t, http.MethodDelete, cluster.gateways[0]+"/app/api-keys/"+id, key.app(), nil).expect(t, http.StatusNoContent)
		expectRefused(t, send(t, http.MethodGet, cluster.gateways[1]+"/app/users", key.app(), nil))
		expectRefused(t, send(t, http.MethodGet, cluster.gateways[0]+"/app/users", key.app(), nil))
	}
}

func TestExactly1000Of1064ConcurrentLegacyCallsPass(t *testing.T) {
	t.Parallel()
	kafka, redis := sharedEngines(t)
	cluster := startCluster(t, "KAFKA_BROKERS="+kafka, "REDIS_URL="+redis+"?read_timeout=30s") // a slow Redis would let more calls pass
	c := provision(t, cluster.base, "Acme", "acme-admin", "api")
	var passed, refused, other atomic.Int64
	calls := make(chan int)
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for n := range calls {
				got, err := try(t.Context(), http.MethodGet, cluster.gateways[n%2]+"/api/v1/type/", c.legacy(), nil)
				switch {
				case err == nil && got.status == http.StatusOK:
					passed.Add(1)
				case err == nil && got.status == http.StatusForbidden && len(got.body) == 0 && got.header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	for n := range 1064 {
		calls <- n
	}
	close(calls)
	workers.Wait()
	if passed.Load() != 1000 || refused.Load() != 64 {
		t.Errorf("%d passed, %d were refused, %d got something else", passed.Load(), refused.Load(), other.Load())
	}
	send(t, http.MethodGet, cluster.base+"/api/v1/type/", addUser(t, c, "another", "api").legacy(), nil).expect(t, http.StatusOK)
}

func TestServiceReachedDirectlyRefusesAllButAValidPassport(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	rival := provision(t, cluster.base, "Rival", "rival-admin", "admin", "api")
	now := time.Now()
	signer := passport.NewSigner(secret, time.Now)
	expired := passport.NewSigner(secret, func() time.Time { return now.Add(-2 * passport.Life) })
	forger := passport.NewSigner(strings.Repeat("f", 40), func() time.Time { return now })
	for service, path := range map[string]string{
		"identity": "/app/users", "events": "/api/v1/service/", "subscribers": "/api/v1/email/",
		"integrations": "/app/integrations/webhooks/outbound/endpoints", "delivery": "/internal/v1/anything", "console": "/console/sign-in",
	} {
		surface := passport.App
		if strings.HasPrefix(path, "/api/") {
			surface = passport.Legacy
		} else if service == "console" {
			surface = passport.Console
		}
		good := passport.Passport{Audience: service, Surface: surface, Organization: acme.OrganizationID, User: acme.UserID,
			Roles: []string{"admin", "api"}, Features: passport.Features{API: true, Integrations: true}}
		elsewhere := good
		elsewhere.Audience = "gateway"
		for name, token := range map[string]string{
			"none": "", "garbage": "x.y", "forged": forger.Sign(good), "expired": expired.Sign(good), "for another service": signer.Sign(elsewhere),
		} {
			t.Run(service+": "+name, func(t *testing.T) {
				expectRefused(t, direct(t, http.MethodGet, "http://"+cluster.addresses[service]+path, token, ""))
			})
		}
		if service != "delivery" {
			t.Run(service+": a good one", func(t *testing.T) {
				direct(t, http.MethodGet, "http://"+cluster.addresses[service]+path, signer.Sign(good), "").expect(t, http.StatusOK)
			})
		}
	}
	// A passport that a service signed for one organization is not valid for a path of another organization.
	events := "http://" + cluster.addresses["events"]
	peer := signer.Sign(passport.Passport{Audience: "events", Surface: passport.Peer, Organization: acme.OrganizationID, Caller: "integrations"})
	direct(t, http.MethodGet, events+"/internal/v1/organizations/"+acme.OrganizationID+"/dashboards/"+acme.DashboardID, peer, "").expect(t, http.StatusOK)
	direct(t, http.MethodGet, events+"/internal/v1/organizations/"+rival.OrganizationID+"/dashboards/"+rival.DashboardID, peer, "").expect(t, http.StatusForbidden)
}

// direct sends a request directly to a service, not through the gateway.
func direct(t *testing.T, method, url, token, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set(passport.Header, token)
	}
	return exchange(t, request)
}
