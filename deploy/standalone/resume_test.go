package main_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
)

// engineMark is the environment variable that makes this binary an engine, with an address and a folder.
const engineMark = "BELLBUOY_TEST_ENGINE"

// serveEngine runs the embedded broker in a separate process until the process is killed.
func serveEngine(address, folder string) error {
	if _, err := engines.StartKafka(context.Background(), engines.Kafka{Addr: address, Dir: folder}); err != nil {
		return err
	}
	select {}
}

// listens returns a function that returns nil if a server accepts connections at the address.
func listens(address string) func() error {
	return func() error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	}
}

// engineProcesses starts a broker and Redis in separate processes. It returns these with their addresses, and the
// settings of the platform. In the long form, the broker is Apache Kafka. If redis-server is not installed, Redis runs
// in this process and cannot be killed.
func engineProcesses(t testing.TB) (addresses map[*process]string, env []string) {
	t.Helper()
	addresses = map[*process]string{}
	folder, at := filepath.Join(t.TempDir(), "kafka"), apitest.FreeAddress(t)
	broker := newProcess(t, "kafka", "", engineMark+"="+at+" "+folder)
	broker.binary = os.Args[0]
	if setting(t, "RESUME_ON_KAFKA", 0, 1) == 1 {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut(at, ":")
		broker.binary, broker.args, broker.env = "../../scripts/kafka", []string{port, folder}, []string{"HOME=" + home}
		if broker.binary, err = filepath.Abs(broker.binary); err != nil {
			t.Fatal(err)
		}
	}
	addresses[broker] = at
	env = append(env, "KAFKA_BROKERS="+at)
	if server, err := exec.LookPath("redis-server"); err == nil {
		at := apitest.FreeAddress(t)
		_, port, _ := strings.Cut(at, ":")
		redis := newProcess(t, "redis", "")
		redis.binary, redis.args = server, []string{"--port", port, "--save", ""}
		addresses[redis] = at
		env = append(env, "REDIS_URL=redis://"+at)
	} else {
		redis, err := engines.StartRedis("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { redis.Close() })
		env = append(env, "REDIS_URL="+redis.URL())
	}
	for engine, address := range addresses {
		engine.start()
		eventually(t, 3*time.Minute, engine.name, listens(address)) // Apache Kafka starts slowly on a busy machine
	}
	return addresses, env
}

// Each service and each engine is killed and started again. The platform then works again without help: a new incident
// reaches a webhook and a mailbox. Every incident that was acknowledged before, during or after the outage is
// delivered. The measured time begins when a service is started, or when an engine accepts connections again.
func TestEachProcessResumesAfterKill(t *testing.T) {
	t.Parallel()
	limit := time.Duration(setting(t, "RESUME_SECONDS", 30, 5)) * time.Second
	r, env := startReceiver(t)
	engines, settings := engineProcesses(t)
	if os.Getenv("BELLBUOY_TEST_LONG") != "" && len(engines) < 2 {
		t.Fatal("redis-server is not installed, so Redis cannot be killed")
	}
	env = append(append(env, settings...), "LEGACY_RATE_PER_HOUR=1000000")
	data := t.TempDir()
	cluster := startCluster(t, append(env, "BELLBUOY_DATA="+data, "DOCUMENTS_URL=sqlite:"+filepath.Join(t.TempDir(), "documents"))...)
	a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	service, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)
	a.subscribe(service, []string{"ann@example.com"})

	var acknowledged []string
	post := func(title string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		event := incident(service, title)
		event["notifications"].(map[string]any)["email"] = map[string]any{"enabled": true}
		got, err := try(ctx, http.MethodPost, cluster.base+"/api/v1/event/list/", a.legacy(), event)
		if err != nil || got.status != http.StatusCreated {
			return false
		}
		acknowledged = append(acknowledged, title)
		return true
	}
	arrives := func(title string) (requests, mails int) {
		byTitle, _ := titles(t, r.Requests())
		for _, letter := range letters(t, data) {
			if strings.Contains(letter.subject, title) {
				mails++
			}
		}
		return byTitle[title], mails
	}
	await := func(title string) {
		t.Helper()
		eventually(t, time.Minute, "the request and the mail of "+title, func() error {
			if requests, mails := arrives(title); requests == 0 || mails == 0 {
				return fmt.Errorf("%d requests, %d mails", requests, mails)
			}
			return nil
		})
	}
	// resume returns the time from now until a new incident was delivered on both channels.
	resume := func(name string) time.Duration {
		began := time.Now()
		title := ""
		for n := 0; ; n++ {
			if title = fmt.Sprintf("after %s, try %d.", name, n); post(title) {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("nothing can be posted a minute after %s is back", name)
			}
		}
		await(title)
		return time.Since(began)
	}
	resume("the first start")
	victims := slices.Collect(maps.Keys(engines))
	for _, name := range cluster.names {
		if name != "gateway-2" {
			victims = append(victims, cluster.processes[name])
		}
	}
	for _, victim := range victims {
		for n := range 3 { // these are being delivered when the process is killed
			post(fmt.Sprintf("before %s, %d.", victim.name, n))
		}
		victim.kill()
		post("without " + victim.name + ".") // the platform may refuse this one
		victim.start()
		if address, engine := engines[victim]; engine {
			eventually(t, time.Minute, victim.name, listens(address))
		}
		took := resume(victim.name)
		t.Logf("%-12s resumed in %v", victim.name, took.Round(time.Millisecond))
		if took > limit {
			t.Errorf("%s: it took %v until an incident was delivered again", victim.name, took)
		}
	}
	for _, title := range acknowledged {
		await(title)
	}
	t.Logf("%d incidents were acknowledged, none is lost", len(acknowledged))
}

// Services that start while Kafka is down serve requests. Incidents that are posted in this time are delivered when
// Kafka is back.
func TestServicesStartWithoutKafka(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	engines, settings := engineProcesses(t)
	documents := filepath.Join(t.TempDir(), "documents")
	cluster := startCluster(t, append(append(env, settings...), "DOCUMENTS_URL=sqlite:"+documents, "BELLBUOY_DATA="+t.TempDir())...)
	a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	service, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)
	for engine, address := range engines {
		if engine.name != "kafka" {
			continue
		}
		engine.kill()
		for _, name := range []string{"identity", "events", "subscribers", "integrations", "delivery"} {
			cluster.processes[name].kill()
			cluster.processes[name].start()
			eventually(t, 30*time.Second, name+" serves requests", func() error {
				got, err := try(t.Context(), http.MethodGet, "http://"+cluster.addresses[name]+"/readyz?exclude=kafka", "", nil)
				if err == nil && got.status != http.StatusOK {
					err = fmt.Errorf("%d %s", got.status, got.body)
				}
				return err
			})
		}
		send(t, http.MethodPost, cluster.base+"/api/v1/event/list/", a.legacy(), incident(service, "posted without Kafka")).expect(t, http.StatusCreated)
		engine.start()
		eventually(t, time.Minute, "kafka", listens(address))
	}
	eventually(t, time.Minute, "the request", func() error {
		if byTitle, _ := titles(t, r.Requests()); byTitle["posted without Kafka"] != 1 {
			return fmt.Errorf("%v", byTitle)
		}
		return nil
	})
}
