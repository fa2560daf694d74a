package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// appEvent is what the tests read of a response of the App interface.
type appEvent struct {
	Event struct {
		ID       string     `json:"id"`
		Title    string     `json:"title"`
		Status   string     `json:"status"`
		Timeline []appEntry `json:"timeline"`
		Version  int64      `json:"version"`
	} `json:"event"`
	TimelineEntry appEntry `json:"timelineEntry"`
}

type appEntry struct {
	StatusID       string  `json:"statusId"`
	Status         string  `json:"status"`
	PreviousStatus *string `json:"previousStatus"`
	Message        string  `json:"message"`
	Timestamp      string  `json:"timestamp"`
}

// app sends a request of a member with the role event. It fails the test unless the status of the response is one of statuses.
func (p *platform) app(method, path, body string, statuses ...int) (appEvent, int) {
	p.t.Helper()
	a := patiently(func() answer { return p.send("app event a", method, path, body) })
	if !slices.Contains(statuses, a.status) {
		p.t.Errorf("%s %s %s returned %d %s", method, path, body, a.status, a.body)
	}
	var out appEvent
	if len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &out); err != nil {
			p.t.Errorf("%s %s returned %q", method, path, a.body)
		}
	}
	return out, a.status
}

// pair starts two processes on the same records with a component, and returns them and the start of a body of an incident.
func pair(t *testing.T) (first, second *platform, incident string) {
	second = start(t, startBroker(t))
	first = second.in(t)
	second.run()
	first.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	components := first.must(200, "app event a", "GET", "/app/components", "")["components"].([]any)
	id := components[0].(map[string]any)["id"].(string)
	return first, second, `{"type": "incident", "title": "Down", "affectedComponents": [{"componentId": "` + id + `"}]`
}

// TestTimelineWriters lets 32 clients of two processes write one timeline. It checks that every accepted entry is there,
// once and in order, that each transition begins where the one before ended, and that refused entries left no trace.
func TestTimelineWriters(t *testing.T) {
	const writers, each = 32, 8
	first, second, incident := pair(t)
	heard := first.listen()
	event, _ := first.app("POST", "/app/events", incident+`}`, 201)
	path := "/app/events/" + event.Event.ID
	var mu sync.Mutex
	accepted := map[string]appEntry{}
	refused := 0
	var group sync.WaitGroup
	for writer := range writers {
		p := []*platform{first, second}[writer%2]
		group.Go(func() {
			for i := range each {
				status := []string{"identified", "monitoring", "update", "resolved", "investigating"}[(writer+i)%5]
				body := fmt.Sprintf(`{"message": "%d of %d", "status": "%s"}`, i, writer, status)
				to := path + "/timeline"
				if status == "investigating" && i%2 == 0 {
					to = path + "/reopen"
				}
				out, code := p.app("POST", to, body, 201, 409)
				mu.Lock()
				if code == 201 {
					accepted[out.TimelineEntry.StatusID] = out.TimelineEntry
				} else {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	end, _ := second.app("GET", path, "", 200)
	if len(end.Event.Timeline) != len(accepted) || len(accepted)+refused != writers*each || refused == 0 {
		t.Errorf("%d entries are stored, %d were accepted and %d refused", len(end.Event.Timeline), len(accepted), refused)
	}
	// Changes have the order of creation. Two entries of one millisecond can be the other way round in the timeline only
	// if their processes read the time in another order than they wrote.
	changes := heard.of(t, 1, len(accepted)+1)
	status := "investigating"
	for i, change := range changes[1:] {
		entry, there := accepted[change.Entry.StatusID]
		if !there || change.Sequence != int64(i+2) || change.Entry.Text != entry.Message {
			t.Fatalf("change %d has sequence %d and entry %+v, want %+v", i+2, change.Sequence, change.Entry, entry)
		}
		delete(accepted, change.Entry.StatusID)
		if previous := entry.PreviousStatus; previous != nil && *previous != status || change.Event.PreviousStatus != given(entry.PreviousStatus) {
			t.Fatalf("entry %+v follows the status %s", entry, status)
		}
		if entry.PreviousStatus != nil {
			status = entry.Status
		}
	}
	if end.Event.Status != status || end.Event.Version != int64(len(changes)) {
		t.Errorf("the event is %s with version %d, want %s and %d", end.Event.Status, end.Event.Version, status, len(changes))
	}
	if !slices.IsSortedFunc(end.Event.Timeline, func(a, b appEntry) int { return strings.Compare(b.Timestamp, a.Timestamp) }) {
		t.Error("the timeline is not in order")
	}
	list := first.must(200, "", "GET", "/api/v1/event/update/?limit=1", "")
	if total := list["meta"].(map[string]any)["total_count"]; total != float64(len(end.Event.Timeline)) {
		t.Errorf("the legacy interface lists %v updates", total)
	}
}

func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// TestConcurrentEditorsLoseNoChange lets two users of two processes edit the title of one event with If-Match. It checks that nobody's
// change is lost.
func TestConcurrentEditorsLoseNoChange(t *testing.T) {
	const each = 20
	first, second, incident := pair(t)
	event, _ := first.app("POST", "/app/events", incident+`}`, 201)
	path := "/app/events/" + event.Event.ID
	var conflicts atomic.Int64
	var group sync.WaitGroup
	for name, p := range map[string]*platform{"a": first, "b": second} {
		group.Go(func() {
			for done := 0; done < each; {
				present, _ := p.app("GET", path, "", 200)
				got := p.sendIf(fmt.Sprintf(`"%d"`, present.Event.Version), "PATCH", path, fmt.Sprintf(`{"title": "%s %s%d"}`, present.Event.Title, name, done))
				switch got.status {
				case 200:
					done++
				case 409:
					conflicts.Add(1)
				default:
					t.Errorf("PATCH returned %d %s", got.status, got.body)
					return
				}
			}
		})
	}
	group.Wait()
	end, _ := first.app("GET", path, "", 200)
	words := strings.Fields(end.Event.Title)
	for i := range each {
		for _, name := range []string{"a", "b"} {
			if word := fmt.Sprintf("%s%d", name, i); !slices.Contains(words, word) {
				t.Errorf("%s is lost", word)
			}
		}
	}
	if end.Event.Version != 1+2*each {
		t.Errorf("the version is %d", end.Event.Version)
	}
	t.Logf("%d conflicts", conflicts.Load())
}

// sendIf is send for a member with the role event, with the header If-Match.
func (p *platform) sendIf(version, method, path, body string) answer {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "If-Match": {version}, passport.Header: {p.token("app event a")}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	return answer{status: response.StatusCode, header: response.Header}
}

// TestExternalIDIsUnique checks that concurrent creates, changes and reopens in two processes leave at most one open event
// with an external id, and that a refused change does not keep the changes stored together with it from being stored.
func TestExternalIDIsUnique(t *testing.T) {
	const writers = 16
	first, second, incident := pair(t)
	// race runs one request per writer, and returns how many had the wanted status. Every other one must be a conflict.
	race := func(want int, request func(p *platform, writer int) (appEvent, int)) (won int) {
		var count atomic.Int64
		var group sync.WaitGroup
		for writer := range writers {
			p := []*platform{first, second}[writer%2]
			group.Go(func() {
				if _, code := request(p, writer); code == want {
					count.Add(1)
				}
			})
		}
		group.Wait()
		return int(count.Load())
	}
	if won := race(201, func(p *platform, _ int) (appEvent, int) {
		return p.app("POST", "/app/events", incident+`, "externalId": "x"}`, 201, 409)
	}); won != 1 {
		t.Errorf("%d creates won", won)
	}
	var closed, open []string
	for range writers {
		event, _ := first.app("POST", "/app/events", incident+`, "externalId": "y", "status": "resolved"}`, 201)
		closed = append(closed, event.Event.ID)
		event, _ = first.app("POST", "/app/events", incident+`}`, 201)
		open = append(open, event.Event.ID)
	}
	if won := race(201, func(p *platform, writer int) (appEvent, int) {
		return p.app("POST", "/app/events/"+closed[writer]+"/reopen", `{"message": "x"}`, 201, 409)
	}); won != 1 {
		t.Errorf("%d reopens won", won)
	}
	if won := race(200, func(p *platform, writer int) (appEvent, int) {
		return p.app("PATCH", "/app/events/"+open[writer], `{"externalId": "z"}`, 200, 409)
	}); won != 1 {
		t.Errorf("%d changes won", won)
	}
	if won := race(201, func(p *platform, writer int) (appEvent, int) {
		if writer%4 == 0 {
			return p.app("PATCH", "/app/events/"+open[0], `{"externalId": "x"}`, 409)
		}
		return p.app("POST", "/app/events/"+open[0]+"/timeline", `{"message": "x"}`, 201)
	}); won != writers*3/4 {
		t.Errorf("%d entries were stored beside changes that were refused", won)
	}
}

// TestKilledWhileCreating checks that a process that is killed while it creates, changes and closes events of the App
// leaves whole events only: what had a response is stored, and the legacy rows follow.
func TestKilledWhileCreating(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	component := p.must(200, "app event a", "GET", "/app/components", "")["components"].([]any)[0].(map[string]any)["id"].(string)
	body := `{"type": "incident", "title": "Down", "affectedComponents": [{"componentId": "` + component + `"}], "initialTimelineMessage": "m", "notify": {"webhook": true}}`
	p.stop()
	var created, closed sync.Map
	var responses atomic.Int64
	for round := range 3 {
		kill := p.spawn()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for {
					event, ok := p.attemptApp("/app/events", body)
					if !ok {
						return
					}
					created.Store(event.Event.ID, true)
					if _, ok = p.attemptApp("/app/events/"+event.Event.ID+"/timeline", `{"message": "Over", "status": "resolved"}`); !ok {
						return
					}
					closed.Store(event.Event.ID, true)
					responses.Add(1)
				}
			})
		}
		goal := responses.Load() + int64(4+5*round)
		apitest.Eventually(t, "some requests have a response", func() bool { return responses.Load() >= goal })
		kill()
		group.Wait()
	}
	p.run()
	list := p.must(200, "", "GET", "/api/v1/event/list/?limit=0", "")["objects"].([]any)
	entries := 0
	for i, object := range list {
		event := object.(map[string]any)
		updates, services := event["event_update"].([]any), event["event_service"].([]any)
		resolved := event["status"].(map[string]any)["status"] == "resolved"
		if len(services) != 1 || resolved != (len(updates) == 2) || resolved != (event["end"] != nil) || len(updates) == 0 {
			t.Errorf("event %d is %v", i+1, event)
		}
		entries += len(updates)
	}
	created.Range(func(id, _ any) bool {
		event, _ := p.app("GET", "/app/events/"+id.(string), "", 200)
		if _, was := closed.Load(id); was && event.Event.Status != "resolved" {
			t.Errorf("event %s is %s", id, event.Event.Status)
		}
		return true
	})
	apitest.Eventually(t, "the rows follow, and every change is published", func() bool {
		updates := p.must(200, "", "GET", "/api/v1/event/update/?limit=1", "")["meta"].(map[string]any)["total_count"]
		links := p.must(200, "", "GET", "/api/v1/event/service/?limit=1", "")["meta"].(map[string]any)["total_count"]
		return updates == float64(entries) && links == float64(len(list)) && len(heard.changes()) == entries
	})
}

// attemptApp posts to a service that may die. It returns false if there was no response.
func (p *platform) attemptApp(path, body string) (out appEvent, ok bool) {
	request, err := http.NewRequest("POST", p.url+path, strings.NewReader(body))
	if err != nil {
		return out, false
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, passport.Header: {p.token("app event a")}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return out, false
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return out, false
	}
	if response.StatusCode != 201 {
		p.t.Errorf("POST %s returned %d", path, response.StatusCode)
		return out, false
	}
	return out, true
}
