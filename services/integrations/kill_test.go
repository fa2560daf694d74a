package integrations_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

var program = apitest.Program{Package: "./cmd/integrations"}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// spawn runs the service as a process of its own. It returns the address of the process, and a function that kills the
// process like kill -9.
func (p *platform) spawn() (url string, kill func()) {
	p.t.Helper()
	addr := apitest.FreeAddress(p.t)
	command := program.Command(p.t)
	command.Env = append(os.Environ(), "BELLBUOY_ADDR="+addr, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", "BELLBUOY_LOG_LEVEL=error",
		"DOCUMENTS_URL="+p.documents, "KAFKA_BROKERS="+p.broker.Addr(), "REDIS_URL="+apitest.Patient(p.redis.URL()), "BELLBUOY_SECRET="+secret,
		"EVENTS_URL="+p.upstream.server.URL, "IDENTITY_URL="+p.upstream.server.URL, "APP_BASE_URL=https://status.example.com")
	output, err := command.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	var logged sync.WaitGroup
	logged.Go(func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.t.Log(lines.Text())
		}
	})
	kill = sync.OnceFunc(func() {
		if err := command.Process.Kill(); err != nil {
			p.t.Error(err)
		}
		logged.Wait()
		_ = command.Wait() // always an error: it was killed
	})
	p.t.Cleanup(kill)
	url = "http://" + addr
	apitest.Ready(p.t, url)
	return url, kill
}

// Processes create, move and delete endpoints, and are killed at any moment, several times: never one URL too many, and
// in the end never one lost. SQLite allows one process at a time.
func TestKilledProcessesKeepTheLimitExact(t *testing.T) {
	p := start(t, nil)
	const limit, rounds, clients = 6, 4, 8
	o := p.organization(limit)
	urlOf := func(i int) string { return fmt.Sprint("https://hooks.example.com/", i) }
	hashOf := func(i int) string {
		sum := sha256.Sum256([]byte(urlOf(i)))
		return hex.EncodeToString(sum[:])
	}
	processes := 2
	if strings.HasPrefix(p.documents, "sqlite:") {
		processes = 1
	}
	token := p.signer.Sign(o.member(passport.RoleSubscriber))
	var responses, created atomic.Int64
	// request sends a random request. It returns false if there was no response.
	request := func(at string) bool {
		method, body := http.MethodPost, p.body(o, urlOf(rand.IntN(2*limit)))
		switch rand.IntN(3) {
		case 0:
			method, body = http.MethodPatch, object{"dashboardId": o.dashboard, "urlHash": hashOf(rand.IntN(2 * limit)), "url": urlOf(rand.IntN(2 * limit))}
		case 1:
			method, body = http.MethodDelete, object{"dashboardId": o.dashboard, "urlHash": hashOf(rand.IntN(2 * limit))}
		}
		got, err := p.tryAt(at, token, method, path, body)
		if err != nil {
			return false
		}
		if got.status == http.StatusInternalServerError {
			t.Errorf("%s: %s", method, got.text)
		}
		if got.status == http.StatusCreated {
			created.Add(1)
		}
		responses.Add(1)
		return true
	}
	for round := range rounds {
		var group sync.WaitGroup
		var kills []func()
		p.stop()
		for range processes {
			at, kill := p.spawn()
			kills = append(kills, kill)
			for range clients {
				group.Go(func() {
					for request(at) {
					}
				})
			}
		}
		goal := responses.Load() + int64(20+15*round)
		apitest.Eventually(t, "some requests have a response", func() bool { return responses.Load() >= goal })
		for _, kill := range kills {
			kill()
		}
		group.Wait()
		p.run(nil)
		if have, used := p.urls(o); have > limit || have != used {
			t.Errorf("round %d: %d URLs, usage shows %d", round, have, used)
		}
	}
	if created.Load() == 0 {
		t.Error("no endpoint was created")
	}
	p.ahead.Add(int64(10 * time.Second)) // the claims of the killed processes are old
	have, _ := p.urls(o)
	p.full(o, limit-have)
}
