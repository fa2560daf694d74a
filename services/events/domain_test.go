package events_test

import (
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/events"
)

// zone is the TXT records of a name server, by name.
type zone struct {
	mu    sync.Mutex
	texts map[string][]string
	asked int // queries
}

func (z *zone) set(name string, texts ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.texts[name] = texts
}

func (z *zone) get(name string) []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	return z.texts[name]
}

// queries returns the number of queries.
func (z *zone) queries() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}

// startWithProof starts a service that asks for the proof of custom domains, and the name server for them.
func startWithProof(t *testing.T) (*platform, *zone) {
	t.Helper()
	records := &zone{texts: map[string][]string{}}
	p := &platform{t: t, documents: apitest.Documents(t), broker: startBroker(t)}
	p.adjust = func(c *events.Config) { c.DomainProof, c.Resolver = "dns", apitest.TXTResolver(t, records.get) }
	p.signer = passport.NewSigner(secret, p.now)
	p.run()
	p.dashboards()
	return p, records
}

// domain is a row of the member domains.
type domain struct {
	Host     string
	Verified bool
	TXT      *string
}

// domains returns the domains and the url of a dashboard.
func (p *platform) domains(organization, id string) (domains []domain, url string) {
	p.t.Helper()
	var got struct {
		Dashboard struct {
			Domains []domain
			URL     string
		}
	}
	a := p.send("app event "+organization, "GET", "/app/dashboards/"+id, "")
	if err := json.Unmarshal(a.body, &got); a.status != 200 || err != nil {
		p.t.Fatalf("%d %s", a.status, a.body)
	}
	return got.Dashboard.Domains, got.Dashboard.URL
}

// served returns, by host, whether visitors find a dashboard on it.
func (p *platform) served(hosts ...string) map[string]bool {
	p.t.Helper()
	out := map[string]bool{}
	for _, host := range hosts {
		out[host] = p.send("public", "GET", "/public/v1/hosts/"+host+"/edition", "").status == 200
	}
	return out
}

// checked waits until the service has asked the name server four more times.
func (p *platform) checked(records *zone) {
	p.t.Helper()
	before := records.queries()
	apitest.Eventually(p.t, "the service checks the hosts", func() bool {
		p.ahead.Add(int64(time.Hour))
		return records.queries() >= before+4
	})
}

func TestACustomDomainIsServedAfterItsProofByDNS(t *testing.T) {
	const first, second = "status.acme.example", "status.acme.test"
	p, records := startWithProof(t)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"customDomains": ["`+first+`", "`+second+`"]}`)
	domains, url := p.domains("a", dashA)
	if len(domains) != 2 || domains[0].Host != first || domains[0].TXT == nil || len(*domains[0].TXT) < 32 || *domains[0].TXT == *domains[1].TXT || url != "https://status.example/d/acme-status" {
		t.Fatalf("%+v at %s", domains, url)
	}
	expect := func(what string, firstServed, secondServed bool) {
		t.Helper()
		want := map[string]bool{first: firstServed, second: secondServed}
		apitest.Eventually(t, what, func() bool {
			p.ahead.Add(int64(time.Minute)) // the next check is due
			domains, _ := p.domains("a", dashA)
			return maps.Equal(p.served(first, second), want) && domains[0].Verified == firstServed && domains[1].Verified == secondServed
		})
	}
	records.set("_bellbuoy."+first+".", "another text", *domains[1].TXT)
	records.set(second+".", *domains[1].TXT)
	p.checked(records) // a wrong token, and a right one with another name, prove nothing
	expect("no host is served without its token", false, false)
	records.set("_bellbuoy."+second+".", "v=1", "bellbuoy="+*domains[1].TXT)
	expect("the second host is served", false, true)
	if _, url := p.domains("a", dashA); url != "https://"+second {
		t.Errorf("the address is %s", url)
	}
	records.set("_bellbuoy."+first+".", *domains[0].TXT)
	expect("both hosts are served", true, true)
	if _, url := p.domains("a", dashA); url != "https://"+first {
		t.Errorf("the address is %s", url)
	}

	version := p.must(200, "app event a", "GET", "/app/dashboards/"+dashA, "")["dashboard"].(map[string]any)["version"]
	records.set("_bellbuoy." + first + ".")
	expect("a host stays proven", true, true)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"customDomains": ["`+second+`"]}`)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"customDomains": ["`+first+`", "`+second+`"]}`)
	expect("a host that was removed must be proven again", false, true)
	if now := p.must(200, "app event a", "GET", "/app/dashboards/"+dashA, "")["dashboard"].(map[string]any)["version"]; now != version.(float64)+2 {
		t.Errorf("checks change the version from %v to %v", version, now)
	}

	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"customDomains": ["`+second+`"]}`)
	p.must(200, "app admin b", "PATCH", "/app/dashboards/"+dashB, `{"customDomains": ["`+first+`"]}`)
	others, _ := p.domains("b", dashB)
	records.set("_bellbuoy."+first+".", *domains[0].TXT)
	if p.checked(records); p.served(first)[first] || *others[0].TXT == *domains[0].TXT {
		t.Fatal("the token of an organization proves the host of another one")
	}
}

// TestDomainsOfAnInstallationMustBeProvenOnceItAsks starts the service again with another setting.
func TestDomainsOfAnInstallationMustBeProvenOnceItAsks(t *testing.T) {
	const host = "status.acme.example"
	records := &zone{texts: map[string][]string{}}
	p := start(t, startBroker(t))
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"customDomains": ["`+host+`"]}`)
	if domains, url := p.domains("a", dashA); !domains[0].Verified || domains[0].TXT != nil || url != "https://"+host || !p.served(host)[host] {
		t.Fatalf("without proof: %+v at %s", domains, url)
	}
	p.stop()
	p.adjust = func(c *events.Config) { c.DomainProof, c.Resolver = "dns", apitest.TXTResolver(t, records.get) }
	p.run()
	apitest.Eventually(t, "the host is not served any more", func() bool { return !p.served(host)[host] })
	domains, _ := p.domains("a", dashA)
	records.set("_bellbuoy."+host+".", *domains[0].TXT)
	apitest.Eventually(t, "the host is served after its proof", func() bool {
		p.ahead.Add(int64(time.Minute))
		return p.served(host)[host]
	})
}
