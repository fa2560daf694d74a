package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// past creates an incident on the components that ended, days ago and for some hours.
func (p *platform) past(components []string, days, hours int, impact string) string {
	p.t.Helper()
	from := p.now().AddDate(0, 0, -days)
	affected := []map[string]string{}
	for _, id := range components {
		affected = append(affected, map[string]string{"componentId": id, "impact": impact})
	}
	body, err := json.Marshal(map[string]any{
		"type": "incident", "status": "resolved", "title": fmt.Sprintf("%d days ago", days), "affectedComponents": affected,
		"startAt": from.Format(time.RFC3339), "endAt": from.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return created("event", p.must(201, "app admin a", "POST", "/app/events", string(body)))
}

// TestTheEndOfADayIsSpread checks that the scheduler does not render all pages at the end of a day, because an installation
// with 50,000 of them would need minutes for that. A visitor gets the new day at once.
func TestTheEndOfADayIsSpread(t *testing.T) {
	const most = 6 * time.Hour
	p := start(t, startBroker(t))
	records := p.records()
	dashboards := []string{dashA}
	for n := range 20 {
		dashboards = append(dashboards, created("dashboard", p.must(201, "app admin a", "POST", "/app/dashboards", fmt.Sprintf(`{"name": "Client %d"}`, n))))
	}
	p.ahead.Store(int64(time.Until(time.Date(2040, 3, 28, 12, 0, 0, 0, time.UTC))))
	night := time.Date(2040, 3, 29, 0, 0, 0, 0, time.UTC)
	first, last := time.Time{}, time.Time{}
	for _, id := range dashboards {
		apitest.Eventually(t, "the page has the day", func() bool {
			page, err := records.Pages.Get(t.Context(), id)
			if err != nil || page.DayEndsAt == nil || !page.DayEndsAt.Equal(night) {
				return false
			}
			if page.ExpiresAt.Before(night) || page.ExpiresAt.After(night.Add(most)) {
				t.Errorf("the scheduler renders the page at %s", page.ExpiresAt)
			}
			if first.IsZero() || page.ExpiresAt.Before(first) {
				first = *page.ExpiresAt
			}
			if page.ExpiresAt.After(last) {
				last = *page.ExpiresAt
			}
			return true
		})
	}
	if last.Sub(first) < most/4 { // 21 random times
		t.Errorf("the scheduler renders all pages between %s and %s", first, last)
	}
	p.ahead.Store(int64(time.Until(night.Add(time.Second))))
	// If the rendering is slow, the first visitors get the former day. The scheduler would render hours later.
	apitest.Eventually(t, "after the end of the day, a visitor gets the new day", func() bool { return !p.snapshot(records).At.Before(night) })
	p.ahead.Store(int64(time.Until(night.Add(most))))
	for _, id := range dashboards {
		apitest.Eventually(t, "each page is rendered without a visitor", func() bool {
			page, err := records.Pages.Get(t.Context(), id)
			return err == nil && page.DayEndsAt != nil && page.DayEndsAt.After(night)
		})
	}
}

// TestAClockThatIsBehindHidesNoEvent makes an incident by a clock that is ahead, and then another one by a clock that is behind.
func TestAClockThatIsBehindHidesNoEvent(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api, other := p.component("API"), p.component("Mail")
	p.ahead.Store(int64(10 * time.Second))
	p.incident(api, "")
	p.ahead.Store(0)
	p.incident(other, "")
	down := 0
	for _, component := range p.snapshot(records).Components {
		if component.State == catalog.MajorOutage {
			down++
		}
	}
	if down != 2 {
		t.Errorf("the page shows %d components with an outage, not 2", down)
	}
}

// hindered is a collection whose writes call before first.
type hindered[T any] struct {
	find.Collection[T]
	before func() error
}

func (h hindered[T]) Upsert(ctx context.Context, key string, change func(*T, bool) ([]topic.Message, error)) (item T, err error) {
	if err := h.before(); err != nil {
		return item, err
	}
	return h.Collection.Upsert(ctx, key, change)
}

// unstored is a collection whose inserts fail with refused, or do not end before their context.
type unstored[T any] struct {
	find.Collection[T]
	refused error
}

func (u unstored[T]) Insert(ctx context.Context, _ T, _ ...topic.Message) error {
	if u.refused == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return u.refused
}

// TestAFileThatCannotBeStoredIsShown requests a file that nobody has requested before, while the database refuses writes or does
// not respond to them.
func TestAFileThatCannotBeStoredIsShown(t *testing.T) {
	for name, refused := range map[string]error{"refused": fault.New(fault.Unavailable, "The database refuses writes."), "without a response": nil} {
		t.Run(name, func(t *testing.T) {
			p, _ := startCounted(t, func(s *store.Store) { s.Files = unstored[edition.StoredFile]{s.Files, refused} })
			response := p.file(p.edition().ID, "history", "identity")
			if body, err := io.ReadAll(response.Body); response.StatusCode != 200 || err != nil || len(body) == 0 {
				t.Errorf("the file: %d %s %v", response.StatusCode, body, err)
			}
		})
	}
}

// TestYesterdaysPageIsBetterThanNone checks what visitors get after the end of a day while the database refuses writes or does
// not respond to them. After a failure, the next requests do not try again for some seconds.
func TestYesterdaysPageIsBetterThanNone(t *testing.T) {
	for name, hinder := range map[string]func(over <-chan struct{}) error{
		"refuses":             func(<-chan struct{}) error { return fault.New(fault.Unavailable, "The database refuses writes.") },
		"does not respond to": func(over <-chan struct{}) error { <-over; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var hinders atomic.Bool
			var tries atomic.Int64
			over := make(chan struct{})
			p, _ := startCounted(t, func(s *store.Store) {
				s.Pages = hindered[edition.PublishedPage]{s.Pages, func() error {
					if tries.Add(1); hinders.Load() {
						return hinder(over)
					}
					return nil
				}}
			})
			yesterday := p.edition()
			p.freeze(p.now().Add(24 * time.Hour)) // the pause after a failure does not end
			hinders.Store(true)
			before := tries.Load()
			for range 3 {
				if got := p.edition(); got.ID != yesterday.ID {
					t.Errorf("while the database %s writes, the edition is %s instead of %s", name, got.ID, yesterday.ID)
				}
			}
			if made := tries.Load() - before; made != 1 {
				t.Errorf("three requests tried to render %d times", made)
			}
			hinders.Store(false)
			close(over)
			p.ahead.Add(int64(time.Minute))
			apitest.Eventually(t, "the edition of today", func() bool { return p.edition().ID != yesterday.ID })
		})
	}
}

// TestDaysFollowWrites checks that the days that editions keep from each other are those that all events make, after
// random writes of events of any age. A new time zone makes the service read all events again.
func TestDaysFollowWrites(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	components := []string{p.component("API"), p.component("Mail"), p.component("Web")}
	p.ahead.Add(int64(400 * 24 * time.Hour)) // the components exist for longer than the days
	random := rand.New(rand.NewPCG(1, 2))
	impacts := []string{"major_outage", "partial_outage", "degraded_performance", "operational"}
	var events []string
	for range 40 {
		events = append(events, p.past(components[:1+random.IntN(3)], 1+random.IntN(390), 1+random.IntN(90), impacts[random.IntN(4)]))
	}
	p.past(components, 45, 5, "major_outage") // so that no uptime is 100
	open := p.incident(components[0], fmt.Sprintf(`, "startAt": %q`, p.now().AddDate(0, 0, -120).Format(time.RFC3339)))
	for i, id := range events {
		path := "/app/events/" + id
		switch i % 8 {
		case 0:
			p.must(204, "app admin a", "DELETE", path, "")
		case 1:
			p.must(200, "app admin a", "PATCH", path, `{"hiddenFromDashboard": true}`)
		case 2:
			p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q, "impact": "partial_outage"}]}`, components[2]))
		case 3:
			p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"endAt": %q}`, p.now().Add(-time.Hour).Format(time.RFC3339)))
		case 4:
			p.must(200, "app admin a", "PATCH", path, `{"title": "Only another title"}`)
		case 5:
			p.must(200, "app admin a", "PATCH", path, `{"hiddenFromUptimeReports": true}`)
		}
	}
	p.must(201, "app admin a", "POST", "/app/events/"+open+"/timeline", `{"message": "Over.", "status": "resolved"}`)
	p.must(200, "app admin a", "PATCH", "/app/components/"+components[1], `{"hidden": true}`)
	p.must(200, "app admin a", "PATCH", "/app/components/"+components[1], `{"hidden": false}`)
	followed := p.snapshot(records)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Asia/Tokyo"}`)
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "UTC"}`)
	read := p.snapshot(records)
	today := p.now().Format(time.DateOnly)
	for i := range read.Components {
		got, want := past(followed.Components[i].Days, today), past(read.Components[i].Days, today)
		if len(want) < 5 || !same(got, want) {
			t.Errorf("%s has the days %+v, want %+v", read.Components[i].Name, got, want)
		}
		if got, want := *followed.Components[i].Uptime, *read.Components[i].Uptime; got-want > 0.01 || want-got > 0.01 || want == 100 {
			t.Errorf("%s has the uptime %v, want %v", read.Components[i].Name, got, want)
		}
	}
	if !same(followed.Events, read.Events) || !same(followed.Months, read.Months) || len(read.Months) < 13 || len(read.Events) < 5 {
		t.Errorf("the months %v and %d events, want %v and %d", followed.Months, len(followed.Events), read.Months, len(read.Events))
	}
}

// TestComponentIsMeasuredFromItsStart checks that the days and the uptime of a component follow its startAt.
func TestComponentIsMeasuredFromItsStart(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	ago := func(days int) string { return p.now().AddDate(0, 0, -days).Format(time.RFC3339) }
	api := created("component", p.must(201, "app admin a", "POST", "/app/components", fmt.Sprintf(`{"name": "API", "startAt": %q}`, ago(60))))
	p.past([]string{api}, 50, 24, "major_outage")
	p.past([]string{api}, 200, 24, "major_outage")
	expect := func(when string, days, months int, uptime float64) {
		t.Helper()
		snapshot := p.snapshot(records)
		got := snapshot.Components[0]
		measured := 100.0 // if the component began to exist in this second
		if got.Uptime != nil {
			measured = *got.Uptime
		}
		if len(got.Days) != days || math.Abs(measured-uptime) > 0.05 || len(snapshot.Months) < months {
			t.Errorf("%s: %d days, %.3f %%, months %v", when, len(got.Days), measured, snapshot.Months)
		}
	}
	// An outage of 24 h is on two dates unless it begins at midnight.
	days := 2
	if now := p.now(); now.Hour() == 0 && now.Minute() == 0 {
		days = 1
	}
	expect("since 60 days", days, 2, 100*59/60.)
	p.must(200, "app admin a", "PATCH", "/app/components/"+api, fmt.Sprintf(`{"startAt": %q}`, ago(300)))
	expect("since 300 days", 2*days, 9, 100*89/90.)
	p.must(200, "app admin a", "PATCH", "/app/components/"+api, fmt.Sprintf(`{"startAt": %q}`, ago(10)))
	expect("since 10 days", 0, 1, 100)
	p.must(200, "app admin a", "PATCH", "/app/components/"+api, `{"startAt": null}`)
	expect("since the creation", 0, 1, 100)
}

// past returns the days before today.
func past(days []uptime.AffectedDay, today string) (out []uptime.AffectedDay) {
	for _, d := range days {
		if d.Date < today {
			out = append(out, d)
		}
	}
	return out
}

func same(a, b any) bool {
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	return string(first) == string(second)
}

// TestEditionsOfTwoProcesses checks that each response finds its change in the edition, with many clients that write
// to two processes, and that in the end the edition has all changes.
func TestEditionsOfTwoProcesses(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	first := p.url
	p.run()
	second := p.in(t)
	second.url, p.url = p.url, first
	api := p.component("API")
	const clients, each = 6, 5
	var group sync.WaitGroup
	for client := range clients {
		mine, other := p, second
		if client%2 == 1 {
			mine, other = second, p
		}
		group.Go(func() {
			for i := range each {
				id := mine.incident(api, "")
				title := fmt.Sprintf("%d %d", client, i)
				other.must(200, "app admin a", "PATCH", "/app/events/"+id, fmt.Sprintf(`{"title": %q}`, title))
				found := false
				for _, event := range mine.snapshot(records).Events {
					found = found || event.ID == id && event.Title == title
				}
				if !found {
					t.Errorf("%s is not in the edition", title)
				}
			}
		})
	}
	group.Wait()
	if got := len(p.snapshot(records).Events); got != clients*each {
		t.Errorf("%d events are in the edition, want %d", got, clients*each)
	}
	before := p.edition().Number
	p.ahead.Add(int64(time.Minute)) // the uptime changes: one of the processes makes an edition
	apitest.Eventually(t, "the next edition", func() bool { return p.edition().Number > before })
	p.ahead.Add(int64(time.Minute))
	apitest.Eventually(t, "the second edition", func() bool { return p.edition().Number > before+1 })
	if after := p.edition().Number; after != before+2 {
		t.Errorf("two minutes made the editions %d to %d", before, after)
	}
}

// TestEditionAfterAKill checks that after kills at random moments of writes no change with a response is lost, and that
// the next process makes the edition show the stored event.
func TestEditionAfterAKill(t *testing.T) {
	p := start(t, startBroker(t))
	api := p.component("API")
	event := p.incident(api, "")
	p.stop()
	written := 0
	for round := range 5 {
		kill := p.spawn()
		goal := written + 3 + 2*round
		for status := 200; status == 200; {
			status = p.attemptAs("app admin a", "PATCH", "/app/events/"+event, fmt.Sprintf(`{"title": "Title %d"}`, written+1))
			if status == 200 {
				if written++; written == goal {
					go kill() // during the next write
				}
			}
		}
		kill()
	}
	p.run()
	records := p.records()
	apitest.Eventually(t, "the edition has the last title", func() bool {
		title := p.must(200, "app admin a", "GET", "/app/events/"+event, "")["event"].(map[string]any)["title"]
		var n int
		if _, err := fmt.Sscanf(title.(string), "Title %d", &n); err != nil || n < written {
			t.Errorf("the title is %v after %d responses", title, written)
		}
		return p.snapshot(records).Events[0].Title == title
	})
}
