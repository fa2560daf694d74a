package integrations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// The scripts share one service; each has organizations of its own: one with room
// for 25 unique URLs, a small one with room for two, and somebody else's.
func TestOperations(t *testing.T) {
	p := start(t, func(c *integrations.Config) {
		if err := c.Resolve.UnmarshalText([]byte("receiver.local:443=127.0.0.1:9443")); err != nil {
			t.Fatal(err)
		}
	})
	p.signer = passport.NewSigner(secret, func() time.Time { return p.now().Add(time.Hour) }) // a script can take longer than a passport lives
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	heard := p.listen(topic.Notices)
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		ours, small, others := p.organization(25), p.organization(2), p.organization(25)
		plain := ours.member(passport.RoleAdmin)
		plain.Features.Integrations = false
		seated := ours.member(passport.RoleSubscriber)
		seated.Session, seated.Caller = "s1", string(passport.Console)
		vars := p.suppressedURLs(t.Name(), ours)
		maps.Copy(vars, map[string]string{
			"subscriber": p.signer.Sign(ours.member(passport.RoleSubscriber)),
			"seated":     p.signer.Sign(seated),
			"event":      p.signer.Sign(ours.member(passport.RoleEvent)),
			"admin":      p.signer.Sign(ours.member(passport.RoleAdmin)),
			"noplan":     p.signer.Sign(plain),
			"small":      p.signer.Sign(small.member(passport.RoleAdmin)),
			"others":     p.signer.Sign(others.member(passport.RoleAdmin)),
			"dashboard":  ours.dashboard, "second": ours.second, "one": ours.one, "two": ours.two, "elsewhere": ours.elsewhere,
			"smallDashboard": small.dashboard, "smallSecond": small.second, "smallOne": small.one,
			"othersDashboard": others.dashboard, "othersOne": others.one,
			"nobodys": id(), "tool": p.signer.Sign(passport.Passport{Audience: "integrations", Surface: passport.Public, IP: "192.0.2.9"}),
		})
		maps.Copy(vars, p.visitorsOf(t.Name(), ours, heard))
		return apitest.Target{
			OpenAPI: documents,
			URL:     p.url,
			Header:  http.Header{passport.Header: {p.signer.Sign(ours.member(passport.RoleAdmin))}, "Content-Type": {"application/json"}},
			Vars:    vars,
		}
	})
}

func TestNoDoorOpensWithoutTheRightPassport(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	change := func(change func(*passport.Passport)) passport.Passport {
		m := o.member(passport.RoleAdmin)
		change(&m)
		return m
	}
	expired := p.signer.Sign(o.member(passport.RoleAdmin))
	good := p.signer.Sign(o.member(passport.RoleAdmin))
	forged := passport.NewSigner(strings.Repeat("x", 32), p.now).Sign(o.member(passport.RoleAdmin))
	for name, token := range map[string]string{
		"none":            "",
		"damaged":         good[:len(good)-4],
		"forged":          forged,
		"another service": p.signer.Sign(change(func(m *passport.Passport) { m.Audience = "events" })),
		"legacy":          p.signer.Sign(change(func(m *passport.Passport) { m.Surface = passport.Legacy })),
		"public":          p.signer.Sign(change(func(m *passport.Passport) { m.Surface = passport.Public })),
		"peer":            p.signer.Sign(change(func(m *passport.Passport) { m.Surface = passport.Peer })),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			if got := p.send(token, method, path, nil); got.status != http.StatusForbidden || strings.Contains(got.text, "error") {
				t.Errorf("%s with a passport that is %s: %d %s", method, name, got.status, got.text)
			}
		}
	}
	resolve := peer.Prefix + "/organizations/" + o.id + "/recipients/resolve"
	for name, m := range map[string]passport.Passport{
		"a member's":             o.member(passport.RoleAdmin),
		"another organization's": {Audience: "integrations", Surface: passport.Peer, Organization: other.id},
		"no organization's":      {Audience: "integrations", Surface: passport.Peer},
	} {
		if got := p.send(p.signer.Sign(m), http.MethodPost, resolve, []string{}); got.status != http.StatusForbidden {
			t.Errorf("resolve with %s passport: %d %s", name, got.status, got.text)
		}
	}
	p.ahead.Store(int64(passport.Life))
	if got := p.send(expired, http.MethodGet, path, nil); got.status != http.StatusForbidden || got.text != "" {
		t.Errorf("an expired passport: %d %s", got.status, got.text)
	}
}

func TestHostileURLsAreRefusedAtCreation(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kinds := map[string]string{"webhook": path, "teams": "/app/integrations/teams/endpoints", "gchat": "/app/integrations/gchat/endpoints",
		"slack": "/app/integrations/slack/endpoints", "discord": "/app/integrations/discord/endpoints"}
	made := p.create(o, "https://hooks.example.com/good", nil)
	var hostile map[string][]string
	if content, err := os.ReadFile("testdata/hostile.json"); err != nil || json.Unmarshal(content, &hostile) != nil {
		t.Fatal(err)
	}
	for _, url := range slices.Concat(slices.Collect(maps.Values(hostile))...) {
		for kind, target := range kinds {
			got := p.call(o, http.StatusBadRequest, http.MethodPost, target, p.body(o, url))
			if !strings.HasPrefix(got.Error, "url: ") || len(url) > len("https:///") && strings.Contains(got.Error, url) {
				t.Errorf("%s %q: %s", kind, url, got.text)
			}
		}
		got := p.call(o, http.StatusBadRequest, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "url": url, "paused": true})
		if !strings.HasPrefix(got.Error, "url: ") {
			t.Errorf("moved to %q: %s", url, got.text)
		}
	}
	for kind, target := range kinds {
		list := p.call(o, http.StatusOK, http.MethodGet, target, nil)
		if kind != "webhook" && (len(list.Endpoints) != 0 || list.Usage.UniqueEndpoints != 0) {
			t.Errorf("%s: stored are %s", kind, list.text)
		}
		if kind == "webhook" && (len(list.Endpoints) != 1 || list.Endpoints[0].Paused || list.Endpoints[0].URLHash != made.URLHash || list.Usage.UniqueEndpoints != 1) {
			t.Errorf("webhook: stored are %s", list.text)
		}
	}
}

// Two who change one endpoint at once both succeed, and nothing of either is lost.
func TestConcurrentChangesAreAllKept(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/both", nil)
	var group sync.WaitGroup
	for _, change := range []object{{"paused": true}, {"locked": true}, {"managementEmail": "new@example.com"}, {"componentIds": []string{o.two}}} {
		change["dashboardId"], change["urlHash"] = o.dashboard, made.URLHash
		group.Go(func() {
			if got, err := p.try(p.signer.Sign(o.member(passport.RoleSubscriber)), http.MethodPatch, path, change); err != nil || got.status != http.StatusOK {
				t.Errorf("%v: %d %s %v", change, got.status, got.text, err)
			}
		})
	}
	group.Wait()
	list := p.call(o, http.StatusOK, http.MethodGet, path, nil).text
	for _, part := range []string{`"paused":true`, `"locked":true`, `"managementEmail":"new@example.com"`, `"componentIds":["` + o.two + `"]`} {
		if !strings.Contains(list, part) {
			t.Errorf("%s is lost: %s", part, list)
		}
	}
}

func TestConcernedAndResolveFollowEveryChangeAtOnce(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	made := p.create(o, "https://hooks.example.com/services/token", nil)
	p.create(other, "https://hooks.example.com/services/token", nil)

	recipient := p.only(o, o.one)
	if ids := p.concerned(o, nil, o.two); len(ids) != 0 {
		t.Errorf("another component concerns %v", ids)
	}
	if ids := p.concerned(o, nil, other.one); len(ids) != 0 {
		t.Errorf("another organization's component concerns %v", ids)
	}
	if ids := p.concerned(o, func(c *topic.RecipientQuery) { c.Channel = topic.Teams }, o.one); len(ids) != 0 {
		t.Errorf("another channel concerns %v", ids)
	}
	if ids := p.concerned(o, nil); len(ids) != 0 {
		t.Errorf("no component concerns %v", ids)
	}

	gone := p.only(other, other.one)
	found := p.resolve(o, id(), recipient, gone, "nonsense")
	if len(found) != 4 || found[0].State != topic.RecipientGone || found[2].State != topic.RecipientGone || found[3].State != topic.RecipientGone || found[2].URL != "" {
		t.Fatalf("resolved: %+v", found)
	}
	d := found[1]
	if d.ID != recipient || d.State != topic.RecipientActive || d.URL != "https://hooks.example.com/services/token" || d.URLHash != made.URLHash ||
		!slices.Equal(d.Secrets, []string{made.Secret}) || d.Channel != topic.Webhook || !slices.Equal(d.Components, []string{o.one}) ||
		d.Dashboard != (topic.Dashboard{ID: o.dashboard, Name: "Main", URL: "http://d.test/d/main", Timezone: "Europe/Berlin", Locale: "de"}) {
		t.Fatalf("resolved: %+v", d)
	}

	patch := func(more object) record {
		more["dashboardId"], more["urlHash"] = o.dashboard, made.URLHash
		return p.call(o, http.StatusOK, http.MethodPatch, path, more).Endpoint
	}
	rotated := patch(object{"rotateSecret": true}).Secret
	if d := p.resolve(o, recipient)[0]; !slices.Equal(d.Secrets, []string{rotated, made.Secret}) || rotated == made.Secret {
		t.Errorf("after a rotation: %d secrets", len(d.Secrets))
	}
	p.ahead.Store(int64(24 * time.Hour))
	if d := p.resolve(o, recipient)[0]; !slices.Equal(d.Secrets, []string{rotated}) {
		t.Errorf("a day after a rotation: %d secrets", len(d.Secrets))
	}

	// The largest gap of the organization's webhooks with the URL counts for each of them.
	p.call(o, http.StatusCreated, http.MethodPost, path, object{"dashboardId": o.second, "url": "https://hooks.example.com/services/token",
		"managementEmail": "ops@example.com", "componentIds": []string{o.elsewhere}, "format": "slack"})
	beside := p.only(o, o.elsewhere)
	intervals := func(want int, format topic.Format) {
		t.Helper()
		found := append(p.resolve(o, recipient, beside), p.resolve(other, gone)...)
		if found[0].MinIntervalMs != want || found[1].MinIntervalMs != want || found[2].MinIntervalMs != 0 || found[0].Format != format || found[1].Format != topic.FormatSlack {
			t.Errorf("gaps of %d, %d and %d instead of %d; format %q", found[0].MinIntervalMs, found[1].MinIntervalMs, found[2].MinIntervalMs, want, found[0].Format)
		}
	}
	intervals(1000, topic.FormatBellbuoy)
	patch(object{"minIntervalMs": 7000, "format": "slack"})
	intervals(7000, topic.FormatSlack)
	patch(object{"minIntervalMs": 10})
	intervals(1000, topic.FormatSlack)

	// An event without components concerns all endpoints of its dashboards, whichever components they have chosen.
	everybody := func(dashboards ...string) []string {
		return p.concerned(o, func(c *topic.RecipientQuery) { c.AllOf = dashboards })
	}
	both := slices.Sorted(slices.Values([]string{recipient, beside}))
	for name, c := range map[string]struct{ got, want []string }{
		"one": {everybody(o.dashboard), []string{recipient}}, "another": {everybody(o.second), []string{beside}}, "both": {everybody(o.second, o.dashboard), both},
		"of another organization": {everybody(other.dashboard), nil}, "unknown": {everybody(id()), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("an event on %s: %v, want %v", name, c.got, c.want)
		}
	}
	patch(object{"paused": true})
	if ids := append(p.concerned(o, nil, o.one), everybody(o.dashboard)...); len(ids) != 0 {
		t.Errorf("paused, but concerned: %v", ids)
	}
	if d := p.resolve(o, recipient)[0]; d.State != topic.RecipientPaused || d.URL != "" || d.Secrets != nil {
		t.Errorf("paused: %+v", d)
	}
	patch(object{"paused": false, "componentIds": []string{o.two}, "eventKinds": []topic.Kind{topic.IncidentResolved, topic.MaintenanceStarted}})
	if ids := p.concerned(o, nil, o.one, o.two); len(ids) != 0 {
		t.Errorf("concerned by a kind it does not want: %v", ids)
	}
	if ids := p.concerned(o, func(c *topic.RecipientQuery) { c.Kind = topic.MaintenanceStarted }, o.one, o.two); !slices.Equal(ids, []string{recipient}) {
		t.Errorf("not concerned by a kind it wants: %v", ids)
	}
	if ids := everybody(o.dashboard); len(ids) != 0 {
		t.Errorf("an event on the dashboard concerns it by a kind it does not want: %v", ids)
	}
	p.call(o, http.StatusNoContent, http.MethodDelete, path+"?dashboardId="+o.dashboard+"&urlHash="+made.URLHash, nil)
	if d := p.resolve(o, recipient)[0]; d.State != topic.RecipientGone || d.URL != "" || d.Secrets != nil {
		t.Errorf("deleted: %+v", d)
	}
}

func TestConcernedPagesThroughManyById(t *testing.T) {
	p := start(t, nil)
	o := p.organization(100)
	var all []string
	var legacy []int64
	for i := range 23 {
		made := p.create(o, fmt.Sprintf("https://hooks.example.com/%d", i), object{"componentIds": []string{o.one, o.two}})
		legacy = append(legacy, made.LegacyID)
	}
	for _, limit := range []int{1, 5, 23, 24, topic.MaxPage} {
		ids := p.concerned(o, func(c *topic.RecipientQuery) { c.Limit = limit }, o.one, o.two)
		if len(ids) != 23 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 23 {
			t.Fatalf("by pages of %d: %d ids, sorted %t", limit, len(ids), slices.IsSorted(ids))
		}
		if all == nil {
			all = ids
		}
		if !slices.Equal(all, ids) {
			t.Fatalf("pages of %d hold others", limit)
		}
	}
	some := p.concerned(o, func(c *topic.RecipientQuery) { c.Endpoints, c.Limit = []int64{legacy[20], legacy[3], 1 << 40}, 1 }, o.one)
	if !slices.Equal(some, []string{all[3], all[20]}) {
		t.Errorf("by legacy id: %v", some)
	}
	for _, limit := range []int{0, -1, topic.MaxPage + 1} {
		_, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Webhook, Components: []string{o.one}, Limit: limit})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
	if _, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Webhook, Components: []string{o.one}, Limit: 5, After: "nonsense"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a nonsensical position: %v", err)
	}
}

// Delivery must know an outage from an endpoint that is gone.
func TestAnOutageOfAnotherServiceIsSaidToBeOne(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", nil)
	recipient := p.only(o, o.one)
	p.upstream.down.Store(true)
	if _, err := p.recipients().Resolve(t.Context(), o.id, topic.ResolveQuery{IDs: []string{recipient}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("resolve: %v", err)
	}
	p.call(o, http.StatusServiceUnavailable, http.MethodPost, path, object{"dashboardId": o.dashboard, "url": "https://hooks.example.com/2", "managementEmail": "a@example.com", "componentIds": []string{o.one}})
	p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
	p.upstream.down.Store(false)
	if d := p.resolve(o, recipient)[0]; d.State != topic.RecipientGone {
		t.Errorf("deleted during the outage: %+v", d)
	}
	p.create(o, "https://hooks.example.com/2", nil)
	p.upstream.remove(o.id, o.dashboard)
	p.ahead.Add(int64(2 * time.Second))
	if d := p.resolve(o, p.only(o, o.one))[0]; d.State != topic.RecipientGone {
		t.Errorf("on a dashboard that is no more: %+v", d)
	}
}

// What is secret is in the answer that makes it and in the one to delivery, nowhere else.
func TestSecretsRestSealedAndAreNotTold(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	folder := t.TempDir()
	p := start(t, func(c *integrations.Config) { c.Tracer, c.DocumentsURL = provider, "sqlite:"+folder })
	o := p.organization(25)
	const token = "T0kenThatNobodyMaySee"
	url := "https://hooks.example.com/services/" + token + "?key=" + token
	made := p.create(o, url, nil)
	secrets := []string{token, strings.TrimPrefix(made.Secret, "whsec_")}
	patched := p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "rotateSecret": true, "url": url + "2", "format": "template",
		"template": object{"headers": object{"X-Key": "Bearer H3aderThatNobodyMaySee"}, "secrets": object{"key": "S3cretThatNobodyMaySee"}, "body": `{"key": "{{secret "key"}}"}`}})
	secrets = append(secrets, strings.TrimPrefix(patched.Endpoint.Secret, "whsec_"), "H3aderThatNobodyMaySee", "S3cretThatNobodyMaySee")
	if strings.Contains(patched.text, token) {
		t.Errorf("the answer to a change shows the URL: %s", patched.text)
	}
	wrong := p.call(o, http.StatusBadRequest, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": patched.Endpoint.URLHash, "template": object{"body": `{{secret "key"}}`}}).text
	if strings.Contains(wrong+patched.text, "ThatNobodyMaySee") {
		t.Errorf("a response shows a hidden text: %s %s", wrong, patched.text)
	}
	if list := p.call(o, http.StatusOK, http.MethodGet, path, nil).text; strings.Contains(list, "ThatNobodyMaySee") || strings.Contains(list, "whsec_") {
		t.Errorf("the list shows a secret: %s", list)
	}
	recipient := p.only(o, o.one)
	if d := p.resolve(o, recipient)[0]; d.URL != url+"2" || len(d.Secrets) != 2 || !strings.Contains(d.Template, `"X-Key":"Bearer H3aderThatNobodyMaySee"`) || !strings.Contains(d.Template, `"key":"S3cretThatNobodyMaySee"`) {
		t.Errorf("delivery gets %+v", d)
	}
	p.ahead.Add(int64(15 * time.Second)) // until it can only be the new URL's
	p.publish(p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "the failure is counted", func() bool { return p.shown(o, patched.Endpoint.URLHash).ConsecutiveFailures == 1 })
	for _, bad := range []string{"https://user:" + token + "@hooks.example.com/", "https://localhost/" + token, "http://hooks.example.com/" + token, "https://hooks.example.com/%" + token} {
		got := p.call(o, http.StatusBadRequest, http.MethodPost, path, object{"dashboardId": o.dashboard, "url": bad, "managementEmail": "a@example.com", "componentIds": []string{o.one}})
		if strings.Contains(got.text, token) {
			t.Errorf("a refusal repeats the URL: %s", got.text)
		}
	}
	holdsNone(t, folder, secrets) // while the endpoint is there
	p.call(o, http.StatusNoContent, http.MethodDelete, path+"?dashboardId="+o.dashboard+"&url="+strings.NewReplacer("?", "%3F", "=", "%3D").Replace(url+"2"), nil)
	for _, hidden := range secrets {
		if strings.Contains(p.logs.String(), hidden) {
			t.Errorf("the log holds %s", hidden)
		}
	}
	if len(spans.GetSpans()) == 0 {
		t.Error("nothing was traced")
	}
	for _, span := range spans.GetSpans() {
		text := fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status)
		for _, hidden := range secrets {
			if strings.Contains(text, hidden) {
				t.Errorf("a span holds %s: %s", hidden, text)
			}
		}
	}
}

// holdsNone looks for secrets in the database's files, byte for byte.
func holdsNone(t *testing.T, folder string, secrets []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no database files in %s (%v)", folder, err)
	}
	size := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		size += len(content)
		for _, hidden := range secrets {
			if bytes.Contains(content, []byte(hidden)) {
				t.Errorf("%s holds %s", filepath.Base(file), hidden)
			}
		}
	}
	if size == 0 {
		t.Error("the database is empty")
	}
}

// An endpoint that was sealed with another secret of the platform does not affect other endpoints.
func TestAnEndpointThatCannotBeReadDoesNotHoldUpOthers(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	db, err := document.Open(p.documents, "integrations", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	kinds := endpoint.Kinds(endpoint.Providers{})
	before := &endpoint.Endpoints{
		Store: store.New(db), Services: services{o: o}, Hosts: hosts{}, Box: seal.NewBox(strings.Repeat("x", seal.MinSecret), "endpoint"),
		SuppressAfter: 10, Log: slog.New(slog.DiscardHandler), Now: p.now,
	}
	sealed, err := before.Create(t.Context(), o.id, kinds[0], o.dashboard, input(endpoint.Draft{URL: "https://hooks.example.com/former", ManagementEmail: "ops@example.com", ComponentIDs: []string{o.one}}))
	if err != nil {
		t.Fatal(err)
	}
	p.create(o, "https://hooks.example.com/present", object{"componentIds": []string{o.two}})
	present := p.only(o, o.two)
	found := p.resolve(o, sealed.Endpoint.ID, present)
	if d := found[0]; d.State != topic.RecipientActive || d.URL != "" || len(d.Secrets) != 0 || d.URLHash != sealed.Endpoint.URLHash {
		t.Errorf("the former one: %+v", d)
	}
	if d := found[1]; d.State != topic.RecipientActive || d.URL != "https://hooks.example.com/present" || len(d.Secrets) != 1 {
		t.Errorf("the present one: %+v", d)
	}
	if log := p.logs.String(); !strings.Contains(log, "another BELLBUOY_SECRET") || !strings.Contains(log, sealed.Endpoint.ID) {
		t.Errorf("the log does not say so: %s", log)
	}
}
