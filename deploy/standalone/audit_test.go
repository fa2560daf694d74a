package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// auditEntry is an entry of GET /app/audit. text is its JSON.
type auditEntry struct {
	ID    string
	Actor struct{ Type, ID, Email, KeyID string }
	Action, EntityType, EntityID,
	RequestID, IP, Surface string
	ChangedFields []string
	Before, After json.RawMessage
	text          string
}

// auditLog returns all audit entries that the organization of the key can read, newest first.
func auditLog(base, authorization, query string) (entries []auditEntry, err error) {
	for next := ""; ; {
		got, err := try(context.Background(), http.MethodGet, base+"/app/audit?limit=100&"+query+next, authorization, nil)
		if err != nil || got.status != http.StatusOK {
			return nil, fmt.Errorf("%d %s %w", got.status, got.body, err)
		}
		var page struct {
			Entries   []json.RawMessage
			NextToken *string
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			return nil, err
		}
		for _, text := range page.Entries {
			entry := auditEntry{text: string(text)}
			if err := json.Unmarshal(text, &entry); err != nil {
				return nil, err
			}
			entries = append(entries, entry)
		}
		if page.NextToken == nil {
			return entries, nil
		}
		next = "&nextToken=" + *page.NextToken
	}
}

// write is a request in the walk that is not a read. The walk is the script testdata/audit/walk.txtar.
type write struct {
	method, path, action, id, surface string
	status                            int
	shown                             map[string]any // members of the record in the response
}

// walker is a proxy in front of the platform. It removes the expected audit action from each request of the walk and
// gives the request an id. It records the writes, the credentials of members and the secrets in responses.
type walker struct {
	proxy *httputil.ReverseProxy

	mu        sync.Mutex
	writes    []write
	members   []string
	secrets   []string
	responses []spoken
}

// spoken is a response of the platform, with the method and path of its request.
type spoken struct{ method, path, text string }

func newWalker(t *testing.T, base string) *walker {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{}
	w.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(response *http.Response) error {
			content, err := io.ReadAll(response.Body)
			response.Body = io.NopCloser(bytes.NewReader(content))
			w.keep(response.Request, response.StatusCode, content)
			return err
		},
	}
	return w
}

const auditHeader = "X-Audit"

func (w *walker) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	id := fmt.Sprintf("walk-%d", len(w.writes))
	if authorization := in.Header.Get("Authorization"); strings.HasPrefix(authorization, "Bearer ") && !slices.Contains(w.members, authorization) {
		w.members = append(w.members, authorization)
	}
	if in.Method != http.MethodGet {
		surface := map[string]string{"app": "app", "api": "legacy", "operator": "operator", "public": "public", "d": "public"}[strings.Split(in.URL.Path, "/")[1]]
		w.writes = append(w.writes, write{method: in.Method, path: in.URL.Path, action: in.Header.Get(auditHeader), id: id, surface: surface})
	}
	w.mu.Unlock()
	in.Header.Del(auditHeader)
	in.Header.Set("X-Request-Id", id)
	w.proxy.ServeHTTP(out, in)
}

var secretMember = regexp.MustCompile(`(?:"(?:apiKey|key|secret)":\s*"|/console/welcome\?token=)([^"]+)"`)

// keep records the status of a write and the secrets in its response.
func (w *walker) keep(r *http.Request, status int, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.responses = append(w.responses, spoken{r.Method, r.URL.Path, string(body)})
	for i := range w.writes {
		if w.writes[i].id == r.Header.Get("X-Request-Id") && r.Method != http.MethodGet {
			w.writes[i].status = status
			var wrapped map[string]map[string]any
			if json.Unmarshal(body, &wrapped) == nil && len(wrapped) == 1 {
				for _, w.writes[i].shown = range wrapped {
				}
			}
		}
	}
	for _, match := range secretMember.FindAllSubmatch(body, -1) {
		_, secret, found := strings.Cut(string(match[1]), ":") // the text is <keyId>:<secret>
		if !found {
			secret = string(match[1])
		}
		w.secrets = append(w.secrets, secret)
	}
}

// TestEveryWriteLeavesOneAuditEntry runs a script with all writes of all interfaces. The declared operations and the
// table of the legacy interface define which writes exist.
func TestEveryWriteLeavesOneAuditEntry(t *testing.T) {
	t.Parallel()
	broker, _ := sharedEngines(t)
	p, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "KAFKA_BROKERS="+broker,
		"DELIVERY_RESOLVE=receiver.example:443=127.0.0.1:1,workflows.example:443=127.0.0.1:1,chat.example:443=127.0.0.1:1,slack.example:443=127.0.0.1:1,discord.example:443=127.0.0.1:1",
		"TEAMS_WORKFLOW_HOSTS=workflows.example", "GCHAT_HOSTS=chat.example", "SLACK_HOSTS=slack.example", "DISCORD_HOSTS=discord.example",
		"SUPPRESS_AFTER=1", "DELIVERY_RETRY_SCHEDULE=10ms")
	c := provision(t, base, "Acme", "ada", "admin", "api")
	w := newWalker(t, base)
	front := httptest.NewServer(w)
	defer front.Close()
	if err := apitest.PlayFile(t.Context(), apitest.Target{URL: front.URL, Vars: map[string]string{
		"operator": c.operator(), "legacy": c.legacy(), "app": c.app(), "dashboard": c.DashboardID, "slug": filepath.Base(c.DashboardURL), "ada": c.UserID,
	}}, "testdata/audit/walk.txtar"); err != nil {
		t.Fatal(err)
	}
	t.Run("the walk is complete", func(t *testing.T) { w.complete(t) })

	expected := map[string]write{}
	for _, write := range w.writes {
		switch {
		case write.status >= http.StatusBadRequest:
		case write.action == "":
			t.Errorf("%s %s: the walk does not say which action its audit entry has", write.method, write.path)
		case write.action != "none" && write.action != "unchanged":
			expected[write.id] = write
		}
	}
	const provisioned = 4 // audit entries of provision: the organization, the user, two keys
	entries := w.entries(t, base, len(expected)+provisioned)
	seen, others := map[string]int{}, 0
	for _, entry := range entries {
		if !strings.HasPrefix(entry.RequestID, "walk-") {
			others++
			continue
		}
		seen[entry.RequestID]++
		write, is := expected[entry.RequestID]
		if !is || entry.Action != write.action || entry.Surface != write.surface || entry.IP != "127.0.0.1" {
			t.Errorf("%s %s of the action %q left %s", write.method, write.path, write.action, entry.text)
		}
		c.expectActor(t, entry)
		if strings.Count(write.action, ".") == 1 && write.status == http.StatusCreated && write.surface == "app" && write.action != "user.invite" { // the entry of an invitation is about the user
			expectShown(t, entry, write.shown)
		}
	}
	if others != provisioned {
		t.Errorf("%d entries are of no request of the walk, instead of %d", others, provisioned)
	}
	for id, write := range expected {
		if seen[id] != 1 {
			t.Errorf("%s %s: %d audit entries", write.method, write.path, seen[id])
		}
	}
	t.Run("no secrets", func(t *testing.T) {
		places := places{"the log": p.output()}
		for _, entry := range entries {
			places["the entry of "+entry.Action] += entry.text
		}
		places.addRecords(published(t, broker, len(entries)))
		secrets := append(w.secrets, c.LegacyKey, strings.SplitN(c.AppKey, ":", 2)[1], operatorToken, "token-in-the-path", "token-in-a-teams-query", "token-in-a-gchat-query", "tokenInASlackPath", "token-in-a-discord-path", "password-of-a-dashboard")
		if strings.Contains(places["the log"], "@example.com") {
			t.Error("the log holds the address of a person")
		}
		if len(w.secrets) < 5 {
			t.Fatalf("the walk saw %d secrets", len(w.secrets))
		}
		for _, secret := range secrets {
			places.expectWithout(t, "a secret of the walk", secret)
		}
	})
}

// complete fails the test unless each declared write and each write of the legacy interface succeeded in the walk.
func (w *walker) complete(t *testing.T) {
	walked := func(method, pattern string) bool {
		path := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$")
		return slices.ContainsFunc(w.writes, func(write write) bool {
			return write.method == method && write.status < http.StatusBadRequest && path.MatchString(write.path)
		})
	}
	for _, operation := range declared.Operations() {
		// TestEveryWriteOfTheConsoleLeavesOneAuditEntry of the identity service calls the operations that refuse keys.
		if operation.Method != http.MethodGet && operation.Access == web.Members && !walked(operation.Method, operation.Path) {
			t.Errorf("%s %s is missing in testdata/audit/walk.txtar", operation.Method, operation.Path)
		}
	}
	// Other tests check the audit entries of these paths. TestInboundMessagesLeaveAuditEntriesOfTheirKey sends signed
	// messages. TestAPersonIsNotified and TestVisitorsEndpointReceivesIncidents use the tokens in messages, and a
	// dashboard's own host. To enter the password of a private page changes no record.
	elsewhere := regexp.MustCompile(`^(/d/\{slug\}/enter|/enter|/public/webhooks/inbound(/\{format\})?|/public/(confirm|manage|unsubscribe)|/public/endpoints/.*|/subscribe/.*)$`)
	for _, operation := range declared.Public() {
		if operation.Method != http.MethodGet && !elsewhere.MatchString(operation.Path) && !walked(operation.Method, operation.Path) {
			t.Errorf("%s %s is missing in testdata/audit/walk.txtar", operation.Method, operation.Path)
		}
	}
	for _, row := range legacy.Resources() {
		for _, method := range append(row.List, row.Detail...) {
			path := legacy.Base + row.Name + "/"
			if method != http.MethodPost {
				path += "{id}/"
			}
			if method != http.MethodGet && !walked(method, path) {
				t.Errorf("%s %s is missing in testdata/audit/walk.txtar", method, path)
			}
		}
	}
}

// entries makes one more write and waits until the audit logs of all members of the walk have n entries, because
// entries arrive through Kafka. It also returns any further entries.
func (w *walker) entries(t *testing.T, base string, n int) []auditEntry {
	t.Helper()
	var all []auditEntry
	eventually(t, 60*time.Second, "all audit entries", func() error {
		all = nil
		owners := map[string]string{} // organization of each entry, because no organization may read the entries of another
		for _, member := range w.members {
			entries, err := auditLog(base, member, "")
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if owner, taken := owners[entry.ID]; taken {
					return fmt.Errorf("%s and %s see one entry", owner, member)
				}
				owners[entry.ID] = member
			}
			all = append(all, entries...)
		}
		if len(all) < n {
			return fmt.Errorf("%d of %d entries", len(all), n)
		}
		return nil
	})
	return all
}

// expectActor fails the test unless the actor fits the surface of the entry.
func (c credentials) expectActor(t *testing.T, entry auditEntry) {
	t.Helper()
	actor := entry.Actor
	switch {
	case entry.Surface == "operator":
		if actor.Type != "operator" || actor.ID+actor.Email+actor.KeyID != "" {
			t.Errorf("actor %+v of %s", actor, entry.Action)
		}
	case entry.Surface == "public":
		if actor.Type != "visitor" || actor.ID+actor.Email+actor.KeyID != "" {
			t.Errorf("actor %+v of %s", actor, entry.Action)
		}
	case actor.Type != "user" || actor.ID == "" || actor.KeyID == "" || actor.Email != c.Username+"@example.com" && actor.Email != "bob@example.com":
		t.Errorf("actor %+v of %s", actor, entry.Action)
	}
}

// expectShown fails the test unless the audit entry of a create contains each member that the App interface shows of
// the record, except members that follow from other records.
func expectShown(t *testing.T, entry auditEntry, shown map[string]any) {
	t.Helper()
	var after map[string]any
	if err := json.Unmarshal(entry.After, &after); err != nil {
		t.Fatal(err)
	}
	derived := []string{"dashboardIds", "importKey", "notifyLater", "partlyConfirmed", "status", "activeEventIds", "indicator", "domains", "url", "verified", "suppressed", "consecutiveFailures", "firstFailureAt", "lastSuccessAt", "secret"}
	parts := []string{"timeline", "notes", "postMortem"} // parts that the entry of an event contains only if they changed
	for member := range shown {
		if _, has := after[member]; !has && !slices.Contains(derived, member) && !slices.Contains(parts, member) {
			t.Errorf("the entry of %s lacks %s of the record", entry.Action, member)
		}
	}
}

// published returns the records that are in all topics now, at least n of them in the audit topic.
func published(t *testing.T, broker string, n int) []stream.Record {
	t.Helper()
	bus := stream.Connect(stream.Options{Brokers: []string{broker}, ClientID: "auditor"})
	defer bus.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	topics := []string{topic.EventChanges, topic.ComponentChanges, topic.DashboardChanges, topic.Notices, topic.Deliveries, topic.DeliveryOutcomes, topic.Audit}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	starts, startsErr := kadm.NewClient(client).ListStartOffsets(ctx, topics...)
	ends, endsErr := kadm.NewClient(client).ListEndOffsets(ctx, topics...)
	if err := errors.Join(startsErr, starts.Error(), endsErr, ends.Error()); err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	starts.Each(func(start kadm.ListedOffset) { all -= start.Offset })
	ends.Each(func(end kadm.ListedOffset) { all += end.Offset })
	var mu sync.Mutex // partitions are handled concurrently
	var records []stream.Record
	left := n
	err = bus.ConsumeBatches(ctx, stream.Subscription{Group: "auditor", Topics: topics}, func(_ context.Context, batch []stream.Record) error {
		mu.Lock()
		defer mu.Unlock()
		for _, record := range batch {
			records = append(records, record)
			if record.Topic == topic.Audit {
				left--
			}
		}
		if int64(len(records)) >= all {
			cancel()
		}
		return nil
	})
	if left > 0 || int64(len(records)) < all {
		t.Errorf("%d of %d messages were read, %d of %d audit messages are missing: %v", len(records), all, left, n, err)
	}
	return records
}
