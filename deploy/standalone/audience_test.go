package main_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// reach is the number of recipients of a channel.
type reach struct {
	Recipients int
	More       bool
}

// audience returns to whom a change would be sent.
func (a actor) audience(body map[string]any) map[string]reach {
	a.t.Helper()
	var got struct{ Audience map[string]reach }
	send(a.t, http.MethodPost, a.BaseURL+"/app/notifications/audience", a.app(), body).expect(a.t, http.StatusOK).into(a.t, &got)
	return got.Audience
}

// crowded is an organization with components, dashboards and recipients that a random generator changes.
type crowded struct {
	actor
	*rand.Rand
	mails       *mailbox
	hooks       *tally
	data        string // folder with texts
	components  []string
	dashboards  []string
	subscribers []string            // paths
	endpoints   []map[string]string // dashboardId and urlHash
	event       string              // the incident that the last round created
	all         string              // the incident of fill
}

// some returns between 1 and all of the ids.
func (c *crowded) some(ids []string) []string {
	return find.Values(c.Perm(len(ids))[:1+c.IntN(len(ids))], func(i int) string { return ids[i] })
}

func (c *crowded) one(ids []string) string { return ids[c.IntN(len(ids))] }

// place puts random components on a dashboard.
func (c *crowded) place(dashboard string) {
	c.t.Helper()
	rows := find.Values(c.some(c.components), func(id string) any { return map[string]any{"componentId": id} })
	send(c.t, http.MethodPut, c.BaseURL+"/app/dashboards/"+dashboard+"/components", c.app(), map[string]any{"components": rows}).expect(c.t, http.StatusOK)
}

// shown returns the components of a dashboard.
func (c *crowded) shown(dashboard string) []string {
	c.t.Helper()
	var got struct {
		Dashboard struct {
			Components []struct{ ComponentID string }
		}
	}
	send(c.t, http.MethodGet, c.BaseURL+"/app/dashboards/"+dashboard, c.app(), nil).expect(c.t, http.StatusOK).into(c.t, &got)
	var ids []string
	for _, component := range got.Dashboard.Components {
		ids = append(ids, component.ComponentID)
	}
	return ids
}

// joins creates a subscriber. Mails to an address that begins with gone suppress it.
func (c *crowded) joins(n int) {
	c.t.Helper()
	dashboard, channel := c.one(c.dashboards), []string{"email", "email", "sms"}[n%3]
	body := map[string]any{"dashboardId": dashboard, "confirmed": true}
	if channel == "sms" {
		body["phone"] = fmt.Sprintf("+49151123%05d", n)
	} else {
		body["email"] = fmt.Sprintf("%s-%d@example.com", []string{"person", "gone"}[n%6/4], n)
	}
	if c.IntN(3) > 0 {
		body["componentIds"] = c.some(c.shown(dashboard))
	}
	var made struct{ Subscriber struct{ ID string } }
	send(c.t, http.MethodPost, c.BaseURL+"/app/subscribers/"+channel, c.app(), body).expect(c.t, http.StatusCreated).into(c.t, &made)
	c.subscribers = append(c.subscribers, "/app/subscribers/"+channel+"/"+made.Subscriber.ID)
}

// hook creates an endpoint.
func (c *crowded) hook(n int) {
	c.t.Helper()
	dashboard := c.one(c.dashboards)
	body := map[string]any{
		"dashboardId": dashboard, "url": fmt.Sprintf("https://%s/hooks/%d", tallyHost, n), "managementEmail": "ops@example.com",
		"componentIds": c.some(c.shown(dashboard)),
	}
	if c.IntN(2) == 0 {
		body["eventKinds"] = []string{"incident.created", c.one([]string{"incident.updated", "maintenance.scheduled"})}
	}
	var made struct{ Endpoint struct{ URLHash string } }
	send(c.t, http.MethodPost, c.BaseURL+"/app/integrations/webhooks/outbound/endpoints", c.app(), body).expect(c.t, http.StatusCreated).into(c.t, &made)
	c.endpoints = append(c.endpoints, map[string]string{"dashboardId": dashboard, "urlHash": made.Endpoint.URLHash})
}

// isGone reports whether the URL of an endpoint gives 410.
func isGone(endpoint int) bool { return endpoint%5 == 4 }

// shuffle changes a dashboard, a subscriber and an endpoint.
func (c *crowded) shuffle() {
	c.t.Helper()
	if c.IntN(4) == 0 {
		c.place(c.one(c.dashboards))
	}
	change := []map[string]any{{"paused": true}, {"paused": false}, {"paused": false}, {"locked": true}, {"confirmed": true}, {"confirmed": true}, {"confirmed": false}, {"componentIds": nil}}[c.IntN(8)]
	send(c.t, http.MethodPatch, c.BaseURL+c.one(c.subscribers), c.app(), change).expect(c.t, http.StatusOK)
	endpoint := c.endpoints[c.IntN(len(c.endpoints))]
	send(c.t, http.MethodPatch, c.BaseURL+"/app/integrations/webhooks/outbound/endpoints", c.app(), map[string]any{
		"dashboardId": endpoint["dashboardId"], "urlHash": endpoint["urlHash"], "paused": c.IntN(2) == 0,
	}).expect(c.t, http.StatusOK)
}

// publish makes a random change that notifies the channels. It returns what is asked about the change before, and what it
// does. The write returns the id of the event.
func (c *crowded) publish(notify map[string]bool) (asked map[string]any, write func() string) {
	components := c.some(c.components)
	body := map[string]any{
		"type": "incident", "title": "Checkout is slow", "notify": notify,
		"affectedComponents": find.Values(components, func(id string) any { return map[string]any{"componentId": id} }),
	}
	asked = map[string]any{"componentIds": components}
	path, status := "/app/events", http.StatusCreated
	switch kind := c.IntN(4); {
	case kind == 0 && c.event != "":
		path, asked = path+"/"+c.event+"/timeline", map[string]any{"eventId": c.event}
		body = map[string]any{"message": "We still look into it.", "notify": notify}
	case kind == 1:
		body["type"], asked["kind"] = "maintenance", "maintenance.scheduled"
		body["scheduledStartAt"], body["scheduledEndAt"] = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	case kind == 2: // an event without components
		dashboards := c.some(c.dashboards)
		delete(body, "affectedComponents")
		body["dashboardIds"], asked = dashboards, map[string]any{"dashboardIds": dashboards}
	}
	return asked, func() string {
		var made struct{ Event struct{ ID string } }
		send(c.t, http.MethodPost, c.BaseURL+path, c.app(), body).expect(c.t, status).into(c.t, &made)
		if made.Event.ID != c.event && body["type"] == "incident" {
			c.event = made.Event.ID
		}
		return made.Event.ID
	}
}

// arrived returns how many messages have arrived on each channel, those included that the receiver refused.
func (c *crowded) arrived() map[string]int {
	c.t.Helper()
	c.mails.read()
	sms, err := filepath.Glob(filepath.Join(c.data, "sms", "*.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	all := map[string]int{"webhook": c.hooks.requests, "sms": len(sms)}
	for address, mails := range c.mails.accepted {
		if strings.HasPrefix(address, "person-") { // others are told about an endpoint or a key
			all["email"] += len(mails)
		}
	}
	for _, refusals := range c.mails.refused {
		all["email"] += len(refusals)
	}
	return all
}

// expect waits until exactly these messages have arrived.
func (c *crowded) expect(want map[string]int) {
	c.t.Helper()
	eventually(c.t, time.Minute, fmt.Sprint(want), func() error {
		if got := c.arrived(); !maps.Equal(got, want) {
			return fmt.Errorf("%v have arrived", got)
		}
		return nil
	})
}

// fill creates dashboards, components and recipients, and suppresses those whose address or URL is gone.
func (c *crowded) fill() {
	send(c.t, http.MethodPatch, c.BaseURL+"/operator/v1/organizations/"+c.OrganizationID, c.operator(),
		map[string]any{"limits": map[string]any{"uniqueEndpoints": 1000, "appPerMinute": 1_000_000}}).expect(c.t, http.StatusOK)
	for n := range 6 {
		c.components = append(c.components, c.component("Part "+strconv.Itoa(n), strconv.Itoa(n)))
	}
	c.dashboards = []string{c.DashboardID}
	for n := range 2 {
		var made struct{ Dashboard struct{ ID string } }
		send(c.t, http.MethodPost, c.BaseURL+"/app/dashboards", c.app(), map[string]any{"name": "Page " + strconv.Itoa(n)}).expect(c.t, http.StatusCreated).into(c.t, &made)
		c.dashboards = append(c.dashboards, made.Dashboard.ID)
	}
	for _, dashboard := range c.dashboards {
		c.place(dashboard)
	}
	for n := range 30 {
		c.joins(n)
	}
	for n := range 15 {
		c.hook(n)
	}
	all := find.Values(c.components, func(id string) any { return map[string]any{"componentId": id} })
	c.all = c.incident("", map[string]any{"title": "All fails", "affectedComponents": all})
	eventually(c.t, time.Minute, "the suppressions", func() error {
		var mails struct{ Counts struct{ Suppressed int } }
		var hooks struct{ Entries []any }
		send(c.t, http.MethodGet, c.BaseURL+"/app/subscribers/email/counts", c.app(), nil).expect(c.t, http.StatusOK).into(c.t, &mails)
		send(c.t, http.MethodGet, c.BaseURL+"/app/integrations/webhooks/outbound/suppression?limit=100", c.app(), nil).expect(c.t, http.StatusOK).into(c.t, &hooks)
		if mails.Counts.Suppressed != 5 || len(hooks.Entries) != 3 {
			return fmt.Errorf("%d mails, %d hooks", mails.Counts.Suppressed, len(hooks.Entries))
		}
		return nil
	})
	send(c.t, http.MethodPatch, c.BaseURL+"/app/components/"+c.components[0], c.app(), map[string]any{"hiddenFromNotifications": true}).expect(c.t, http.StatusOK)
}

// emptyCrowd starts the platform with its receivers and an empty organization.
func emptyCrowd(t *testing.T, seed uint64) *crowded {
	t.Helper()
	mails, mailEnv := startMailServer(t)
	hooks := newTally(t)
	hooks.answer = func(endpoint int) int {
		if isGone(endpoint) {
			return http.StatusGone
		}
		return http.StatusNoContent
	}
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, slices.Concat(mailEnv, hooks.env, []string{"BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN=" + operatorToken, "BELLBUOY_DATA=" + data})...)
	return &crowded{actor: actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}, Rand: rand.New(rand.NewPCG(seed, 0)), mails: mails, hooks: hooks, data: data}
}

// Before each of 1,000 random changes of events (40 in the short form), with and without components, the audience is counted. Then exactly so many
// messages arrive at the mail server, at the webhooks and as texts. Between the changes, dashboards get other components,
// and recipients are paused, locked, confirmed and more. Some recipients are suppressed.
func TestTheAudienceIsWhatArrives(t *testing.T) {
	t.Parallel()
	rounds, seed := setting(t, "AUDIENCE_ROUNDS", 40, 1000), uint64(setting(t, "AUDIENCE_SEED", int(rand.Int32()), int(rand.Int32())))
	t.Logf("AUDIENCE_SEED=%d", seed)
	c := emptyCrowd(t, seed)
	c.fill()
	want := map[string]int{"webhook": 15, "sms": 10, "email": 20}
	c.expect(want)
	for range rounds {
		c.shuffle()
		notify := map[string]bool{"email": c.IntN(4) > 0, "sms": c.IntN(4) > 0, "webhook": c.IntN(4) > 0}
		asked, write := c.publish(notify)
		for channel, reach := range c.audience(asked) {
			if notify[channel] {
				want[channel] += reach.Recipients
			}
		}
		write()
		c.expect(want)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d changes: %v", rounds, want)
}

// The audience of a component with 100,000 subscribers (10,100 in the short form) is counted in at most 3 times as long as
// one with 1,000. The shortest of 41 durations are compared, because other work of the machine makes long ones longer.
func TestTheAudienceOfManyIsCountedAsFastAsOfFew(t *testing.T) {
	many := setting(t, "AUDIENCE_SUBSCRIBERS", 10_100, 100_000)
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=1000000")
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	sizes := []int{1000, many}
	var components []string
	for _, size := range sizes {
		component := a.component("Part "+strconv.Itoa(size), strconv.Itoa(size))
		components = append(components, component)
		for first := 0; first < size; first += 1000 {
			rows := make([]map[string]any, min(1000, size-first))
			for i := range rows {
				rows[i] = map[string]any{"email": fmt.Sprintf("p%d-%d@example.com", size, first+i), "confirmed": true, "componentIds": []string{component}}
			}
			send(t, http.MethodPost, base+"/app/subscribers/email/import", a.app(), map[string]any{"dashboardId": a.DashboardID, "rows": rows}).expect(t, http.StatusOK)
		}
	}
	took := make([][]time.Duration, len(sizes))
	for range 41 {
		for i, component := range components {
			began := time.Now()
			got := a.audience(map[string]any{"componentIds": []string{component}})["email"]
			took[i] = append(took[i], time.Since(began))
			if want := (reach{min(sizes[i], 10_000), sizes[i] > 10_000}); got != want {
				t.Fatalf("of %d: %+v", sizes[i], got)
			}
		}
	}
	few, lot := slices.Min(took[0]), slices.Min(took[1])
	t.Logf("%d in %v, %d in %v: %.2f times", sizes[0], few, sizes[1], lot, float64(lot)/float64(few))
	if lot > 3*few {
		t.Errorf("%d take %v, %d take %v", sizes[0], few, sizes[1], lot)
	}
}
