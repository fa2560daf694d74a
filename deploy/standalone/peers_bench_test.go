package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// BenchmarkPeers sends events to BENCH_ENDPOINTS (10,000) webhooks with Bellbuoy and with hookdeck/outpost, to the same
// receiver over TLS, signed as Standard Webhooks, with the same body and durable logs. Each tenant has PEERS_EACH of the
// webhooks (all of them), and publishes one event; 16 clients publish at the same time. Each row is one run after another run
// that opens the connections. The time is from the first request that publishes to the last request at the receiver. The
// processor time includes that of the engines and ends peerRest after the last request; what the platform uses without deliveries is
// subtracted. scripts/peers builds outpost, starts the engines, and passes their addresses and process ids.
func BenchmarkPeers(b *testing.B) {
	outpost := os.Getenv("PEERS_OUTPOST")
	if outpost == "" {
		b.Skip("PEERS_OUTPOST names no folder with the programs of outpost; see scripts/peers")
	}
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_ENDPOINTS"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	each, err := strconv.Atoi(cmp.Or(os.Getenv("PEERS_EACH"), strconv.Itoa(n)))
	if err != nil || each < 1 || n%each != 0 {
		b.Fatalf("PEERS_EACH: %d webhooks cannot be divided by %d", n, each)
	}
	c := startCrowd(b)
	measured := b.Run("bellbuoy", func(b *testing.B) {
		p, base := started(b, append(c.env(b), "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
		seeded(b, p)
		publish := publishers(n/each, func(tenant int) func() {
			name := fmt.Sprintf("tenant-%d", tenant)
			return actor{b, provision(b, base, name, name, "admin", "api")}.publisher(base, each)
		})
		comparePeer(b, c, n, []int{p.command.Process.Pid}, publish)
		leave(b, p)
	})
	if !measured {
		return // there is no body that outpost could send
	}
	b.Run("outpost", func(b *testing.B) {
		p, publish := startOutpost(b, outpost, c, n/each, each)
		comparePeer(b, c, n, append(peerEngines(b, "redis", "postgres", "rabbitmq"), p.command.Process.Pid), publish)
		leave(b, p)
	})
}

// publishers makes a publisher for each tenant. It returns a function that calls all of them.
func publishers(tenants int, make func(tenant int) func()) func() {
	var all []func()
	for tenant := range tenants {
		all = append(all, make(tenant))
	}
	return func() {
		var group errgroup.Group
		group.SetLimit(16)
		for _, publish := range all {
			group.Go(func() error {
				publish()
				return nil
			})
		}
		_ = group.Wait() // a publisher that fails ends the benchmark
	}
}

// peerRest is the time after the last request in which a platform stores its logs.
const peerRest = 15 * time.Second

// comparePeer measures a platform, whose processes have the process ids.
func comparePeer(b *testing.B, c *crowd, n int, pids []int, publish func()) {
	c.expect(n)
	publish()
	c.arrived(b)
	var took, used, accepted time.Duration
	for b.Loop() {
		<-time.After(peerRest)
		before := processorTime(b, pids)
		<-time.After(peerRest)
		idle := processorTime(b, pids) - before
		c.expect(n)
		before, began := processorTime(b, pids), time.Now()
		publish()
		accepted += time.Since(began)
		took += c.arrived(b).Sub(began)
		<-time.After(peerRest)
		used += processorTime(b, pids) - before - time.Duration(float64(idle)*float64(time.Since(began))/float64(peerRest))
		if got := c.counted(); got != n {
			b.Errorf("%d requests arrived instead of %d", got, n)
		}
	}
	total := float64(n * b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(total/took.Seconds(), "deliveries/s")
	b.ReportMetric(ms(accepted)/float64(b.N), "ms-to-response")
	b.ReportMetric(ms(took)/float64(b.N), "ms-to-last")
	b.ReportMetric(float64(used.Microseconds())/total, "us-cpu/delivery")
}

// counted returns the number of requests since expect.
func (c *crowd) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// publisher creates n webhook endpoints, and returns a function that opens an incident on their component.
func (a actor) publisher(base string, n int) func() {
	send(a.t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"limits": map[string]any{"uniqueEndpoints": 1_000_000, "appPerMinute": 1_000_000}}).expect(a.t, http.StatusOK)
	_, component := a.service("Checkout")
	a.crowd(n, component)
	return func() { a.incident(component, map[string]any{"notify": map[string]any{"webhook": true}}) }
}

// startOutpost starts outpost with all its parts in one process, as its default is. It creates tenants, each with the same
// number of destinations, and returns a function that publishes an event for each tenant. The event has the last body that
// the receiver got.
func startOutpost(b *testing.B, folder string, c *crowd, tenants, destinations int) (p *process, publish func()) {
	const key = "outpost-key-of-the-benchmark"
	address := apitest.FreeAddress(b)
	host, port, _ := strings.Cut(strings.TrimPrefix(os.Getenv("PEERS_REDIS"), "redis://"), ":")
	redisPort, database, _ := strings.Cut(port, "/")
	_, listen, _ := strings.Cut(address, ":")
	concurrency := cmp.Or(os.Getenv("PEERS_CONCURRENCY"), "100") // as in the load tests of outpost for one machine; the default is 1
	env := []string{
		"API_PORT=" + listen, "API_KEY=" + key, "API_JWT_SECRET=jwt-secret", "AES_ENCRYPTION_SECRET=encryptionsecret", "TOPICS=incident",
		"REDIS_HOST=" + host, "REDIS_PORT=" + redisPort, "REDIS_DATABASE=" + database, "POSTGRES_URL=" + os.Getenv("PEERS_POSTGRES"),
		"RABBITMQ_SERVER_URL=" + os.Getenv("PEERS_RABBITMQ"), "MAX_DESTINATIONS_PER_TENANT=1000000", "DESTINATIONS_WEBHOOK_MODE=standard",
		"PUBLISH_MAX_CONCURRENCY=" + concurrency, "DELIVERY_MAX_CONCURRENCY=" + concurrency, "LOG_MAX_CONCURRENCY=" + concurrency,
		"LOG_LEVEL=warn", "DISABLE_TELEMETRY=true", "SSL_CERT_FILE=" + c.authority(b),
	}
	migrate := newProcess(b, "outpost-migrate", "", env...)
	migrate.binary, migrate.args = filepath.Join(folder, "outpost"), []string{"migrate", "apply", "--yes"}
	if code := migrate.start().exit(time.Minute); code != 0 {
		b.Fatalf("outpost migrate ended with code %d:\n%s", code, migrate.output())
	}
	p = newProcess(b, "outpost", "", env...)
	p.binary = filepath.Join(folder, "outpost-server")
	p.start()
	base := "http://" + address + "/api/v1"
	slowClient := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Minute}
	post := func(method, path string, body any, status int) error {
		return call(b, slowClient, method, base+path, "Bearer "+key, body, status)
	}
	eventually(b, time.Minute, "outpost", func() error { return post(http.MethodPut, "/tenants/0", map[string]any{}, http.StatusCreated) })
	var group errgroup.Group
	group.SetLimit(16)
	for tenant := range tenants {
		if tenant > 0 {
			if err := post(http.MethodPut, fmt.Sprintf("/tenants/%d", tenant), map[string]any{}, http.StatusCreated); err != nil {
				b.Fatal(err)
			}
		}
		for i := range destinations {
			group.Go(func() error {
				return post(http.MethodPost, fmt.Sprintf("/tenants/%d/destinations", tenant), map[string]any{
					"type": "webhook", "topics": []string{"*"}, "config": map[string]any{"url": fmt.Sprintf("%s/hooks/%032d", c.server.URL, i)},
				}, http.StatusCreated)
			})
		}
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	body := slices.Clone(c.body)
	return p, publishers(tenants, func(tenant int) func() {
		event := map[string]any{"tenant_id": strconv.Itoa(tenant), "topic": "incident", "data": json.RawMessage(body)}
		return func() {
			if err := post(http.MethodPost, "/publish", event, http.StatusAccepted); err != nil {
				b.Error(err)
			}
		}
	})
}

// peerEngines returns the process ids of engines, from PEERS_PIDS ("name=pid ...").
func peerEngines(b *testing.B, names ...string) (pids []int) {
	for _, entry := range strings.Fields(os.Getenv("PEERS_PIDS")) {
		name, value, _ := strings.Cut(entry, "=")
		pid, err := strconv.Atoi(value)
		if err != nil {
			b.Fatalf("PEERS_PIDS: %v", err)
		}
		if slices.Contains(names, name) {
			pids = append(pids, pid)
		}
	}
	if len(pids) != len(names) {
		b.Fatalf("PEERS_PIDS has %d of %v", len(pids), names)
	}
	return pids
}

// processorTime returns the processor time of the processes with all their descendants.
func processorTime(b *testing.B, pids []int) time.Duration {
	b.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	children, ticks := map[int][]int{}, map[int]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
		for _, field := range fields[11:15] { // user and system, of the process and of its ended children
			n, _ := strconv.Atoi(field)
			ticks[pid] += n
		}
	}
	total := 0
	for queue := slices.Clone(pids); len(queue) > 0; queue = queue[1:] {
		total += ticks[queue[0]]
		queue = append(queue, children[queue[0]]...)
	}
	return time.Duration(total) * clockTick
}
