package main_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Rates, quotas and the first responses to writes with an Idempotency-Key are only in Redis. They survive kill -9.
func TestKillKeepsRatesAndIdempotencyKeys(t *testing.T) {
	t.Parallel()
	p, base := started(t, "LEGACY_RATE_PER_HOUR=5")
	c := seeded(t, p)
	once := func() answer {
		t.Helper()
		request, err := http.NewRequest(http.MethodPost, base+"/app/components", strings.NewReader(`{"name": "Once"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Authorization": {c.app()}, "Content-Type": {"application/json"}, "Idempotency-Key": {"restart"}}
		return exchange(t, request)
	}
	first := once().expect(t, http.StatusCreated)
	status := http.StatusOK
	for calls := 0; status == http.StatusOK; calls++ {
		if status = send(t, http.MethodGet, base+"/api/v1/service/", c.legacy(), nil).status; calls > 5 {
			t.Fatal("the rate has no limit")
		}
	}
	for range 10 {
		send(t, http.MethodGet, base+"/operator/v1/organizations", "Operator wrong", nil).expect(t, http.StatusForbidden)
	}
	p.kill()
	p.start()
	eventually(t, 30*time.Second, "ready again", ready(base))
	if again := once().expect(t, http.StatusCreated); again.header.Get("Idempotency-Replayed") != "true" || string(again.body) != string(first.body) {
		t.Errorf("the repeated write has %v %s, the first %s", again.header, again.body, first.body)
	}
	for path, key := range map[string]string{"/api/v1/service/": c.legacy(), "/operator/v1/organizations": c.operator()} {
		if got := send(t, http.MethodGet, base+path, key, nil).expect(t, http.StatusForbidden); got.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
}
