package main_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// While Kafka is down, the events service logs one line when the outage begins. It logs one line with the duration when
// the outage ends. In between, nothing fails, because the relay holds back the messages of the only change.
func TestAnOutageOfKafkaHasOneBeginAndOneEndInTheLog(t *testing.T) {
	t.Parallel()
	engines, env := engineProcesses(t)
	cluster := startCluster(t, env...)
	var kafka *process
	for engine := range engines {
		if engine.name == "kafka" {
			kafka = engine
		}
	}
	a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	service, _ := a.service("Checkout")
	kafka.kill()
	send(t, http.MethodPost, cluster.base+"/api/v1/event/list/", a.legacy(), incident(service, "Checkout is slow")).expect(t, http.StatusCreated)
	lines := func() (begins, ends []string) {
		for line := range strings.Lines(cluster.processes["events"].output()) {
			var logged struct{ Msg, Ended, Lasted string }
			_ = json.Unmarshal([]byte(line), &logged) // other lines of the output are not JSON
			switch {
			case logged.Msg == "relaying failed":
				begins = append(begins, line)
			case logged.Ended == "relaying failed":
				ends = append(ends, logged.Lasted)
			}
		}
		return begins, ends
	}
	logged := func(wanted []string) error {
		if len(wanted) == 0 {
			return errors.New(cluster.processes["events"].output())
		}
		return nil
	}
	eventually(t, time.Minute, "a line about the outage", func() error { begins, _ := lines(); return logged(begins) })
	const outage = 14 * time.Second // time for two attempts, and for the pauses in which the change is held back
	<-time.After(outage)
	if begins, ends := lines(); len(begins) != 1 || len(ends) != 0 {
		t.Errorf("during the outage: %q, ends after %q", begins, ends)
	}
	kafka.start()
	eventually(t, time.Minute, "kafka", listens(engines[kafka]))
	eventually(t, time.Minute, "a line about the end", func() error { _, ends := lines(); return logged(ends) })
	begins, ends := lines()
	lasted, err := time.ParseDuration(ends[0])
	if len(begins) != 1 || len(ends) != 1 || err != nil || lasted < outage {
		t.Errorf("after the outage: %q, ends after %q", begins, ends)
	}
}
