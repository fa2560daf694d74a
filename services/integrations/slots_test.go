package integrations_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// processes starts a second process of the service on the same database. It returns the addresses of both.
func (p *platform) processes() [2]string {
	p.t.Helper()
	first := p.url
	p.run(nil)
	return [2]string{first, p.url}
}

// together sends n requests at once, one half to each process, and returns the number of responses by status.
func (p *platform) together(o organization, at [2]string, n int, request func(i int) (method string, body object)) map[int]int {
	p.t.Helper()
	token := p.signer.Sign(o.member(passport.RoleSubscriber))
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			method, body := request(i)
			got, err := p.tryAt(at[i%2], token, method, path, body)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
			if err != nil || got.status >= 500 {
				p.t.Errorf("%s %v: %d %s %v", method, body, got.status, got.text, err)
			}
		})
	}
	group.Wait()
	return statuses
}

// urls returns the number of different URLs that the organization's endpoints have, and the number that usage shows.
func (p *platform) urls(o organization) (have, used int) {
	p.t.Helper()
	hashes, target := map[string]bool{}, path+"?limit=100"
	for {
		list := p.call(o, http.StatusOK, http.MethodGet, target, nil)
		for _, e := range list.Endpoints {
			hashes[e.URLHash] = true
		}
		if list.NextToken == nil {
			return len(hashes), list.Usage.UniqueEndpoints
		}
		target = path + "?limit=100&nextToken=" + *list.NextToken
	}
}

// full fails the test unless exactly free more URLs are accepted before the limit.
func (p *platform) full(o organization, free int) {
	p.t.Helper()
	have, used := p.urls(o)
	if have != used {
		p.t.Fatalf("%d URLs, but usage shows %d", have, used)
	}
	for i := range free {
		p.create(o, fmt.Sprintf("https://hooks.example.com/%d/more/%d", have, i), nil)
	}
	p.call(o, http.StatusForbidden, http.MethodPost, path, p.body(o, "https://hooks.example.com/too-many"))
	if have, used = p.urls(o); have != used {
		p.t.Fatalf("%d URLs, but usage shows %d", have, used)
	}
}

func (p *platform) body(o organization, url string) object {
	return object{"dashboardId": o.dashboard, "url": url, "managementEmail": "ops@example.com", "componentIds": []string{o.one}}
}

func TestTheLimitIsExactUnderConcurrentCreates(t *testing.T) {
	p := start(t, nil)
	at := p.processes()
	for name, row := range map[string]struct {
		before int
		url    func(i int) string
		want   map[int]int
		free   int
	}{
		"different URLs":                  {0, func(i int) string { return fmt.Sprint("https://hooks.example.com/", i) }, map[int]int{201: 20, 403: 44}, 0},
		"different URLs, five are left":   {15, func(i int) string { return fmt.Sprint("https://hooks.example.com/", i) }, map[int]int{201: 5, 403: 59}, 0},
		"one URL":                         {0, func(int) string { return "https://hooks.example.com/same" }, map[int]int{201: 1, 409: 63}, 19},
		"one URL, one is left":            {19, func(int) string { return "https://hooks.example.com/same" }, map[int]int{201: 1, 409: 63}, 0},
		"one URL at the limit":            {20, func(int) string { return "https://hooks.example.com/same" }, map[int]int{403: 64}, 0},
		"each URL twice":                  {0, func(i int) string { return fmt.Sprint("https://hooks.example.com/", i/2) }, nil, 0},
		"sixteen URLs, each four times":   {0, func(i int) string { return fmt.Sprint("https://hooks.example.com/", i/4) }, map[int]int{201: 16, 409: 48}, 4},
		"eight URLs, twelve of one other": {12, func(i int) string { return fmt.Sprint("https://hooks.example.com/", i%8) }, map[int]int{201: 8, 409: 56}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := p.organization(20)
			for i := range row.before {
				p.create(o, fmt.Sprint("https://hooks.example.com/before/", i), nil)
			}
			got := p.together(o, at, 64, func(i int) (string, object) { return http.MethodPost, p.body(o, row.url(i)) })
			if row.want != nil && !maps.Equal(got, row.want) {
				t.Errorf("responses by status: %v, want %v", got, row.want)
			}
			if row.want == nil && got[http.StatusCreated] != 20 {
				t.Errorf("responses by status: %v", got)
			}
			p.full(o, row.free)
		})
	}
}

// Creates, moves and deletes at once: never one URL too many, never one lost.
func TestTheLimitIsExactWhileEndpointsMove(t *testing.T) {
	p := start(t, nil)
	at := p.processes()
	o := p.organization(20)
	hashes := map[string]string{} // by URL
	for round := range 3 {
		p.ahead.Add(int64(time.Minute))
		have := slices.Sorted(maps.Keys(hashes))
		statuses := p.together(o, at, 64, func(i int) (string, object) {
			switch {
			case i < len(have) && i%3 == 0:
				return http.MethodDelete, object{"dashboardId": o.dashboard, "url": have[i]}
			case i < len(have):
				return http.MethodPatch, object{"dashboardId": o.dashboard, "urlHash": hashes[have[i]], "url": fmt.Sprintf("https://hooks.example.com/moved/%d/%d", round, i/2)}
			}
			return http.MethodPost, p.body(o, fmt.Sprintf("https://hooks.example.com/%d/%d", round, i))
		})
		list := p.call(o, http.StatusOK, http.MethodGet, path+"?limit=100", nil)
		if have, used := p.urls(o); have > 20 || have != used {
			t.Fatalf("round %d: %d URLs, usage shows %d, responses by status %v", round, have, used, statuses)
		}
		clear(hashes)
		for i, e := range list.Endpoints { // new URLs, which the test knows
			url := fmt.Sprintf("https://hooks.example.com/known/%d/%d", round, i)
			hashes[url] = p.move(o, o.dashboard, e.URLHash, url).URLHash
		}
	}
	p.full(o, 20-len(hashes))
}

// A lowered limit refuses new URLs only. The only endpoint of a URL may move, one of several may not.
func TestALoweredLimit(t *testing.T) {
	p := start(t, nil)
	o := p.organization(5)
	const url = "https://hooks.example.com/"
	one := p.create(o, url+"1", nil)
	two := p.create(o, url+"2", nil)
	p.create(o, url+"2", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	p.upstream.put(o.id, 1)
	if have, used := p.urls(o); have != 2 || used != 2 {
		t.Errorf("%d URLs, usage shows %d", have, used)
	}
	p.call(o, http.StatusForbidden, http.MethodPost, path, p.body(o, url+"3"))
	moved := p.move(o, o.dashboard, one.URLHash, url+"4")
	p.call(o, http.StatusForbidden, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": two.URLHash, "url": url + "5"})
	p.create(o, url+"4", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}}) // no new URL
	p.call(o, http.StatusForbidden, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": moved.URLHash, "url": url + "6"})
}

// At the limit the only endpoint of a URL may move to a new URL. Another endpoint may not come to the new URL before the
// move has ended: if the move then failed, the organization would have both URLs.
func TestACreateDoesNotTakeTheNewURLOfAMoveAtTheLimit(t *testing.T) {
	p := start(t, nil)
	const limit = 1
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	o := p.organization(limit)
	target := endpoint.Target{DashboardID: o.dashboard, URLHash: p.create(o, slotURL+"1", nil).URLHash}
	frozen := &cut{writes: 100}
	frozen.before = func(left int) {
		if left == 100 { // the write of the claim
			return
		}
		frozen.before = nil
		p.ahead.Add(int64(10 * time.Second)) // the create need not wait, because the claim is old
		p.call(o, http.StatusForbidden, http.MethodPost, path, p.body(o, slotURL+"next"))
	}
	next := slotURL + "next"
	if _, err := p.killed(o, limit, frozen).Change(t.Context(), o.id, kind, target, input(endpoint.Patch{URL: &next})); err != nil || frozen.before != nil {
		t.Error(err)
	}
	if have, used := p.urls(o); have != limit || used != limit {
		t.Errorf("%d URLs, usage shows %d", have, used)
	}
}

// killed is a process that a cut kills, on all records.
func (p *platform) killed(o organization, limit int, c *cut) *endpoint.Endpoints {
	s := p.records()
	s.Endpoints = cutCollection[endpoint.Endpoint]{s.Endpoints, c}
	s.Suppressions = cutCollection[endpoint.Suppression]{s.Suppressions, c}
	s.Results.Counters = cutCollection[outcome.Counters]{s.Results.Counters, c}
	s.Slots = cutCollection[endpoint.Slots]{s.Slots, c}
	killed := p.processOf(o, s)
	killed.Services = services{o: o, limit: limit}
	return killed
}

// slotWrites returns the writes that come to a URL or leave it. first is the only endpoint of its URL, second is not.
func slotWrites(ctx context.Context) map[string]func(o organization, s *endpoint.Endpoints, first, second endpoint.Target) error {
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	create := func(o organization, s *endpoint.Endpoints, dashboard, component, url string) error {
		_, err := s.Create(ctx, o.id, kind, dashboard, input(endpoint.Draft{URL: slotURL + url, ManagementEmail: "ops@example.com", ComponentIDs: []string{component}}))
		return err
	}
	move := func(o organization, s *endpoint.Endpoints, target endpoint.Target) error {
		next := slotURL + "next"
		_, err := s.Change(ctx, o.id, kind, target, input(endpoint.Patch{URL: &next}))
		return err
	}
	return map[string]func(o organization, s *endpoint.Endpoints, first, second endpoint.Target) error{
		"create": func(o organization, s *endpoint.Endpoints, _, _ endpoint.Target) error {
			return create(o, s, o.dashboard, o.one, "new")
		},
		"create of a URL that exists": func(o organization, s *endpoint.Endpoints, _, _ endpoint.Target) error {
			return create(o, s, o.second, o.elsewhere, "1")
		},
		"move": func(o organization, s *endpoint.Endpoints, first, _ endpoint.Target) error { return move(o, s, first) },
		"move of one of two": func(o organization, s *endpoint.Endpoints, _, second endpoint.Target) error {
			return move(o, s, second)
		},
		"delete": func(o organization, s *endpoint.Endpoints, first, _ endpoint.Target) error {
			return s.Delete(ctx, o.id, kind, first)
		},
		"delete of one of two": func(o organization, s *endpoint.Endpoints, _, second endpoint.Target) error {
			return s.Delete(ctx, o.id, kind, second)
		},
	}
}

const slotURL = "https://hooks.example.com/"

// slotted returns an organization with the endpoints that slotWrites needs.
func (p *platform) slotted(limit int) (o organization, first, second endpoint.Target) {
	p.t.Helper()
	o = p.organization(limit)
	first = endpoint.Target{DashboardID: o.dashboard, URLHash: p.create(o, slotURL+"1", nil).URLHash}
	second = endpoint.Target{DashboardID: o.dashboard, URLHash: p.create(o, slotURL+"2", nil).URLHash}
	p.create(o, slotURL+"2", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	return o, first, second
}

// After a kill at any write of a create, move or delete, exactly the limit of URLs is accepted, and usage shows what
// there is.
func TestKillAtAnyWriteLosesNoSlot(t *testing.T) {
	p := start(t, nil)
	const limit = 4
	for name, write := range slotWrites(t.Context()) {
		t.Run(name, func(t *testing.T) {
			for writes, ended := 0, false; !ended; writes++ {
				o, first, second := p.slotted(limit)
				c := &cut{writes: writes}
				err := write(o, p.killed(o, limit, c), first, second)
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				ended = !c.dead
				if have, used := p.urls(o); have != used {
					t.Fatalf("killed after %d writes: %d URLs, but usage shows %d", writes, have, used)
				}
				p.ahead.Add(int64(10 * time.Second))
				have, _ := p.urls(o)
				p.full(o, limit-have)
			}
		})
	}
}

// After a kill at any write, Sweep removes each record that belongs to no endpoint: at once the claims, so that each URL
// in use has a slot and no other has one, and later the records that keep the ids of revoked endpoints, and requests. A
// kill at any write of Sweep changes nothing of that.
func TestKillAtAnyWriteLeavesNoRecord(t *testing.T) {
	p := start(t, nil)
	const limit = 4
	h, writes := p.listen(topic.Notices), slotWrites(t.Context())
	writes["create of a URL that a visitor asked for"] = func(o organization, s *endpoint.Endpoints, _, _ endpoint.Target) error {
		v := p.offer(o, h)
		link := v.request("hooks.example.com")
		// The verification fails after it has stored the counters.
		failing := p.killed(o, limit, &cut{writes: 2})
		if _, err := failing.Verify(t.Context(), apitest.Between(t, link+"\n", "token=", "\n")); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		_, err := s.Create(t.Context(), o.id, failing.Kinds[0], o.dashboard, input(endpoint.Draft{
			URL: slotURL + "hook", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one},
		}))
		return err
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for writes, ended := 0, false; !ended; writes++ {
				o, first, second := p.slotted(limit)
				c := &cut{writes: writes}
				err := write(o, p.killed(o, limit, c), first, second)
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				ended = !c.dead
				for _, later := range []time.Duration{10 * time.Second, 49 * time.Hour} {
					p.ahead.Add(int64(later))
					for swept, dead := 0, true; dead; swept++ {
						c := &cut{writes: swept}
						if err := p.killed(o, limit, c).Sweep(t.Context()); err != nil && !errors.Is(err, errKilled) {
							t.Fatal(err)
						}
						dead = c.dead
					}
					if claims, _ := p.leftovers(); len(claims) > 0 {
						t.Fatalf("killed after %d writes: the claims %v are left", writes, claims)
					}
				}
				if _, records := p.leftovers(); len(records) > 0 {
					t.Fatalf("killed after %d writes: the records %v are left", writes, records)
				}
				have, _ := p.urls(o)
				p.full(o, limit-have)
			}
		})
	}
}

// leftovers returns the claims of all organizations, and the ids of records that belong to no endpoint.
func (p *platform) leftovers() (claims []endpoint.Claim, records []string) {
	p.t.Helper()
	kept := p.records()
	slots, err := kept.Slots.Find(p.t.Context(), find.Query{})
	endpoints, failed := kept.Endpoints.Find(p.t.Context(), find.Query{})
	counters, uncounted := kept.Results.Counters.Find(p.t.Context(), find.Query{})
	if err := errors.Join(err, failed, uncounted); err != nil {
		p.t.Fatal(err)
	}
	for _, of := range slots.Items {
		claims = append(claims, of.Claims...)
	}
	known := map[string]bool{}
	for _, e := range endpoints.Items {
		known[e.ID] = e.OrganizationID != ""
		if !known[e.ID] {
			records = append(records, "endpoint "+e.ID)
		}
	}
	for _, c := range counters.Items {
		if !known[c.ID] {
			records = append(records, "counters "+c.ID)
		}
	}
	return claims, records
}

// stalled collections let meanwhile happen between the claim and the write of the endpoint, longer than a claim lives.
func (p *platform) stalled(o organization, limit int, meanwhile func()) *endpoint.Endpoints {
	c := &cut{writes: 100}
	met := false
	c.before = func(int) {
		if !met {
			met = true
			p.ahead.Add(int64(10 * time.Second))
			meanwhile()
		}
	}
	s := p.second(o, func(s *endpoint.Store) { s.Endpoints = cutCollection[endpoint.Endpoint]{s.Endpoints, c} })
	s.Services = services{o: o, limit: limit}
	return s
}

// A process that stalls longer than its claim lives does not exceed the limit: its claim was revoked, and its write
// fails.
func TestAStalledWriteDoesNotExceedTheLimit(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const url, limit = "https://hooks.example.com/", 2

	o := p.organization(limit)
	p.create(o, url+"1", nil)
	_, err := p.stalled(o, limit, func() { p.create(o, url+"2", nil) }).Create(t.Context(), o.id, kind, o.dashboard,
		input(endpoint.Draft{URL: url + "3", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one}}))
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("a stalled create: %v", err)
	}
	p.full(o, 0)

	// The first move of the stalled process is void. It tries again, at the limit.
	o = p.organization(limit)
	shared := p.create(o, url+"1", nil)
	p.create(o, url+"1", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	next := url + "3"
	_, err = p.stalled(o, limit, func() { p.create(o, url+"2", nil) }).Change(t.Context(), o.id, kind,
		endpoint.Target{DashboardID: o.dashboard, URLHash: shared.URLHash}, input(endpoint.Patch{URL: &next}))
	if !fault.Is(err, fault.Forbidden) {
		t.Errorf("a stalled move: %v", err)
	}
	p.full(o, 0)

	// A stalled delete deletes in the end, and its slot is free.
	o = p.organization(limit)
	made := p.create(o, url+"1", nil)
	p.create(o, url+"2", nil)
	err = p.stalled(o, limit, func() {
		p.call(o, http.StatusForbidden, http.MethodPost, path, p.body(o, url+"3"))
	}).Delete(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash})
	if err != nil {
		t.Errorf("a stalled delete: %v", err)
	}
	p.full(o, 1)
}

// An endpoint is deleted or moved while another request to delete or move it has read the endpoint, but has no claim yet:
// the URL is subtracted once.
func TestAnEndpointThatLeavesTwiceIsSubtractedOnce(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const url, limit = "https://hooks.example.com/", 3
	next := url + "next"
	for name, write := range map[string]func(s *endpoint.Endpoints, o organization, target endpoint.Target) error{
		"delete": func(s *endpoint.Endpoints, o organization, target endpoint.Target) error {
			return s.Delete(t.Context(), o.id, kind, target)
		},
		"move": func(s *endpoint.Endpoints, o organization, target endpoint.Target) error {
			_, err := s.Change(t.Context(), o.id, kind, target, input(endpoint.Patch{URL: &next}))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := p.organization(limit)
			made := p.create(o, url+"1", nil)
			p.create(o, url+"2", nil)
			met := false
			c := &cut{writes: 100, before: func(int) {
				if !met {
					met = true
					p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
				}
			}}
			s := p.second(o, func(s *endpoint.Store) { s.Slots = cutCollection[endpoint.Slots]{s.Slots, c} })
			if err := write(s, o, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash}); !fault.Is(err, fault.NotFound) || !met {
				t.Errorf("%v", err)
			}
			p.full(o, 2)
		})
	}
}

// Random kills of random writes in a row, by several processes: in the end the limit is exact.
func TestManyKillsLoseNoSlot(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const limit = 5
	o := p.organization(limit)
	random := rand.New(rand.NewPCG(1, 2))
	var known []string
	for step := range 60 {
		url := fmt.Sprint("https://hooks.example.com/", random.IntN(8))
		s := p.killed(o, limit, &cut{writes: random.IntN(8)})
		switch random.IntN(3) {
		case 0:
			if made, err := s.Create(t.Context(), o.id, kind, o.dashboard, input(endpoint.Draft{URL: url, ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one}})); err == nil {
				known = append(known, made.Endpoint.URLHash)
			}
		case 1:
			if len(known) > 0 {
				s.Change(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: known[random.IntN(len(known))]}, input(endpoint.Patch{URL: &url}))
			}
		case 2:
			if len(known) > 0 {
				s.Delete(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: known[random.IntN(len(known))]})
			}
		}
		p.ahead.Add(int64(5 * time.Second))
		if have, used := p.urls(o); have != used || have > limit {
			t.Fatalf("step %d: %d URLs, usage shows %d", step, have, used)
		}
	}
	have, _ := p.urls(o)
	p.full(o, limit-have)
}
