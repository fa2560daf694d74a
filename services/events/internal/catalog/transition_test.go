package catalog

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// contract is the table of the contract, one transition a word: from>to by the timeline, and from^to by a reopen.
const contract = `
	investigating>identified investigating>monitoring investigating>resolved
	identified>investigating identified>monitoring identified>resolved
	monitoring>investigating monitoring>identified monitoring>resolved
	resolved^investigating resolved^identified resolved^monitoring
	planning>started planning>inprogress planning>completed
	started>inprogress started>verifying started>completed
	inprogress>verifying inprogress>completed
	verifying>inprogress verifying>completed
	completed^inprogress`

func statusesOf(t EventType) []Status {
	if t == Incident {
		return []Status{Investigating, Identified, Monitoring, Resolved}
	}
	return []Status{Planning, Started, InProgress, Verifying, Completed}
}

// newDraft returns a draft of a stored event of an hour ago.
func newDraft(t EventType, status Status, now time.Time) *EventEdit {
	start := now.Add(-time.Hour)
	event := &Event{
		Type: t, Status: status, StartAt: start, Version: 1, Timeline: []Entry{}, Links: []Link{{LegacyID: 1, ComponentID: "c"}},
	}
	if status.Closed() {
		event.EndAt = &now
	}
	if t == Maintenance {
		event.ScheduledStartAt, event.ScheduledEndAt = new(start), new(now.Add(time.Hour))
	}
	return NewEventEdit(event, Command{}, now)
}

// TestStatusesChangeByTheTableOnly walks at random through timelines and reopens. It checks that a step is accepted exactly if the contract
// has it, and that a step that is refused leaves no trace.
func TestStatusesChangeByTheTableOnly(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	accepted, refused := map[string]bool{}, 0
	for range 400 {
		kind := []EventType{Incident, Maintenance}[random.IntN(2)]
		statuses := statusesOf(kind)
		now := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
		event := newDraft(kind, statuses[random.IntN(len(statuses))], now).Event
		for range 40 {
			now = now.Add(time.Minute)
			from, to := event.Status, statuses[random.IntN(len(statuses))]
			before := *event.clone()
			draft := NewEventEdit(event.clone(), Command{}, now)
			word, step := ">", draft.Post
			if random.IntN(2) == 0 {
				word, step = "^", draft.Reopen
			}
			word = string(from) + word + string(to)
			err := step(NewEntry{Message: "x", Status: to})
			moves := slices.Contains(strings.Fields(contract), word)
			stays := from == to && strings.Contains(word, ">")
			switch {
			case (moves || stays) != (err == nil):
				t.Fatalf("%s: %v", word, err)
			case err == nil:
				if problems := draft.Check(); problems != nil {
					t.Fatalf("%s: %v", word, problems)
				}
				draft.finish(false)
				checkStep(t, &before, draft.Event, moves, now)
				for i := range draft.Timeline {
					draft.Timeline[i].LegacyID = int64(i + 1) // as the write does
				}
				event = draft.Event
				accepted[word] = accepted[word] || moves
			case !fault.Is(err, fault.Conflict) || !reflect.DeepEqual(before, *draft.Event):
				t.Fatalf("%s: %v left %+v", word, err, draft.Event)
			default:
				refused++
			}
		}
	}
	for _, word := range strings.Fields(contract) {
		if !accepted[word] {
			t.Errorf("the walks never took %s", word)
		}
	}
	if refused == 0 {
		t.Error("the walks had no refusal")
	}
}

// checkStep checks the event and its newest entry after an accepted step.
func checkStep(t *testing.T, before, after *Event, moves bool, now time.Time) {
	t.Helper()
	entry := after.Timeline[len(after.Timeline)-1]
	previous := Status("")
	if moves {
		previous = before.Status
	}
	if entry.PreviousStatus != previous || entry.Status != after.Status || moves != (after.StatusEntry == entry.StatusID) {
		t.Fatalf("from %s to %s: the entry is %+v", before.Status, after.Status, entry)
	}
	if after.Open() != (after.EndAt == nil) {
		t.Fatalf("from %s to %s: the end is %v", before.Status, after.Status, after.EndAt)
	}
	if moves && !after.Open() && !after.EndAt.Equal(now) {
		t.Fatalf("from %s to %s: the end is %v, want %v", before.Status, after.Status, after.EndAt, now)
	}
	if started := before.Status == Planning && moves; started != !after.StartAt.Equal(before.StartAt) || started && !after.StartAt.Equal(now) {
		t.Fatalf("from %s to %s: the start is %v", before.Status, after.Status, after.StartAt)
	}
}

// TestSchedulerKeepsToTheTable checks that what the scheduler does is in the table: it starts what is planned, and
// completes what is under way.
func TestSchedulerKeepsToTheTable(t *testing.T) {
	table := transitions()[Advance]
	for _, status := range statusesOf(Maintenance) {
		switch {
		case status == Planning && !slices.Contains(table[status], Started),
			status.Underway() && !slices.Contains(table[status], Completed):
			t.Errorf("the scheduler's step from %s is not in the table", status)
		}
	}
}

// TestTimesOfMoves checks the actual times that a transition sets.
func TestTimesOfMoves(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	ago, ahead := now.Add(-30*time.Minute), now.Add(time.Hour)
	for name, c := range map[string]struct {
		status     Status
		start      time.Time
		step       func(*EventEdit) error
		from       time.Time
		to         *time.Time
		scheduled  time.Time
		startedFor *time.Time
	}{
		"started early":                      {Planning, ahead, post(Started, nil), now, nil, ahead, &ahead},
		"started late":                       {Planning, ago, post(InProgress, nil), now, nil, ago, &ago},
		"started at the time of the entry":   {Planning, ahead, post(Started, &ago), ago, nil, ahead, &ahead},
		"cancelled":                          {Planning, ahead, post(Completed, nil), now, &now, ahead, &ahead},
		"completed":                          {InProgress, ago, post(Completed, nil), ago, &now, ago, &ago},
		"completed at the time of the entry": {InProgress, now.Add(-time.Hour), post(Completed, &ago), now.Add(-time.Hour), &ago, now.Add(-time.Hour), new(now.Add(-time.Hour))},
		"reopened after it was cancelled":    {Completed, ahead, func(d *EventEdit) error { return d.Reopen(NewEntry{Message: "x"}) }, now, nil, ahead, &ahead},
		"started by the scheduler":           {Planning, ago, func(d *EventEdit) error { return d.Move(Advance, Started, ago) }, ago, nil, ago, &ago},
	} {
		draft := newDraft(Maintenance, c.status, now)
		draft.StartAt, draft.ScheduledStartAt, draft.ScheduledEndAt = c.start, new(c.start), new(c.start.Add(time.Hour))
		if err := c.step(draft); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		draft.finish(false)
		if !draft.StartAt.Equal(c.from) || !sameTime(draft.EndAt, c.to) || !draft.ScheduledStartAt.Equal(c.scheduled) || !sameTime(draft.StartedFor, c.startedFor) {
			t.Errorf("%s: from %v to %v, planned for %v, started for %v", name, draft.StartAt, draft.EndAt, draft.ScheduledStartAt, draft.StartedFor)
		}
	}
}

func post(status Status, at *time.Time) func(*EventEdit) error {
	return func(d *EventEdit) error { return d.Post(NewEntry{Message: "x", Status: status, Timestamp: at}) }
}

// TestFullTimeline checks that a full timeline is a conflict.
func TestFullTimeline(t *testing.T) {
	draft := newDraft(Incident, Identified, time.Now())
	draft.Timeline = make([]Entry, maxEntries)
	err := draft.Post(NewEntry{Message: "x", Status: Resolved})
	if !fault.Is(err, fault.Conflict) || !strings.HasPrefix(fault.As(err).Message, "The timeline has 1000 entries") {
		t.Errorf("the fault is %v", err)
	}
}

// TestLegacyTransitions checks what a write that sets the status itself makes of its entries.
func TestLegacyTransitions(t *testing.T) {
	draft := newDraft(Incident, Investigating, time.Now())
	draft.SetStatus(Monitoring)
	for _, status := range []Status{Identified, Monitoring, StatusUpdate} {
		if err := draft.AppendEntry(Entry{Status: status, Message: Rich{Text: "m"}, Timestamp: draft.Now}); err != nil {
			t.Fatal(err)
		}
	}
	draft.finish(false)
	for i, want := range []Status{"", Investigating, ""} {
		if got := draft.Timeline[i].PreviousStatus; got != want {
			t.Errorf("entry %d: the previous status is %q, want %q", i+1, got, want)
		}
	}
	set := draft.Timeline[1].StatusID
	if draft.StatusEntry != set || !fault.Is(draft.Retract(set), fault.Conflict) {
		t.Errorf("the status was set by %q, want %q", draft.StatusEntry, set)
	}
	if err := draft.EditEntry(set, func(e *Entry) { e.Status = StatusUpdate }); err != nil {
		t.Fatal(err)
	}
	if draft.StatusEntry != "" || draft.Timeline[1].PreviousStatus != "" || draft.Retract(set) != nil {
		t.Error("an entry with another status is still a transition")
	}
}
