package integrations_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// cut kills a process after a number of writes: each later write fails. before is called before each write,
// with the number of writes that are left. A write within a change function fails, too, because a change function
// must have no other effect.
type cut struct {
	writes   int
	before   func(write int)
	dead     bool
	changing bool // a change function runs
}

var (
	errKilled = errors.New("the process was killed")
	errEffect = errors.New("a change function writes")
)

func (c *cut) write(do func() error) error {
	if c.changing {
		return errEffect
	}
	if c.before != nil {
		c.before(c.writes)
	}
	if c.dead = c.dead || c.writes == 0; c.dead {
		return errKilled
	}
	c.writes--
	return do()
}

// cutCollection is a collection whose writes cut counts.
type cutCollection[T any] struct {
	find.Collection[T]
	cut *cut
}

// change runs a change function.
func (c *cut) change(run func() ([]topic.Message, error)) ([]topic.Message, error) {
	c.changing = true
	defer func() { c.changing = false }()
	return run()
}

func (c cutCollection[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	return c.cut.write(func() error { return c.Collection.Insert(ctx, item, messages...) })
}

func (c cutCollection[T]) Change(ctx context.Context, key string, change func(*T) error) (item T, err error) {
	return c.Update(ctx, key, func(item *T) ([]topic.Message, error) { return nil, change(item) })
}

func (c cutCollection[T]) Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (item T, err error) {
	err = c.cut.write(func() error {
		item, err = c.Collection.Update(ctx, key, func(item *T) ([]topic.Message, error) {
			return c.cut.change(func() ([]topic.Message, error) { return change(item) })
		})
		return err
	})
	return item, err
}

func (c cutCollection[T]) Upsert(ctx context.Context, key string, change func(*T, bool) ([]topic.Message, error)) (item T, err error) {
	err = c.cut.write(func() error {
		item, err = c.Collection.Upsert(ctx, key, func(item *T, exists bool) ([]topic.Message, error) {
			return c.cut.change(func() ([]topic.Message, error) { return change(item, exists) })
		})
		return err
	})
	return item, err
}

func (c cutCollection[T]) Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error {
	return c.cut.write(func() error {
		return c.Collection.Delete(ctx, key, func(item *T) ([]topic.Message, error) {
			if decide == nil {
				return nil, nil
			}
			return c.cut.change(func() ([]topic.Message, error) { return decide(item) })
		})
	})
}

// input returns a function that returns the input of a call.
func input[T any](in T) func() (T, error) { return func() (T, error) { return in, nil } }

// hosts lets every host pass.
type hosts struct{}

func (hosts) Host(host string) (string, error) { return host, nil }

// services responds instead of events and identity.
type services struct {
	o     organization
	limit int // 0: 1000
}

func (d services) Dashboard(_ context.Context, _, id string) (topic.DashboardRecord, error) {
	return topic.DashboardRecord{ID: id, Name: "Main", Channels: []topic.Channel{topic.Webhook}, Components: []topic.ComponentRecord{{ID: d.o.one}, {ID: d.o.two}, {ID: d.o.elsewhere}}}, nil
}

func (d services) DashboardsByID(_ context.Context, _ string, ids []string) (map[string]topic.DashboardRecord, error) {
	found := map[string]topic.DashboardRecord{}
	for _, id := range ids {
		found[id] = topic.DashboardRecord{ID: id, Name: "Main"}
	}
	return found, nil
}

func (d services) PublicDashboard(ctx context.Context, at topic.PublicAddress) (topic.PublicDashboard, error) {
	dashboard, err := d.Dashboard(ctx, d.o.id, at.Slug)
	return topic.PublicDashboard{DashboardRecord: dashboard, Organization: d.o.id}, err
}

func (d services) HasIntegrations(context.Context, string) (bool, error) { return true, nil }

func (d services) UniqueEndpoints(context.Context, string) (int, error) {
	return cmp.Or(d.limit, 1000), nil
}

// records returns the stored records, as another process sees them. All calls share its connections.
func (p *platform) records() endpoint.Store {
	p.t.Helper()
	p.opening.Do(func() { p.opened = store.New(p.open()) })
	return p.opened
}

// open opens the database until the test ends.
func (p *platform) open() *document.Database {
	p.t.Helper()
	db, err := document.Open(p.documents, "integrations", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	return db
}

// second is another process on the same records.
func (p *platform) second(o organization, adjust func(*endpoint.Store)) *endpoint.Endpoints {
	p.t.Helper()
	records := store.New(p.open())
	adjust(&records)
	return p.processOf(o, records)
}

// processOf returns another process with the records.
func (p *platform) processOf(o organization, records endpoint.Store) *endpoint.Endpoints {
	return &endpoint.Endpoints{
		Store: records, Services: services{o: o}, Hosts: hosts{}, Box: seal.NewBox(secret, "endpoint"), AlertAfter: 5, SuppressAfter: 10,
		Kinds: endpoint.Kinds(endpoint.Providers{}), Links: endpoint.NewLinks(seal.Key(secret, "endpoint-link"), "https://status.example.com"),
		Log: slog.New(slog.DiscardHandler), Now: p.now,
	}
}

// cutShort is a second process that c kills.
func (p *platform) cutShort(o organization, c *cut) *endpoint.Endpoints {
	s := p.records()
	s.Endpoints = cutCollection[endpoint.Endpoint]{s.Endpoints, c}
	s.Suppressions = cutCollection[endpoint.Suppression]{s.Suppressions, c}
	return p.processOf(o, s)
}

// After a kill at any write of a move the endpoint is suppressed, at the former or the new URL. The next
// request that reads the endpoint completes the move.
func TestKillAtAnyWriteOfAMove(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const url = "https://hooks.example.com/"
	ended := false
	for writes := 0; !ended; writes++ {
		o := p.organization(25)
		made := p.create(o, url, nil)
		recipient := p.only(o, o.one)
		p.suppress(o, recipient, made.URLHash)
		next := url + "next"
		_, err := p.cutShort(o, &cut{writes: writes}).Change(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash}, input(endpoint.Patch{URL: &next}))
		if ended = err == nil; !ended && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		p.ahead.Add(int64(10 * time.Second)) // the claim of the killed process is old
		// Somebody else comes to the new URL first.
		joined := p.create(o, next, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
		list := p.call(o, http.StatusOK, http.MethodGet, path+"?dashboardId="+o.dashboard, nil).Endpoints
		if len(list) != 1 || !list[0].Suppressed || list[0].ConsecutiveFailures != 1 {
			t.Errorf("killed after %d writes: %+v", writes, list)
			continue
		}
		there := list[0].URLHash != made.URLHash
		if joined.Suppressed != there || there != (writes > 0) {
			t.Errorf("killed after %d writes: it has moved: %t; who joins it is suppressed: %t", writes, there, joined.Suppressed)
		}
		if !there {
			continue
		}
		if again := p.create(o, url, object{"componentIds": []string{o.two}}); again.Suppressed {
			t.Errorf("killed after %d writes: the URL that was left is still suppressed", writes)
		}
		// And the suppression goes when the last endpoint does.
		p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "url": next})
		p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.second, "url": next})
		if again := p.create(o, next, nil); again.Suppressed {
			t.Errorf("killed after %d writes: the URL is suppressed with nobody there", writes)
		}
	}
}

// After a killed move to a URL that another endpoint has, the endpoint gets the state of the other endpoint
// when delivery resolves it.
func TestKillAfterAMoveToAURLThatIsInUse(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	made := p.create(o, "https://hooks.example.com/", nil)
	recipient, used := p.only(o, o.one), "https://hooks.example.com/used"
	p.suppress(o, recipient, made.URLHash)
	p.create(o, used, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	_, err := p.cutShort(o, &cut{writes: 1}).Change(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash}, input(endpoint.Patch{URL: &used}))
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if d := p.resolve(o, recipient)[0]; d.State != "active" || d.URL != used {
		t.Errorf("resolved: %+v", d)
	}
}

// A move that was slower than claimLife is overtaken by another endpoint's move, and then takes the suppression along as
// the last endpoint of the URL.
func TestASlowMoveIsOvertaken(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const url = "https://hooks.example.com/"
	o := p.organization(25)
	made := p.create(o, url, nil)
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	p.suppress(o, p.only(o, o.one), made.URLHash)
	next, met := url+"next", false
	c := &cut{writes: 10, before: func(int) {
		if !met {
			met = true
			p.ahead.Add(int64(10 * time.Second))
			if other := p.move(o, o.second, made.URLHash, url+"other"); other.Suppressed {
				t.Errorf("the other: %+v", other)
			}
		}
	}}
	record, err := p.cutShort(o, c).Change(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash}, input(endpoint.Patch{URL: &next}))
	if err != nil || !met || !record.Suppressed || record.ConsecutiveFailures != 1 {
		t.Errorf("%+v %v", record, err)
	}
	if e := p.create(o, url, nil); e.Suppressed {
		t.Error("the URL that both left is still suppressed")
	}
}

// A request that deletes the suppression that a killed process left at a URL does not delete the suppression of
// an endpoint that moves to the URL at the same time.
func TestAMoveToAURLThatIsJustBeingCleared(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	next := "https://hooks.example.com/next"
	left := p.create(o, next, nil)
	p.suppress(o, p.only(o, o.one), left.URLHash)
	if err := p.cutShort(o, &cut{writes: 1}).Delete(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: left.URLHash}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	made := p.create(o, "https://hooks.example.com/", nil)
	p.suppress(o, p.only(o, o.one), made.URLHash)
	other := p.create(o, "https://hooks.example.com/other", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	met := false
	c := &cut{writes: 10, before: func(int) {
		if !met {
			met = true
			p.ahead.Add(int64(10 * time.Second)) // the other process revokes the claim
			if e := p.move(o, o.dashboard, made.URLHash, next); !e.Suppressed {
				t.Errorf("moved: %+v", e)
			}
		}
	}}
	record, err := p.cutShort(o, c).Change(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.second, URLHash: other.URLHash}, input(endpoint.Patch{URL: &next}))
	if err != nil || !record.Suppressed || !met {
		t.Errorf("who cleared it: %+v %v", record, err)
	}
	if shown := p.shown(o, left.URLHash); !shown.Suppressed {
		t.Errorf("who came meanwhile: %+v", shown)
	}
}

// An endpoint that gets another URL while it is being deleted by its former one stays.
func TestAnEndpointThatMovedMeanwhileIsNotDeleted(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	made := p.create(o, "https://hooks.example.com/", nil)
	p.suppress(o, p.only(o, o.one), made.URLHash)
	met := false
	c := &cut{writes: 10, before: func(int) {
		if !met {
			met = true
			p.ahead.Add(int64(10 * time.Second)) // the other process revokes the claim
			p.move(o, o.dashboard, made.URLHash, "https://hooks.example.com/next")
		}
	}}
	err := p.cutShort(o, c).Delete(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash})
	list := p.call(o, http.StatusOK, http.MethodGet, path, nil).Endpoints
	if err == nil || len(list) != 1 || !list[0].Suppressed || list[0].ConsecutiveFailures != 1 {
		t.Errorf("%v: %+v", err, list)
	}
}

// lost stores endpoints but reports an outage.
type lost struct {
	find.Collection[endpoint.Endpoint]
}

func (l lost) Insert(ctx context.Context, e endpoint.Endpoint, messages ...topic.Message) error {
	if err := l.Collection.Insert(ctx, e, messages...); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the connection broke off")
}

// If the result of the insert is unknown, the counters of the endpoint stay.
func TestAnEndpointWhoseCreationIsUncertainIsCounted(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	second := p.second(o, func(s *endpoint.Store) { s.Endpoints = lost{s.Endpoints} })
	_, err := second.Create(t.Context(), o.id, kind, o.dashboard, input(endpoint.Draft{
		URL: "https://hooks.example.com/", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one},
	}))
	if !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	recipient := p.only(o, o.one)
	p.suppress(o, recipient, p.resolve(o, recipient)[0].URLHash)
}

// addedEndpoints notes that an endpoint was stored.
type addedEndpoints struct {
	find.Collection[endpoint.Endpoint]
	added bool
}

func (a *addedEndpoints) Insert(ctx context.Context, e endpoint.Endpoint, messages ...topic.Message) error {
	a.added = true
	return a.Collection.Insert(ctx, e, messages...)
}

// blind suppressions cannot be read after an endpoint was stored.
type blind struct {
	find.Collection[endpoint.Suppression]
	endpoints *addedEndpoints
}

func (b blind) GetMany(ctx context.Context, keys []string) ([]endpoint.Suppression, error) {
	if b.endpoints.added {
		return nil, fault.New(fault.Unavailable, "the connection broke off")
	}
	return b.Collection.GetMany(ctx, keys)
}

// No error after an endpoint was stored keeps the secret from its owner.
func TestAnEndpointThatIsStoredIsAnswered(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	second := p.second(o, func(s *endpoint.Store) {
		added := &addedEndpoints{Collection: s.Endpoints}
		s.Endpoints, s.Suppressions = added, blind{s.Suppressions, added}
	})
	record, err := second.Create(t.Context(), o.id, endpoint.Kinds(endpoint.Providers{})[0], o.dashboard, input(endpoint.Draft{
		URL: "https://hooks.example.com/", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one},
	}))
	if err != nil || record.Secret == "" {
		t.Errorf("%v", err)
	}
}

// unchangeable is a collection of endpoints in which no endpoint can be changed without a message.
type unchangeable struct {
	find.Collection[endpoint.Endpoint]
}

func (unchangeable) Change(context.Context, string, func(*endpoint.Endpoint) error) (endpoint.Endpoint, error) {
	return endpoint.Endpoint{}, fault.New(fault.Unavailable, "the connection broke off")
}

// shrinking is services whose dashboard loses its first component after the dashboard was read once.
type shrinking struct {
	services
	read bool
}

func (s *shrinking) Dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error) {
	dashboard, err := s.services.Dashboard(ctx, organization, id)
	if s.read {
		dashboard.Components = dashboard.Components[1:]
	}
	s.read = true
	return dashboard, err
}

// If a component is deleted while its endpoint is created or verified, and then cannot be removed from the endpoint, the
// owner gets the secret.
func TestAnEndpointWhoseDeletedComponentStaysIsAnswered(t *testing.T) {
	p := start(t, nil)
	v := p.offer(p.organization(25), p.listen(topic.Notices))
	process := func() *endpoint.Endpoints {
		s := p.second(v.organization, func(s *endpoint.Store) { s.Endpoints = unchangeable{s.Endpoints} })
		s.Services = &shrinking{services: services{o: v.organization}}
		return s
	}
	record, err := process().Create(t.Context(), v.id, endpoint.Kinds(endpoint.Providers{})[0], v.dashboard, input(endpoint.Draft{
		URL: "https://hooks.example.com/", ManagementEmail: "ops@example.com", ComponentIDs: []string{v.one, v.two},
	}))
	if err != nil || record.Secret == "" {
		t.Errorf("created: %v", err)
	}
	_, token, _ := strings.Cut(v.request("asked.example"), "token=")
	visit, err := process().Verify(t.Context(), token)
	if err != nil || visit.Secret == "" {
		t.Errorf("verified: %v", err)
	}
}
