package events_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

var program = apitest.Program{Package: "./cmd/events"}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// spawn runs the service as a process of its own. It returns a function that kills the process
// like kill -9.
func (p *platform) spawn() (kill func()) {
	p.t.Helper()
	addr := apitest.FreeAddress(p.t)
	command := program.Command(p.t)
	command.Env = append(os.Environ(), "BELLBUOY_ADDR="+addr, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", "BELLBUOY_LOG_LEVEL=error",
		"DOCUMENTS_URL="+p.documents, "KAFKA_BROKERS="+p.broker, "BELLBUOY_SECRET="+secret, "REDIS_URL=redis://127.0.0.1:1")
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
	p.url = "http://" + addr
	apitest.Ready(p.t, p.url)
	return kill
}

// attempt sends a request to a service that may die. It returns 0 if there was no response.
func (p *platform) attempt(method, path, body string) int { return p.attemptAs("", method, path, body) }

func (p *platform) attemptAs(as, method, path, body string) int {
	request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(passport.Header, p.token(as))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// TestKilledBeforeRelay checks that changes that were written without Kafka are published after
// the service was killed and started again.
func TestKilledBeforeRelay(t *testing.T) {
	dir := t.TempDir()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: apitest.FreeAddress(t), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, broker.Addr())
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.stop()
	kill := p.spawn()
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`, "notifications": {"webhook": {"enabled": true}}}`)
	p.must(200, "", "PUT", "/api/v1/event/list/1/", `{"status": {"status": "resolved"}}`)
	kill()
	if broker, err = engines.StartKafka(t.Context(), engines.Kafka{Addr: p.broker, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	p.run()
	changes := p.listen().of(t, 1, 2)
	if len(changes[0].Notify) != 1 || changes[0].Sequence != 1 || changes[1].Sequence != 2 {
		t.Errorf("published after the restart: %+v", changes)
	}
}

// TestKilledAtAnyMoment checks that every write with a response has its record, its change in Kafka
// in order, its rows and its page after the service was killed.
func TestKilledAtAnyMoment(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`}`)
	p.stop()
	var responses atomic.Int64
	for round := range 4 {
		kill := p.spawn()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for {
					status := p.attempt("POST", "/api/v1/event/update/", `{"event": "/api/v1/event/list/1/", "update": "x"}`)
					if status == 0 {
						return
					}
					if status != 201 {
						t.Errorf("POST returned %d", status)
						return
					}
					responses.Add(1)
				}
			})
		}
		goal := responses.Load() + int64(5+7*round)
		apitest.Eventually(t, "some requests have a response", func() bool { return responses.Load() >= goal })
		kill()
		group.Wait()
	}
	p.run()
	event := p.must(200, "", "GET", "/api/v1/event/list/1/", "")
	stored := len(event["event_update"].([]any))
	if int64(stored) < responses.Load() {
		t.Errorf("%d updates are stored, %d had a response", stored, responses.Load())
	}
	for i, change := range heard.of(t, 1, stored+1) {
		if change.Sequence != int64(i+1) {
			t.Fatalf("change %d has the sequence %d", i+1, change.Sequence)
		}
	}
	apitest.Eventually(t, "the list of updates is complete", func() bool {
		list := p.must(200, "", "GET", "/api/v1/event/update/?event=1", "")
		return list["meta"].(map[string]any)["total_count"] == float64(stored)
	})
}

// TestKilledWhileRemoving checks that the removal of a service is completed after a restart.
func TestKilledWhileRemoving(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	const linked = 15
	begun := 0
	for round := range 4 {
		service := p.must(201, "", "POST", "/api/v1/service/", fmt.Sprintf(`{"service_name": "API %d"}`, round))["resource_uri"].(string)
		for range linked {
			p.must(201, "", "POST", "/api/v1/event/list/", strings.Replace(incident, "/api/v1/service/1/", service, 1)+`}`)
		}
		p.stop()
		kill := p.spawn()
		done := make(chan int)
		go func() { done <- p.attempt("DELETE", service, "") }()
		moment := time.NewTimer(time.Duration(4+8*round) * time.Millisecond) // somewhere in the removal; any outcome is checked
		select {
		case <-moment.C:
		case status := <-done:
			go func() { done <- status }()
		}
		kill()
		status := <-done
		p.run()
		if left := p.send("", "GET", service, "").status; left == 200 {
			if status == 204 {
				t.Errorf("round %d: returned 204, but the service is there", round)
			}
			p.must(204, "", "DELETE", service, "")
		}
		begun++
		apitest.Eventually(t, "the removal is complete", func() bool {
			links := p.must(200, "", "GET", "/api/v1/event/service/?limit=1", "")["meta"].(map[string]any)["total_count"]
			dashboards := p.must(200, "app admin a", "GET", "/app/dashboards", "")["dashboards"].([]any)
			placed := dashboards[0].(map[string]any)["components"].([]any)
			ids := map[string]bool{}
			for _, gone := range heard.gone() {
				ids[gone.ComponentID] = true
			}
			return links == float64(0) && len(placed) == 0 && len(ids) == begun
		})
	}
}
