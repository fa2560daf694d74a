package events_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// pagedList is a list of the App interface whose records a test creates, moves and deletes.
type pagedList struct {
	path, name, id string // the member of the response, and the id in a record
	query          string
	create         func(r *rand.Rand, component string) string
	move           func(r *rand.Rand) string
}

func pagedLists() []pagedList {
	startAt := func(r *rand.Rand) string { return noon.AddDate(-1, 0, r.IntN(12)).Format(time.RFC3339) }
	event := func(r *rand.Rand, component string) string {
		return fmt.Sprintf(`{"type": "incident", "title": "Slow", "startAt": %q, "affectedComponents": [{"componentId": %q}], "notify": false}`, startAt(r), component)
	}
	move := func(r *rand.Rand) string { return fmt.Sprintf(`{"startAt": %q, "notify": false}`, startAt(r)) }
	return []pagedList{
		{path: "/app/events", name: "events", create: event, move: move},
		{path: "/app/events", name: "events", query: "&active=true&dashboardId=" + dashA, create: event, move: move},
		{path: "/app/events", name: "events", query: "&q=SLOW", create: event, move: move},
		{path: "/app/components", name: "components", create: func(r *rand.Rand, _ string) string { return fmt.Sprintf(`{"name": "c%d"}`, r.IntN(9)) },
			move: func(r *rand.Rand) string { return fmt.Sprintf(`{"name": "c%d", "position": %d}`, r.IntN(9), r.IntN(9)) }},
		{path: "/app/dashboards", name: "dashboards", create: func(r *rand.Rand, _ string) string { return fmt.Sprintf(`{"name": "d%d"}`, r.IntN(9)) },
			move: func(r *rand.Rand) string { return fmt.Sprintf(`{"name": "d%d"}`, r.IntN(9)) }},
	}
}

// TestPagesAreStable walks through lists while others create, move and delete records: a record that exists during the
// whole walk and is not moved is returned exactly once.
func TestPagesAreStable(t *testing.T) {
	broker := startBroker(t)
	for _, list := range pagedLists() {
		t.Run(list.name+list.query, func(t *testing.T) {
			const stay, walks, writers = 25, 5, 3
			p := start(t, broker)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			component := p.created(http.MethodPost, "/app/components", `{"name": "API"}`)
			random := rand.New(rand.NewPCG(seed, 0))
			wanted := map[string]bool{}
			for range stay {
				wanted[p.created(http.MethodPost, list.path, list.create(random, component))] = true
			}
			stop := make(chan struct{})
			var group sync.WaitGroup
			for w := range writers {
				group.Go(func() { p.in(t).churn(list, component, rand.New(rand.NewPCG(seed, uint64(w+1))), stop) })
			}
			for walk := range walks {
				seen := map[string]int{}
				for path := fmt.Sprintf("%s?limit=%d%s", list.path, 2+3*walk, list.query); path != ""; {
					page := p.must(http.StatusOK, "app admin a", http.MethodGet, path, "")
					for _, record := range page[list.name].([]any) {
						seen[record.(map[string]any)["id"].(string)]++
					}
					token, more := page["nextToken"].(string)
					if path = ""; more {
						path = fmt.Sprintf("%s?limit=%d%s&nextToken=%s", list.path, 2+3*walk, list.query, token)
					}
				}
				for id := range wanted {
					if seen[id] != 1 {
						t.Errorf("walk %d: %s existed all the time and was returned %d times", walk, id, seen[id])
					}
				}
			}
			close(stop)
			group.Wait()
		})
	}
}

// created sends a request and returns the id of the record in its response.
func (p *platform) created(method, path, body string) string {
	p.t.Helper()
	for _, record := range p.must(http.StatusCreated, "app admin a", method, path, body) {
		return record.(map[string]any)["id"].(string)
	}
	p.t.Fatal("the response has no record")
	return ""
}

// churn creates, moves and deletes records until stop is closed.
func (p *platform) churn(list pagedList, component string, r *rand.Rand, stop chan struct{}) {
	var ids []string
	for {
		select {
		case <-stop:
			return
		default:
		}
		switch n := len(ids); {
		case n == 0 || n < 7 && r.IntN(2) == 0:
			ids = append(ids, p.created(http.MethodPost, list.path, list.create(r, component)))
		case r.IntN(2) == 0:
			p.must(http.StatusOK, "app admin a", http.MethodPatch, list.path+"/"+ids[r.IntN(n)], list.move(r))
		default:
			p.must(http.StatusNoContent, "app admin a", http.MethodDelete, list.path+"/"+ids[n-1], "")
			ids = ids[:n-1]
		}
	}
}
