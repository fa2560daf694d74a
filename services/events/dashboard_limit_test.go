package events_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// rows returns the ids of the dashboards of the organization.
func (p *platform) rows(organization string) (ids []string) {
	p.t.Helper()
	for query := "?limit=100"; query != ""; {
		page := p.must(200, "app admin "+organization, "GET", "/app/dashboards"+query, "")
		for _, row := range page["dashboards"].([]any) {
			ids = append(ids, row.(map[string]any)["id"].(string))
		}
		token, _ := page["nextToken"].(string)
		if query = ""; token != "" {
			query = "?limit=100&nextToken=" + token
		}
	}
	return ids
}

// TestTheLimitOfDashboardsIsExactAcrossProcesses lets 64 clients of two processes create dashboards at once, into an empty
// organization, after deletions and during deletions.
func TestTheLimitOfDashboardsIsExactAcrossProcesses(t *testing.T) {
	const clients, limit = 64, 20
	first, second, _ := pair(t)
	second.limit.Store(limit)
	create := func(i int) answer {
		return []*platform{first, second}[i%2].send("app admin a", "POST", "/app/dashboards", fmt.Sprintf(`{"name": "Client %d"}`, i))
	}
	remove := func(id string, i int) answer {
		return []*platform{first, second}[i%2].send("app admin a", "DELETE", "/app/dashboards/"+id, "")
	}
	expect := func(what string, got, want map[int]int) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("into an organization with one", first.race(clients, create), map[int]int{201: limit - 1, 409: clients - limit + 1})
	ids := first.rows("a")
	if len(ids) != limit {
		t.Fatalf("%d dashboards", len(ids))
	}
	const freed = 7
	expect("deletions", first.race(freed, func(i int) answer { return remove(ids[2*i], i) }), map[int]int{204: freed})
	expect("into the gaps", first.race(clients, create), map[int]int{201: freed, 409: clients - freed})

	ids = first.rows("a")
	counts := first.race(clients, func(i int) answer {
		if i < freed {
			return remove(ids[i], i)
		}
		return create(i)
	})
	if n := len(first.rows("a")); counts[204] != freed || n != limit-freed+counts[201] || n > limit {
		t.Errorf("during deletions: %v, %d dashboards", counts, n)
	}
	first.race(clients, create)
	if n := len(first.rows("a")); n != limit {
		t.Errorf("%d dashboards", n)
	}
	expect("of another organization", first.race(2, func(i int) answer {
		return first.send("app admin b", "POST", "/app/dashboards", `{"name": "Another organization's"}`)
	}), map[int]int{201: 2})
}

// TestAChangedLimitOfDashboardsConcernsNewOnes also checks that creates that fail take no place.
func TestAChangedLimitOfDashboardsConcernsNewOnes(t *testing.T) {
	p := start(t, startBroker(t))
	create := func(status int, members string) {
		t.Helper()
		if a := p.send("app admin a", "POST", "/app/dashboards", `{"name": "One of many"`+members+`}`); a.status != status {
			t.Errorf("%d %s, want %d", a.status, a.body, status)
		}
	}
	full := func(limit int) {
		t.Helper()
		a := p.send("app admin a", "POST", "/app/dashboards", `{"name": "One more"}`)
		if want := fmt.Sprintf(`{"error":"Your organization may have %d dashboards. Delete one first."}`, limit); a.status != 409 || string(bytes.TrimSpace(a.body)) != want {
			t.Errorf("%d %s, want %s", a.status, a.body, want)
		}
	}
	remove := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			p.must(204, "app admin a", "DELETE", "/app/dashboards/"+id, "")
		}
	}
	p.limit.Store(6)
	create(201, `, "slug": "taken", "customDomains": ["taken.example.com"]`)
	for range 4 {
		create(409, `, "slug": "taken"`)
		create(409, `, "customDomains": ["taken.example.com"]`)
		create(400, `, "timezone": "Nowhere"`)
	}
	for range 4 {
		create(201, "")
	}
	full(6)
	p.limit.Store(3) // 6 exist
	full(3)
	ids := p.rows("a")
	remove(ids[:3]...)
	full(3)
	remove(ids[3])
	create(201, "")
	full(3)
	p.limit.Store(12)
	for range 9 {
		create(201, "")
	}
	full(12)
	p.limit.Store(4)
	ids = p.rows("a")
	slices.Reverse(ids)
	remove(ids[:9]...)
	if counts := p.race(64, func(int) answer { return p.send("app admin a", "POST", "/app/dashboards", `{"name": "At once"}`) }); counts[201] != 1 {
		t.Errorf("%v", counts)
	}
	full(4)
}

// TestAWithdrawnCreateOfADashboardTakesNoPlace breaks off creates at any time, as a client that gives up does.
func TestAWithdrawnCreateOfADashboardTakesNoPlace(t *testing.T) {
	const limit = 12
	p := start(t, startBroker(t))
	p.limit.Store(limit)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, "POST", p.url+"/app/dashboards", strings.NewReader(`{"name": "Given up"}`))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header = http.Header{"Content-Type": {"application/json"}, passport.Header: {p.token("app admin a")}}
			if response, err := http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
			}
		})
	}
	group.Wait()
	p.race(64, func(int) answer { return p.send("app admin a", "POST", "/app/dashboards", `{"name": "One of many"}`) })
	if n := len(p.rows("a")); n != limit {
		t.Errorf("%d dashboards", n)
	}
}
