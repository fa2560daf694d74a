package subscribers_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// events is the other end of the one call the service makes: components/lookup.
type events struct {
	server *httptest.Server
	down   atomic.Bool
	// boardAsked is called before each answer about a dashboard.
	boardAsked atomic.Pointer[func()]
	// asked is called before each answer, with the query.
	asked atomic.Pointer[func(peer.ComponentQuery)]

	mu         sync.Mutex
	last       int64
	components map[string][]topic.ComponentRecord // by organization
	boards     map[string][]topic.DashboardRecord // by organization, the oldest first
	public     map[topic.PublicAddress]public
}

func startEvents(t testing.TB, signer *passport.Signer) *events {
	e := &events{components: map[string][]topic.ComponentRecord{}, boards: map[string][]topic.DashboardRecord{}, public: map[topic.PublicAddress]public{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/components/lookup", func(w http.ResponseWriter, r *http.Request) {
		p, err := signer.Verify(r.Header.Get(passport.Header), "events")
		var query peer.ComponentQuery
		switch {
		case err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization"):
			refuse(w, fault.Denied)
			return
		case json.NewDecoder(r.Body).Decode(&query) != nil:
			refuse(w, fault.Invalid)
			return
		}
		if asked := e.asked.Load(); asked != nil {
			(*asked)(query)
		}
		if e.down.Load() {
			refuse(w, fault.Unavailable)
			return
		}
		json.NewEncoder(w).Encode(e.find(p.Organization, query))
	})
	e.dashboards(mux, signer)
	e.publics(mux, signer)
	e.server = httptest.NewServer(mux)
	t.Cleanup(e.server.Close)
	return e
}

// dashboards adds the operations of dashboards.
func (e *events) dashboards(mux *http.ServeMux, signer *passport.Signer) {
	serve := func(pattern string, find func(organization string, r *http.Request) (any, bool)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p, err := signer.Verify(r.Header.Get(passport.Header), "events")
			if err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization") {
				refuse(w, fault.Denied)
				return
			}
			if asked := e.boardAsked.Load(); asked != nil {
				(*asked)()
			}
			if e.down.Load() {
				refuse(w, fault.Unavailable)
				return
			}
			found, ok := find(p.Organization, r)
			if !ok {
				refuse(w, fault.NotFound)
				return
			}
			json.NewEncoder(w).Encode(found)
		})
	}
	base := peer.Prefix + "/organizations/{organization}/dashboards/"
	serve("GET "+base+"first", func(organization string, _ *http.Request) (any, bool) {
		all := e.shown(organization)
		if len(all) == 0 {
			return nil, false
		}
		return all[0], true
	})
	serve("GET "+base+"{id}", func(organization string, r *http.Request) (any, bool) {
		for _, d := range e.shown(organization) {
			if d.ID == r.PathValue("id") {
				return d, true
			}
		}
		return nil, false
	})
	serve("POST "+base+"lookup", func(organization string, r *http.Request) (any, bool) {
		var ids []string
		if json.NewDecoder(r.Body).Decode(&ids) != nil {
			return nil, false
		}
		return slices.DeleteFunc(e.shown(organization), func(d topic.DashboardRecord) bool { return !slices.Contains(ids, d.ID) }), true
	})
}

// shown returns the dashboards of an organization with their components.
func (e *events) shown(organization string) []topic.DashboardRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Clone(e.boards[organization])
	for i := range all {
		for _, c := range e.components[organization] {
			if slices.Contains(c.Dashboards, all[i].ID) {
				all[i].Components = append(all[i].Components, c)
			}
		}
	}
	return all
}

// addDashboard adds a dashboard that shows components.
func (e *events) addDashboard(organization string, components ...string) topic.DashboardRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	board := topic.DashboardRecord{ID: id(), Name: "Acme", URL: "https://status.example.com/d/acme", Timezone: "Europe/Berlin", Locale: "de"}
	e.boards[organization] = append(e.boards[organization], board)
	for i, c := range e.components[organization] {
		if slices.Contains(components, c.ID) {
			e.components[organization][i].Dashboards = append(slices.Clone(c.Dashboards), board.ID)
		}
	}
	return board
}

// removeDashboard removes a dashboard.
func (e *events) removeDashboard(organization, dashboard string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.boards[organization] = slices.DeleteFunc(e.boards[organization], func(d topic.DashboardRecord) bool { return d.ID == dashboard })
}

func refuse(w http.ResponseWriter, kind fault.Kind) {
	w.WriteHeader(kind.Status())
	json.NewEncoder(w).Encode(peer.Refusal{Kind: kind, Message: "refused by the test"})
}

func (e *events) add(organization string, components ...topic.ComponentRecord) []topic.ComponentRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.boards[organization]) == 0 {
		e.boards[organization] = []topic.DashboardRecord{{ID: id(), Name: "Acme", URL: "https://status.example.com/d/acme"}}
	}
	for i := range components {
		e.last++
		components[i].ID, components[i].LegacyID = id(), e.last
		components[i].Dashboards = []string{e.boards[organization][0].ID}
	}
	e.components[organization] = append(e.components[organization], components...)
	return slices.Clone(components)
}

func (e *events) remove(organization, component string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.components[organization] = slices.DeleteFunc(e.components[organization], func(c topic.ComponentRecord) bool { return c.ID == component })
}

func (e *events) find(organization string, query peer.ComponentQuery) []topic.ComponentRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := []topic.ComponentRecord{}
	for _, c := range e.components[organization] {
		switch {
		case query.IDs != nil && !slices.Contains(query.IDs, c.ID):
		case slices.ContainsFunc(query.Where, func(where find.Condition) bool { return !holds(c, where) }):
		default:
			found = append(found, c)
		}
	}
	return found
}

// holds judges a condition as it came out of JSON, so numbers are floats.
func holds(c topic.ComponentRecord, where find.Condition) bool {
	value := map[string]any{
		"legacyId": float64(c.LegacyID), "name": c.Name, "description": c.Description, "group": c.Group,
		"hidden": c.Hidden, "hiddenFromNotifications": c.HiddenFromNotifications,
	}[where.Field]
	order := 0
	switch value := value.(type) {
	case float64:
		limit, _ := where.Value.(float64)
		order = cmp.Compare(value, limit)
	case string:
		limit, _ := where.Value.(string)
		order = cmp.Compare(value, limit)
	}
	switch where.Op {
	case find.OpEq:
		return value == where.Value
	case find.OpIn:
		return slices.Contains(where.Values, value)
	case find.OpGt:
		return order > 0
	case find.OpGte:
		return order >= 0
	case find.OpLt:
		return order < 0
	case find.OpLte:
		return order <= 0
	case find.OpAbsent:
		return where.Value == false
	case find.OpText:
		return matches(value.(string), where.Value.(string), where.Match, where.Fold)
	}
	return false
}

func matches(text, part string, match find.Match, fold bool) bool {
	if fold {
		text, part = strings.ToLower(text), strings.ToLower(part)
	}
	switch match {
	case find.Prefix:
		return strings.HasPrefix(text, part)
	case find.Suffix:
		return strings.HasSuffix(text, part)
	case find.Substring:
		return strings.Contains(text, part)
	}
	return text == part
}

// uri is the resource_uri of the organization's n-th service.
func (o organization) uri(n int) string { return legacy.URI("service", o.services[n].LegacyID) }

// leave takes a component from a dashboard.
func (e *events) leave(organization, component, dashboard string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, c := range e.components[organization] {
		if c.ID == component {
			e.components[organization][i].Dashboards = slices.DeleteFunc(slices.Clone(c.Dashboards), func(id string) bool { return id == dashboard })
		}
	}
}
