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
)

// events is the other end of the one call the service makes: components/lookup.
type events struct {
	server *httptest.Server
	down   atomic.Bool
	// asked is called before each answer, with the query.
	asked atomic.Pointer[func(peer.ComponentQuery)]

	mu         sync.Mutex
	last       int64
	components map[string][]peer.Component // by organization
}

func startEvents(t *testing.T, signer *passport.Signer) *events {
	e := &events{components: map[string][]peer.Component{}}
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
	e.server = httptest.NewServer(mux)
	t.Cleanup(e.server.Close)
	return e
}

func refuse(w http.ResponseWriter, kind fault.Kind) {
	w.WriteHeader(kind.Status())
	json.NewEncoder(w).Encode(peer.Refusal{Kind: kind, Message: "refused by the test"})
}

func (e *events) add(organization string, components ...peer.Component) []peer.Component {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range components {
		e.last++
		components[i].ID, components[i].LegacyID = id(), e.last
	}
	e.components[organization] = append(e.components[organization], components...)
	return slices.Clone(components)
}

func (e *events) remove(organization, component string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.components[organization] = slices.DeleteFunc(e.components[organization], func(c peer.Component) bool { return c.ID == component })
}

func (e *events) find(organization string, query peer.ComponentQuery) []peer.Component {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := []peer.Component{}
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
func holds(c peer.Component, where find.Condition) bool {
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
