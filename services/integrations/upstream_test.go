package integrations_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// upstream is the other end of the service's calls: the events service's dashboards
// and the identity service's limits.
type upstream struct {
	server *httptest.Server
	down   atomic.Bool
	plans  atomic.Int64 // questions for the plan of an organization
	// meanwhile is called once, between the next question and its answer, which it does not change.
	meanwhile atomic.Pointer[func()]
	// at is called at each moment of an inbound message: "before" the message is applied, "after" that, and when the
	// response is "sent". If it returns false, the caller gets no response.
	at atomic.Pointer[func(moment string) bool]

	mu         sync.Mutex
	limits     map[string]int
	dashboards map[string]map[string]topic.DashboardRecord // by organization and id
	public     map[topic.PublicAddress]topic.PublicDashboard

	without  map[string]bool                // organizations whose plan does not include integrations
	applied  map[string]topic.InboundResult // by organization and id of the message
	messages []topic.InboundMessage         // in order of arrival, also those that are repeated
	deleted  string                         // externalId whose event was deleted
	former   bool                           // the events service is of a version that does not know ReceivedAt
	checks   int                            // number of messages that were only checked
}

// publish puts a dashboard at the address of visitors.
func (u *upstream) publish(at topic.PublicAddress, organization string, dashboard topic.DashboardRecord, channels ...topic.Channel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	dashboard.Channels = channels
	u.public[at] = topic.PublicDashboard{DashboardRecord: dashboard, Organization: organization}
	if known, exists := u.dashboards[organization][dashboard.ID]; exists {
		known.Channels = channels
		u.dashboards[organization][dashboard.ID] = known
	}
}

func (u *upstream) put(organization string, limit int, dashboards ...topic.DashboardRecord) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if limit >= 0 {
		u.limits[organization] = limit
	}
	if u.dashboards[organization] == nil {
		u.dashboards[organization] = map[string]topic.DashboardRecord{}
	}
	for _, dashboard := range dashboards {
		u.dashboards[organization][dashboard.ID] = dashboard
	}
}

func (u *upstream) remove(organization, dashboard string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.dashboards[organization], dashboard)
}

func startUpstream(t testing.TB, signer *passport.Signer) *upstream {
	u := &upstream{
		limits: map[string]int{}, dashboards: map[string]map[string]topic.DashboardRecord{},
		public: map[topic.PublicAddress]topic.PublicDashboard{}, without: map[string]bool{}, applied: map[string]topic.InboundResult{},
	}
	answer := func(service string, handle func(r *http.Request, organization string) (any, bool)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			p, err := signer.Verify(r.Header.Get(passport.Header), service)
			if err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization") {
				refuse(w, fault.Denied)
				return
			}
			u.mu.Lock()
			out, found := handle(r, p.Organization)
			u.mu.Unlock()
			if meanwhile := u.meanwhile.Swap(nil); meanwhile != nil {
				(*meanwhile)()
			}
			if u.down.Load() {
				refuse(w, fault.Unavailable)
				return
			}
			if !found {
				refuse(w, fault.NotFound)
				return
			}
			if refusal, is := out.(peer.Refusal); is {
				w.WriteHeader(refusal.Kind.Status())
			}
			json.NewEncoder(w).Encode(out)
		}
	}
	mux := http.NewServeMux()
	base := peer.Prefix + "/organizations/{organization}"
	mux.HandleFunc("GET "+base+"/limits", answer("identity", func(_ *http.Request, organization string) (any, bool) {
		limit, found := u.limits[organization]
		return peer.Limits{UniqueEndpoints: limit}, found
	}))
	mux.HandleFunc("POST "+peer.Prefix+"/public-dashboards/lookup", answer("events", func(r *http.Request, _ string) (any, bool) {
		var at topic.PublicAddress
		if json.NewDecoder(r.Body).Decode(&at) != nil {
			return nil, false
		}
		dashboard, found := u.public[at]
		return dashboard, found
	}))
	mux.HandleFunc("GET "+peer.Prefix+"/dashboards/{id}/frame", answer("events", func(r *http.Request, _ string) (any, bool) {
		for _, dashboards := range u.dashboards {
			if d, found := dashboards[r.PathValue("id")]; found {
				return peer.Frame{Before: "<!DOCTYPE html><title>", Between: " – frame of " + d.ID + "</title>", Policy: "default-src 'none'; style-src 'sha256-frame'", Lang: "de"}, true
			}
		}
		return nil, false
	}))
	mux.HandleFunc("GET "+base+"/dashboards/{id}", answer("events", func(r *http.Request, organization string) (any, bool) {
		dashboard, found := u.dashboards[organization][r.PathValue("id")]
		return dashboard, found
	}))
	mux.HandleFunc("POST "+base+"/dashboards/lookup", answer("events", func(r *http.Request, organization string) (any, bool) {
		var ids []string
		if json.NewDecoder(r.Body).Decode(&ids) != nil {
			return nil, false
		}
		found := []topic.DashboardRecord{}
		for _, id := range ids {
			if dashboard, exists := u.dashboards[organization][id]; exists {
				found = append(found, dashboard)
			}
		}
		return found, true
	}))
	mux.HandleFunc("GET "+base+"/features", answer("identity", func(_ *http.Request, organization string) (any, bool) {
		u.plans.Add(1)
		return passport.Features{API: true, Integrations: !u.without[organization]}, true
	}))
	ingest := answer("events", u.ingest)
	mux.HandleFunc("POST "+base+"/inbound", func(w http.ResponseWriter, r *http.Request) {
		reached := func(moment string) bool { at := u.at.Load(); return at == nil || (*at)(moment) }
		if !reached("before") {
			panic(http.ErrAbortHandler)
		}
		response := httptest.NewRecorder()
		if ingest(response, r); !reached("after") {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes())
		_ = http.NewResponseController(w).Flush()
		reached("sent")
	})
	u.server = httptest.NewServer(mux)
	t.Cleanup(u.server.Close)
	return u
}

func refuse(w http.ResponseWriter, kind fault.Kind) {
	w.WriteHeader(kind.Status())
	json.NewEncoder(w).Encode(peer.Refusal{Kind: kind, Message: "refused by the test"})
}
