package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// tool sends messages as the integrations service does, for a monitoring tool.
type tool struct {
	*platform
	component, other string
	sent             int
	processes        []peer.Events
}

func startTool(t *testing.T) *tool {
	p := start(t, startBroker(t))
	return &tool{platform: p, processes: []peer.Events{p.peers}, component: newComponent(p, `"externalRefs": ["checkout", "shop/1"]`), other: newComponent(p, `"externalRefs": []`)}
}

func newComponent(p *platform, more string) string {
	made := p.must(http.StatusCreated, "app admin a", "POST", "/app/components", `{"name": "Shop", `+more+`}`)
	return made["component"].(map[string]any)["id"].(string)
}

// message is a message with an id of its own.
func (s *tool) message(action, externalID string, set func(*topic.InboundMessage)) topic.InboundMessage {
	s.sent++
	in := topic.InboundMessage{
		ID: fmt.Sprintf("msg_%d", s.sent), KeyID: "0190cccc-0000-7000-8000-000000000001", KeyName: "Alertmanager", IP: "192.0.2.7", RequestID: "r",
		Action: action, ExternalID: externalID, Publish: true,
	}
	if action == "trigger" {
		in.Title, in.Components = "Checkout fails", []string{"checkout"}
	}
	if set != nil {
		set(&in)
	}
	return in
}

// deliver sends a message to a process. Like the integrations service, it sends again what took too long.
func (s *tool) deliver(to peer.Events, in topic.InboundMessage) (got topic.InboundResult, err error) {
	for range 12 {
		if got, err = to.Ingest(s.t.Context(), orgA, in); !fault.Is(err, fault.Unavailable) {
			break
		}
	}
	return got, err
}

// ingest sends a message that must have the result, and returns the event.
func (s *tool) ingest(want string, in topic.InboundMessage) map[string]any {
	s.t.Helper()
	got, err := s.deliver(s.peers, in)
	if err != nil || got.Result != want {
		s.t.Fatalf("%s %+v: %v, want %s", in.Action, got, err, want)
	}
	return s.event(got.EventID)
}

func (s *tool) event(id string) map[string]any {
	s.t.Helper()
	return s.must(http.StatusOK, "app admin a", "GET", "/app/events/"+id, "")["event"].(map[string]any)
}

func (s *tool) refuse(kind fault.Kind, want string, in topic.InboundMessage) {
	s.t.Helper()
	_, err := s.deliver(s.peers, in)
	f := fault.As(err)
	if f == nil || f.Kind != kind || strings.TrimPrefix(f.Field+": "+f.Message, ": ") != want {
		s.t.Errorf("%s: %v, want %s %q", in.Action, err, kind, want)
	}
}

func entries(event map[string]any) []string {
	var texts []string
	for _, entry := range event["timeline"].([]any) {
		e := entry.(map[string]any)
		texts = append(texts, fmt.Sprintf("%s: %s", e["status"], e["message"]))
	}
	return texts
}

func (s *tool) expect(event map[string]any, members map[string]any, timeline ...string) {
	s.t.Helper()
	for name, want := range members {
		if fmt.Sprint(event[name]) != fmt.Sprint(want) {
			s.t.Errorf("%s is %v, want %v", name, event[name], want)
		}
	}
	if got := entries(event); strings.Join(got, "\n") != strings.Join(timeline, "\n") {
		s.t.Errorf("the timeline, newest first, is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(timeline, "\n"))
	}
}

func TestInboundMessagesOpenChangeAndCloseAnEvent(t *testing.T) {
	s := startTool(t)
	severity := func(value string) func(*topic.InboundMessage) {
		return func(in *topic.InboundMessage) { in.Severity = &value }
	}
	said := func(text string) func(*topic.InboundMessage) {
		return func(in *topic.InboundMessage) { in.Message = &text }
	}

	began := s.now().Add(-10 * time.Minute)
	event := s.ingest("created", s.message("trigger", "p-1", func(in *topic.InboundMessage) {
		in.Description, in.DefaultSeverity, in.Timestamp, in.Impact = "Some payments fail.", "minor_outage", &began, "major_outage"
		in.Components = []string{"shop/1", s.component, strings.ToUpper(s.component)}
		said("We look into it.")(in)
	}))
	s.expect(event, map[string]any{
		"type": "incident", "status": "investigating", "title": "Checkout fails", "severity": "minor_outage", "source": "inbound", "publish": true,
		"externalId": "p-1", "startAt": began.Format("2006-01-02T15:04:05.000Z"), "createdBy": map[string]any{"userId": nil, "name": "Alertmanager"},
		"affectedComponents": []any{map[string]any{"componentId": s.component, "impact": "major_outage", "name": "Shop"}},
	}, "investigating: We look into it.")

	// A tool repeats its triggers.
	s.ingest("ignored", s.message("trigger", "p-1", nil))
	s.ingest("ignored", s.message("trigger", "p-1", said("We look into it.")))
	if again := s.ingest("ignored", s.message("trigger", "p-1", severity("minor_outage"))); again["version"] != event["version"] {
		t.Errorf("a repeated trigger changes the version %v to %v", event["version"], again["version"])
	}
	s.expect(s.ingest("updated", s.message("trigger", "p-1", func(in *topic.InboundMessage) {
		in.Title, in.Description, in.Publish, in.DefaultSeverity, in.Components = "Another title", "Another text", false, "minor_performance", []string{"checkout", s.other}
	})), map[string]any{"title": "Checkout fails", "description": "Some payments fail.", "publish": true, "severity": "minor_outage", "dashboardIds": []any{dashA}},
		"investigating: We look into it.")
	s.expect(s.ingest("updated", s.message("trigger", "p-1", severity("major_outage"))), map[string]any{"severity": "major_outage"}, "investigating: We look into it.")
	s.ingest("updated", s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Status = "identified" }))
	s.ingest("updated", s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Impact = "partial_outage" }))
	event = s.ingest("updated", s.message("trigger", "p-1", said("A disk is full.")))
	s.expect(event, map[string]any{"status": "identified"}, "update: A disk is full.", "update: The impact is now partial outage.",
		"identified: The status is now identified.", "investigating: We look into it.")

	s.ingest("updated", s.message("update", "p-1", severity("")))
	s.ingest("updated", s.message("update", "p-1", func(in *topic.InboundMessage) { in.Status = "monitoring" }))
	event = s.ingest("resolved", s.message("resolve", "p-1", nil))
	s.expect(event, map[string]any{"status": "resolved", "severity": nil}, "resolved: The problem is resolved.", "monitoring: The status is now monitoring.",
		"update: The severity is now none.", "update: A disk is full.", "update: The impact is now partial outage.",
		"identified: The status is now identified.", "investigating: We look into it.")
	s.ingest("ignored", s.message("resolve", "p-1", said("Once more.")))
	s.ingest("updated", s.message("update", "p-1", func(in *topic.InboundMessage) { in.Status = "identified" }))
	event = s.ingest("updated", s.message("update", "p-1", said("It was a log file.")))
	if got := strings.Join(entries(event)[:3], "; "); event["status"] != "resolved" || got != "update: It was a log file.; update: The status stays resolved.; resolved: The problem is resolved." {
		t.Errorf("after updates of a resolved event it is %v: %v", event["status"], got)
	}

	reopened := s.ingest("reopened", s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Impact = "major_outage" }))
	if reopened["id"] != event["id"] || reopened["status"] != "investigating" || entries(reopened)[0] != "investigating: The problem has occurred again." {
		t.Errorf("reopened: %v", reopened)
	}
	s.ingest("resolved", s.message("update", "p-1", func(in *topic.InboundMessage) { in.Status = "resolved" }))
	s.ahead.Store(int64(24*time.Hour - time.Minute))
	if again := s.ingest("reopened", s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Status = "monitoring" })); again["id"] != event["id"] || again["status"] != "monitoring" {
		t.Errorf("reopened within a day: %v", again)
	}
	s.ingest("resolved", s.message("resolve", "p-1", func(in *topic.InboundMessage) { in.Status = "resolved" }))
	s.ahead.Add(int64(24*time.Hour + time.Minute))
	later := s.ingest("created", s.message("trigger", "p-1", nil))
	if later["id"] == event["id"] {
		t.Error("a trigger more than a day after the end reopened the event")
	}
	if now := s.ingest("resolved", s.message("resolve", "p-1", nil)); now["id"] != later["id"] {
		t.Error("a resolve closed another event than the newest")
	}
}

func TestInboundRefusals(t *testing.T) {
	s := startTool(t)
	s.ingest("created", s.message("trigger", "p-1", nil))
	blank, future, before := " \n", s.now().Add(24*time.Hour), s.now().Add(-time.Hour)
	old := time.Date(1989, 12, 31, 23, 59, 59, 0, time.UTC)
	const unknown = "There is no event with this externalId. Send a trigger to create one."
	for want, in := range map[string]topic.InboundMessage{
		"externalId: must be 1 to 255 characters and not only white space":                           s.message("resolve", strings.Repeat("é", 256), nil),
		"title: must be 1 to 255 characters and not only white space, for a trigger":                 s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Title = "" }),
		"status: must not be resolved for a trigger":                                                 s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Status = "resolved" }),
		"components: must name at least one component, by id or external reference, for a trigger":   s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Components = nil }),
		"components[1]: must be the id or an external reference of a component of your organization": s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Components = []string{"checkout", dashA} }),
		"components[0]: must be the id or an external reference of a component of your organization": s.message("trigger", "p-9", func(in *topic.InboundMessage) { in.Components = []string{"Checkout"} }),
		"An update must have message, status or severity.":                                           s.message("update", "p-1", func(in *topic.InboundMessage) { in.Components = []string{"checkout"} }),
		"status: must be resolved, or be left out, for a resolve":                                    s.message("resolve", "p-1", func(in *topic.InboundMessage) { in.Status = "monitoring" }),
		"timestamp: must not be in the future":                                                       s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Timestamp = &future }),
		"timestamp: must not be before the start of the event, because the entry closes the event":   s.message("resolve", "p-1", func(in *topic.InboundMessage) { in.Timestamp = &before }),
		"timestamp: must not be before 1990":                                                         s.message("trigger", "p-2", func(in *topic.InboundMessage) { in.Timestamp = &old }),
		"message: must not be empty or only white space":                                             s.message("update", "p-1", func(in *topic.InboundMessage) { in.Message = &blank }),
		"description: must be at most 20000 characters":                                              s.message("trigger", "p-2", func(in *topic.InboundMessage) { in.Description = strings.Repeat("x", 20001) }),
	} {
		s.refuse(fault.Invalid, want, in)
	}
	for _, action := range []string{"update", "resolve"} {
		s.refuse(fault.NotFound, unknown, s.message(action, "p-2", func(in *topic.InboundMessage) { in.Status = "resolved" }))
	}
	if _, err := s.peers.Ingest(t.Context(), orgB, s.message("resolve", "p-1", nil)); !fault.Is(err, fault.NotFound) {
		t.Errorf("another organization resolves the event: %v", err)
	}
}

// Whom a message notifies follows from its time, its publish and its notify, as for a person.
func TestInboundMessagesNotifyAsAPersonDoes(t *testing.T) {
	s := startTool(t)
	heard := s.listen()
	old, recent := s.now().Add(-2*time.Hour), s.now().Add(-50*time.Minute)
	received := old.Add(time.Minute)
	mail := map[topic.Channel]bool{topic.Email: true, topic.Webhook: false}
	for name, of := range map[string]struct {
		set  func(*topic.InboundMessage)
		want int // channels
	}{
		"default":  {nil, len(topic.AppChannels())},
		"recent":   {func(in *topic.InboundMessage) { in.Timestamp = &recent }, len(topic.AppChannels())},
		"old":      {func(in *topic.InboundMessage) { in.Timestamp = &old }, 0},
		"waited":   {func(in *topic.InboundMessage) { in.Timestamp, in.ReceivedAt = &old, &received }, len(topic.AppChannels())},
		"draft":    {func(in *topic.InboundMessage) { in.Publish = false }, 0},
		"nobody":   {func(in *topic.InboundMessage) { in.Notify = &map[topic.Channel]bool{} }, 0},
		"one":      {func(in *topic.InboundMessage) { in.Notify = &mail }, 1},
		"old, one": {func(in *topic.InboundMessage) { in.Timestamp, in.Notify = &old, &mail }, 1},
	} {
		id := s.ingest("created", s.message("trigger", name, of.set))["legacyId"].(float64)
		changes := heard.of(t, int64(id), 1)
		if got := changes[0]; got.Kind != topic.IncidentCreated || len(got.Notify) != of.want {
			t.Errorf("%s: %s notifies %v, want %d channels", name, got.Kind, got.Notify, of.want)
		}
	}
	id := s.ingest("updated", s.message("update", "old", func(in *topic.InboundMessage) { in.Status, in.Timestamp = "identified", &old }))["legacyId"].(float64)
	s.ingest("resolved", s.message("resolve", "old", nil))
	s.ingest("reopened", s.message("trigger", "old", func(in *topic.InboundMessage) { in.Timestamp = &old }))
	waited := func(in *topic.InboundMessage) { in.Timestamp, in.ReceivedAt = &old, &received }
	resolved := s.ingest("resolved", s.message("resolve", "waited", waited))["legacyId"].(float64)
	if change := heard.of(t, int64(resolved), 2)[1]; change.Kind != topic.IncidentResolved || len(change.Notify) != len(topic.AppChannels()) {
		t.Errorf("a resolve that waited: %s notifies %v", change.Kind, change.Notify)
	}
	draft := s.ingest("created", s.message("trigger", "draft that waited", func(in *topic.InboundMessage) {
		in.Timestamp, in.ReceivedAt, in.Publish = &old, &received, false
	}))
	s.must(http.StatusOK, "app admin a", "PATCH", "/app/events/"+draft["id"].(string), `{"publish": true}`)
	if change := heard.of(t, int64(draft["legacyId"].(float64)), 2)[1]; change.Kind != topic.IncidentCreated || len(change.Notify) != len(topic.AppChannels()) {
		t.Errorf("a published draft that waited: %s notifies %v", change.Kind, change.Notify)
	}
	changes := heard.of(t, int64(id), 4)
	for i, want := range []struct {
		kind     topic.Kind
		channels int
	}{{topic.IncidentCreated, 0}, {topic.IncidentUpdated, 0}, {topic.IncidentResolved, len(topic.AppChannels())}, {topic.IncidentReopened, len(topic.AppChannels())}} {
		if changes[i].Kind != want.kind || len(changes[i].Notify) != want.channels {
			t.Errorf("change %d is %s and notifies %d channels, want %+v", i, changes[i].Kind, len(changes[i].Notify), want)
		}
	}
}

// beside starts a second process of the service on the same records.
func (s *tool) beside() *tool {
	url, peers, stop := s.url, s.peers, s.stop
	s.run()
	s.processes = append(s.processes, s.peers)
	s.url, s.peers, s.stop = url, peers, stop
	return s
}

// However often and at the same time a message arrives, it changes one event once.
func TestAnInboundMessageIsAppliedOnce(t *testing.T) {
	s := startTool(t).beside()
	const copies = 32
	once := func(in topic.InboundMessage, want string) string {
		t.Helper()
		var mu sync.Mutex
		ids := map[string]int{}
		var group sync.WaitGroup
		for i := range copies {
			group.Go(func() {
				got, err := s.deliver(s.processes[i%2], in)
				mu.Lock()
				defer mu.Unlock()
				if ids[got.EventID]++; err != nil || got.Result != want {
					t.Errorf("%s: %+v, %v", in.Action, got, err)
				}
			})
		}
		group.Wait()
		if len(ids) != 1 {
			t.Errorf("%s concerned the events %v", in.Action, ids)
		}
		for id := range ids {
			return id
		}
		return ""
	}
	text := "We look into it."
	speak := func(in *topic.InboundMessage) { in.Message = &text }
	first := s.message("trigger", "p-1", speak)
	id := once(first, "created")
	change := s.message("update", "p-1", speak)
	once(change, "updated")
	once(s.message("resolve", "p-1", nil), "resolved")
	once(s.message("trigger", "p-1", nil), "reopened")
	once(first, "created")
	once(change, "updated")
	s.expect(s.event(id), nil, "investigating: The problem has occurred again.", "resolved: The problem is resolved.",
		"update: We look into it.", "investigating: We look into it.")

	// Also when another event has its external id by now.
	s.must(http.StatusOK, "app admin a", "PATCH", "/app/events/"+id, `{"externalId": "moved"}`)
	if again := once(first, "created"); again != id {
		t.Error("the first message made another event")
	}
	// Another organization may use the same ids.
	if got, err := s.peers.Ingest(t.Context(), orgB, first); fault.As(err) == nil || fault.As(err).Field != "components[0]" {
		t.Errorf("another organization's message: %+v %v", got, err)
	}
}

func TestTriggersOfOneProblemAtTheSameTimeMakeOneEvent(t *testing.T) {
	s := startTool(t).beside()
	const triggers = 32
	results, ids := map[string]int{}, map[string]bool{}
	run := func() {
		clear(results)
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range triggers {
			text := fmt.Sprintf("sensor %d", i)
			in := s.message("trigger", "p-1", func(in *topic.InboundMessage) { in.Message = &text })
			group.Go(func() {
				got, err := s.deliver(s.processes[i%2], in)
				mu.Lock()
				defer mu.Unlock()
				if results[got.Result]++; err != nil {
					t.Error(err)
				}
				ids[got.EventID] = true
			})
		}
		group.Wait()
	}
	run()
	if len(ids) != 1 || results["created"] != 1 || results["updated"] != triggers-1 {
		t.Errorf("%d events, %v", len(ids), results)
	}
	s.ingest("resolved", s.message("resolve", "p-1", nil))
	run()
	if len(ids) != 1 || results["reopened"] != 1 || results["updated"] != triggers-1 {
		t.Errorf("after the resolve: %d events, %v", len(ids), results)
	}
	for id := range ids {
		if n := len(entries(s.event(id))); n != 2*triggers+1 {
			t.Errorf("%d entries of %d triggers", n, 2*triggers)
		}
	}
}

// TestAFullTimelineRefusesInboundMessages shows the one conflict that a tool can get: as for a person, the event is full.
func TestAFullTimelineRefusesInboundMessages(t *testing.T) {
	s := startTool(t)
	full := strings.TrimSuffix(strings.Repeat(`{"update": "x"}, `, 1000), ", ")
	s.must(http.StatusCreated, "", "POST", "/api/v1/event/list/", incident+`, "event_update": [`+full+`]}`)
	events := s.must(http.StatusOK, "app admin a", "GET", "/app/events", "")["events"].([]any)
	id := events[0].(map[string]any)["id"].(string)
	s.must(http.StatusOK, "app admin a", "PATCH", "/app/events/"+id, `{"externalId": "full"}`)
	const want = "The timeline has 1000 entries, which is the most. Delete an entry before you add one."
	s.refuse(fault.Conflict, want, s.message("resolve", "full", nil))
}
