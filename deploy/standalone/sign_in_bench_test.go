package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// BenchmarkSignIns (goal C3) sends 1,000 sign-ins at once to the identity service, each with the right password, five
// times. It measures the memory of the service, and the time of the key checks of a gateway within the 2 seconds of each
// burst. The same key checks before are one control. The other are key checks while 1,000 requests that hash nothing are
// sent at once, from the same client on the same cores. Sign-ins that find no slot for their hash in time get 503.
//
//	go test -run '^$' -bench '^BenchmarkSignIns$' -benchtime 1x ./deploy/standalone
func BenchmarkSignIns(b *testing.B) {
	const members, signIns, rounds = 20, 1000, 5
	for b.Loop() {
		c := startCluster(b, "BELLBUOY_LOG_LEVEL=warn")
		acme := provision(b, c.base, "Acme", "acme-admin", "admin")
		var names []string
		for i := range members {
			member := addUser(b, acme, fmt.Sprint("member-", i), "event")
			c.signedIn(b, member, "event")
			names = append(names, member.Username)
		}
		keyID, key, _ := strings.Cut(acme.AppKey, ":")
		identity := peer.Identity{Client: peer.NewClient("identity", "http://"+c.addresses["identity"], peer.Options{
			Caller: "gateway", Signer: passport.NewSigner(secret, time.Now),
		})}
		checked := func(until func() bool) (times []time.Duration) {
			for !until() {
				began := time.Now()
				if _, err := identity.Credential(b.Context(), peer.KeyLookup{Scheme: peer.Bearer, ID: keyID, SecretDigest: seal.Digest(key)}); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
				time.Sleep(2 * time.Millisecond)
			}
			return times
		}
		ends := func(d time.Duration) func() bool {
			end := time.Now().Add(d)
			return func() bool { return time.Now().After(end) }
		}
		checked(ends(time.Second)) // warms up
		before, rest := checked(ends(10*time.Second)), c.processes["identity"].resident()

		// burst sends requests at once, until all have a response, and returns the times of the key checks meanwhile.
		var statuses [600]atomic.Int64
		peak := rest
		burst := func(path string, body func(i int) map[string]any) (during []time.Duration) {
			for range rounds {
				var group, sampler sync.WaitGroup
				for i := range signIns {
					group.Go(func() {
						statuses[browser{t: b, cluster: c}.call("identity", http.MethodPost, path, body(i)).status].Add(1)
					})
				}
				var ended atomic.Bool
				go func() { group.Wait(); ended.Store(true) }()
				sampler.Go(func() {
					for !ended.Load() {
						peak = max(peak, c.processes["identity"].resident())
						time.Sleep(50 * time.Millisecond)
					}
				})
				end := ends(2 * time.Second) // as long as a sign-in may wait
				during = append(during, checked(func() bool { return ended.Load() && end() })...)
				sampler.Wait()
			}
			return during
		}
		control := burst("/app/invitations/read", func(int) map[string]any { return map[string]any{"token": "none"} })
		b.ReportMetric(peak-rest, "MiB-more-control")
		statuses = [600]atomic.Int64{}
		during := burst("/app/sign-in", func(i int) map[string]any {
			return map[string]any{"username": names[i%members], "password": memberPassword}
		})
		signedIn, refused := statuses[http.StatusOK].Load(), statuses[http.StatusServiceUnavailable].Load()
		if signedIn == 0 || signedIn+refused != signIns*rounds {
			b.Errorf("%d sign-ins of %d succeeded, %d were refused", signedIn, signIns*rounds, refused)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(rest, "MiB-before")
		b.ReportMetric(peak-rest, "MiB-more")
		b.ReportMetric(ms(percentile(before, 99)), "ms-p99-before")
		b.ReportMetric(ms(percentile(control, 99)), "ms-p99-control")
		b.ReportMetric(ms(percentile(during, 99)), "ms-p99-during")
		b.ReportMetric(float64(percentile(during, 99))/float64(percentile(before, 99)), "of-before")
		b.ReportMetric(float64(percentile(during, 99))/float64(percentile(control, 99)), "of-control")
		b.ReportMetric(float64(signedIn)/rounds, "signed-in")
	}
}

func percentile(times []time.Duration, p int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*p/100]
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// BenchmarkFailedSignIns compares the times of failed sign-ins through the gateway and the console, in turn: of a member, of
// a member without a password, of a disabled one, and of an unknown name. The lower quartiles must not tell them apart
// (other work on the machine only adds time).
//
//	go test -run '^$' -bench '^BenchmarkFailedSignIns$' -benchtime 1x ./deploy/standalone
func BenchmarkFailedSignIns(b *testing.B) {
	const rounds = 90 // fewer than the failures that one name may have
	for b.Loop() {
		_, base := started(b, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_TRUSTED_PROXIES=127.0.0.0/8", "BELLBUOY_LOG_LEVEL=warn")
		acme := provision(b, base, "Acme", "acme-admin", "admin")
		addUser(b, acme, "invited", "event")
		for _, name := range []string{"member", "disabled"} {
			of := addUser(b, acme, name, "event")
			var invitation struct{ URL string }
			send(b, http.MethodPost, base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(b, http.StatusCreated).into(b, &invitation)
			newConsoleUser(b, base).open(invitation.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
			if name == "disabled" {
				send(b, http.MethodPatch, base+"/operator/v1/users/"+of.UserID, of.operator(), map[string]any{"disabled": true}).expect(b, http.StatusOK)
			}
		}
		names, times := []string{"member", "invited", "disabled", "unknown"}, map[string][]time.Duration{}
		for round := range rounds {
			for i, name := range names {
				person := newConsoleUser(b, base)
				person.ip = fmt.Sprintf("198.51.%d.%d", i, round)
				person.open("/sign-in", http.StatusOK)
				began := time.Now()
				person.fill("/sign-in", typed("username", name, "password", "a wrong password"), http.StatusUnprocessableEntity)
				times[name] = append(times[name], time.Since(began))
			}
		}
		var quartiles []time.Duration
		for _, name := range names {
			quartile := percentile(times[name], 25)
			quartiles = append(quartiles, quartile)
			b.ReportMetric(ms(quartile), "ms-p25-"+name)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(slices.Max(quartiles))/float64(slices.Min(quartiles)), "slowest/quickest")
	}
}
