package integrations_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// cut is a store whose process is killed after so many writes: of what follows nothing
// happens any more. before is called before each write, with its number.
type cut struct {
	endpoint.Store
	writes int
	before func(write int)
	dead   bool
}

var errKilled = errors.New("the process was killed")

func (c *cut) write(do func() error) error {
	if c.before != nil {
		c.before(c.writes)
	}
	if c.dead = c.dead || c.writes == 0; c.dead {
		return errKilled
	}
	c.writes--
	return do()
}

func (c *cut) Change(ctx context.Context, id string, change func(*endpoint.Endpoint) error) (e endpoint.Endpoint, err error) {
	err = c.write(func() error { e, err = c.Store.Change(ctx, id, change); return err })
	return e, err
}

func (c *cut) Remove(ctx context.Context, id string, agree func(endpoint.Endpoint) error) error {
	return c.write(func() error { return c.Store.Remove(ctx, id, agree) })
}

func (c *cut) PutSuppression(ctx context.Context, s endpoint.Suppression) error {
	return c.write(func() error { return c.Store.PutSuppression(ctx, s) })
}

func (c *cut) RemoveSuppression(ctx context.Context, s endpoint.Suppression) error {
	return c.write(func() error { return c.Store.RemoveSuppression(ctx, s) })
}

// hosts lets every host pass.
type hosts struct{}

func (hosts) Host(host string) (string, error) { return host, nil }

// directory answers in the place of events and identity.
type directory struct{ o organization }

func (d directory) Dashboard(_ context.Context, _, id string) (endpoint.Dashboard, error) {
	return endpoint.Dashboard{ID: id, Name: "Main", Components: []string{d.o.one, d.o.two, d.o.elsewhere}}, nil
}

func (d directory) Dashboards(_ context.Context, _ string, ids []string) (map[string]endpoint.Dashboard, error) {
	found := map[string]endpoint.Dashboard{}
	for _, id := range ids {
		found[id] = endpoint.Dashboard{ID: id, Name: "Main"}
	}
	return found, nil
}

func (directory) UniqueEndpoints(context.Context, string) (int, error) { return 1000, nil }

// second is another process on the same records, whose store is cut.
func (p *platform) second(o organization, c *cut) *endpoint.Endpoints {
	p.t.Helper()
	db, err := document.Open(p.documents, "integrations", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	c.Store = store.New(db)
	return endpoint.New(c, directory{o}, hosts{}, seal.NewBox(secret, "endpoint"),
		endpoint.Policy{SuppressAfter: 10}, p.now)
}

// A process that is killed at any write of a move leaves an endpoint that is suppressed,
// at the one URL or the other, and whoever looks at it next completes the rest.
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
		_, err := p.second(o, &cut{writes: writes}).Change(t.Context(), o.id, kind, o.dashboard, made.URLHash, endpoint.Patch{URL: &next})
		if ended = err == nil; !ended && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
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

// Whoever a killed move left at a URL that others have is told with the others, as soon as
// delivery asks.
func TestKillAfterAMoveToAURLThatIsInUse(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	made := p.create(o, "https://hooks.example.com/", nil)
	recipient, used := p.only(o, o.one), "https://hooks.example.com/used"
	p.suppress(o, recipient, made.URLHash)
	p.create(o, used, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	_, err := p.second(o, &cut{writes: 1}).Change(t.Context(), o.id, kind, o.dashboard, made.URLHash, endpoint.Patch{URL: &used})
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if d := p.resolve(o, recipient)[0]; d.State != "active" || d.URL != used {
		t.Errorf("resolved: %+v", d)
	}
}

// Other moves to the same URL, at every moment between two writes of a move, change
// nothing of what it takes along.
func TestAMoveBetweenTheWritesOfAMove(t *testing.T) {
	p := start(t, nil)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	const url = "https://hooks.example.com/"
	for at := range 3 {
		o := p.organization(25)
		made := p.create(o, url, nil)
		p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
		p.suppress(o, p.only(o, o.one), made.URLHash)
		next, met := url+"next", false
		c := &cut{writes: 10}
		c.before = func(write int) {
			if write == 10-at && !met {
				met = true
				if other := p.move(o, o.second, made.URLHash, next); !other.Suppressed {
					t.Errorf("the other, before write %d: %+v", at, other)
				}
			}
		}
		record, err := p.second(o, c).Change(t.Context(), o.id, kind, o.dashboard, made.URLHash, endpoint.Patch{URL: &next})
		if err != nil || !record.Suppressed || record.ConsecutiveFailures != 1 {
			t.Errorf("another moves before write %d: %+v %v", at, record, err)
		}
		for _, e := range p.call(o, http.StatusOK, http.MethodGet, path, nil).Endpoints {
			if !met || !e.Suppressed {
				t.Errorf("another moves before write %d (%t): %+v", at, met, e)
			}
		}
	}
}

// Who clears away what a killed process left at a URL does not take what another brings there
// at the same moment.
func TestAMoveToAURLThatIsJustBeingCleared(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	next := "https://hooks.example.com/next"
	left := p.create(o, next, nil)
	p.suppress(o, p.only(o, o.one), left.URLHash)
	if err := p.second(o, &cut{writes: 1}).Delete(t.Context(), o.id, kind, o.dashboard, left.URLHash); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	made := p.create(o, "https://hooks.example.com/", nil)
	p.suppress(o, p.only(o, o.one), made.URLHash)
	other := p.create(o, "https://hooks.example.com/other", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	met := false
	c := &cut{writes: 10, before: func(int) {
		if !met {
			met = true
			if e := p.move(o, o.dashboard, made.URLHash, next); !e.Suppressed {
				t.Errorf("moved: %+v", e)
			}
		}
	}}
	record, err := p.second(o, c).Change(t.Context(), o.id, kind, o.second, other.URLHash, endpoint.Patch{URL: &next})
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
			p.move(o, o.dashboard, made.URLHash, "https://hooks.example.com/next")
		}
	}}
	err := p.second(o, c).Delete(t.Context(), o.id, kind, o.dashboard, made.URLHash)
	list := p.call(o, http.StatusOK, http.MethodGet, path, nil).Endpoints
	if err == nil || len(list) != 1 || !list[0].Suppressed || list[0].ConsecutiveFailures != 1 {
		t.Errorf("%v: %+v", err, list)
	}
}

// lost is a store that adds endpoints but is not told so.
type lost struct{ endpoint.Store }

func (l lost) Add(ctx context.Context, e endpoint.Endpoint) error {
	if err := l.Store.Add(ctx, e); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the connection broke off")
}

// An endpoint of which nobody knows whether it was stored has a tally if it was.
func TestAnEndpointWhoseCreationIsUncertainIsCounted(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	c := &cut{}
	second := p.second(o, c)
	c.Store = lost{c.Store}
	_, err := second.Create(t.Context(), o.id, kind, endpoint.Draft{
		DashboardID: o.dashboard, URL: "https://hooks.example.com/", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one},
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	recipient := p.only(o, o.one)
	p.suppress(o, recipient, p.resolve(o, recipient)[0].URLHash)
}

// blind is a store that cannot be read any more once an endpoint was added.
type blind struct {
	endpoint.Store
	added bool
}

func (b *blind) Add(ctx context.Context, e endpoint.Endpoint) error {
	b.added = true
	return b.Store.Add(ctx, e)
}

func (b *blind) Suppressions(ctx context.Context, keys []string) (map[string]endpoint.Suppression, error) {
	if b.added {
		return nil, fault.New(fault.Unavailable, "the connection broke off")
	}
	return b.Store.Suppressions(ctx, keys)
}

// Once an endpoint is stored nothing keeps its owner from being shown its secret.
func TestAnEndpointThatIsStoredIsAnswered(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	c := &cut{}
	second := p.second(o, c)
	c.Store = &blind{Store: c.Store}
	record, err := second.Create(t.Context(), o.id, endpoint.Kinds(endpoint.Providers{})[0], endpoint.Draft{
		DashboardID: o.dashboard, URL: "https://hooks.example.com/", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one},
	})
	if err != nil || record.Secret == "" {
		t.Errorf("%v", err)
	}
}
