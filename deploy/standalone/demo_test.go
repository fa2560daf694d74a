package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
)

// demoFile contains the parts of demo.json from which the test computes the expected number of records.
type demoFile struct {
	Showcase struct {
		Components []struct{ Name string }
		Events     []struct {
			ExternalID, Type, Title string
			Timeline                []struct{ Status, Message string }
			PostMortem              *struct{ Summary string }
		}
	}
}

type demoEvent struct {
	ID, ExternalID, Type, Status, Severity string
	Backfilled                             bool
	Timeline                               []struct {
		Status, Message string
		Notified        bool
	}
	PostMortem *struct{ Summary string }
}

// expectDemo checks that the platform has each record of demo.json once, and nothing else.
func expectDemo(t *testing.T, base string, c credentials) {
	t.Helper()
	var want demoFile
	readJSON(t, "demo.json", &want)
	var components struct{ Components []struct{ Name string } }
	send(t, http.MethodGet, base+"/app/components?limit=100", c.app(), nil).expect(t, http.StatusOK).into(t, &components)
	if n := len(want.Showcase.Components) + 3; len(components.Components) != n {
		t.Errorf("there are %d components, want %d: %v", len(components.Components), n, components.Components)
	}
	var dashboards struct {
		Dashboards []struct {
			Slug       string
			Components []any
		}
	}
	send(t, http.MethodGet, base+"/app/dashboards", c.app(), nil).expect(t, http.StatusOK).into(t, &dashboards)
	if d := dashboards.Dashboards; len(d) != 2 || len(d[0].Components) != 3 || d[1].Slug != "demo" || len(d[1].Components) != len(want.Showcase.Components) {
		t.Errorf("the dashboards are %v", d)
	}
	var list struct{ Events []demoEvent }
	send(t, http.MethodGet, base+"/app/events?limit=100", c.app(), nil).expect(t, http.StatusOK).into(t, &list)
	if len(list.Events) != len(want.Showcase.Events) {
		t.Errorf("there are %d events, want %d", len(list.Events), len(want.Showcase.Events))
	}
	for _, event := range want.Showcase.Events {
		i := slices.IndexFunc(list.Events, func(e demoEvent) bool { return e.ExternalID == event.ExternalID })
		if i < 0 {
			t.Errorf("there is no event %s", event.ExternalID)
			continue
		}
		var is struct{ Event demoEvent }
		send(t, http.MethodGet, base+"/app/events/"+list.Events[i].ID, c.app(), nil).expect(t, http.StatusOK).into(t, &is)
		slices.Reverse(is.Event.Timeline)
		if len(is.Event.Timeline) != len(event.Timeline) || (is.Event.PostMortem == nil) != (event.PostMortem == nil) ||
			is.Event.Backfilled != (len(event.Timeline) == 1) {
			t.Errorf("%s: %+v", event.ExternalID, is.Event)
			continue
		}
		for j, entry := range event.Timeline {
			if got := is.Event.Timeline[j]; got.Status != entry.Status || got.Message != entry.Message || got.Notified {
				t.Errorf("%s has the entry %+v, want %+v without a notification", event.ExternalID, got, entry)
			}
		}
		if n := len(event.Timeline); n > 0 && is.Event.Status != event.Timeline[n-1].Status {
			t.Errorf("%s is %s", event.ExternalID, is.Event.Status)
		}
	}
}

func expectOneOrganization(t *testing.T, base string, c credentials) {
	t.Helper()
	var organizations struct{ Organizations []any }
	send(t, http.MethodGet, base+"/operator/v1/organizations", c.operator(), nil).expect(t, http.StatusOK).into(t, &organizations)
	if len(organizations.Organizations) != 1 {
		t.Errorf("there are %d organizations", len(organizations.Organizations))
	}
}

func TestTheDemoSeedIsCreatedOnce(t *testing.T) {
	t.Parallel()
	p, base := started(t, "BELLBUOY_SEED=demo")
	c := seeded(t, p)
	expectDemo(t, base, c)
	expectOneOrganization(t, base, c)
	eventually(t, 30*time.Second, "the address on the terminal", func() error {
		if !strings.Contains(p.output(), base+"/d/demo/\n") {
			return fmt.Errorf("not among %q", p.output())
		}
		return nil
	})

	l := looker{t: t, base: base}
	html := string(l.visit("GET", "/d/demo/", nil).expect(t, http.StatusOK).body)
	for _, part := range []string{
		"Fernwell", "How to move to version 2", "Slow search results", "Reports move to a larger database", "New certificates for the APIs",
		"Some card payments fail", "Under maintenance", "Degraded performance", "100.00% uptime", "99.9",
	} {
		if !strings.Contains(html, part) {
			t.Errorf("the page does not show %q", part)
		}
	}
	if next, later := strings.Index(html, "New certificates for the APIs"), strings.Index(html, "More storage for images"); later < next {
		t.Error("the page shows a later maintenance before the next one")
	}
	var summary struct {
		Status                           struct{ Indicator string }
		Incidents, ScheduledMaintenances []any
	}
	l.visit("GET", "/d/demo/api/v2/summary.json", nil).expect(t, http.StatusOK).into(t, &summary)
	if summary.Status.Indicator != "minor" || len(summary.Incidents) != 1 {
		t.Errorf("the summary is %+v", summary)
	}
	var demo struct{ Dashboards []struct{ ID, Slug string } }
	send(t, http.MethodGet, base+"/app/dashboards", c.app(), nil).into(t, &demo)
	var worst float64 = 100
	for month := range 4 {
		var report struct {
			Report struct {
				Components []struct {
					Name            string
					UptimePercent   *float64
					MeasuredSeconds int64
				}
			}
		}
		first := time.Date(time.Now().UTC().Year(), time.Now().UTC().Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, -month, 0)
		send(t, http.MethodGet, base+"/app/reports/uptime?month="+first.Format("2006-01")+"&dashboardId="+demo.Dashboards[1].ID, c.app(), nil).
			expect(t, http.StatusOK).into(t, &report)
		for _, component := range report.Report.Components {
			if month > 0 && component.MeasuredSeconds < 27*24*3600 || component.UptimePercent == nil || *component.UptimePercent < 95 {
				t.Errorf("%s: %+v", first.Format("2006-01"), component)
				continue
			}
			worst = min(worst, *component.UptimePercent)
		}
	}
	if worst > 99.99 {
		t.Errorf("the worst uptime is %v", worst)
	}

	// The next start changes nothing.
	p.stop()
	p.start()
	eventually(t, 30*time.Second, "ready again", ready(base))
	expectDemo(t, base, c)
}

func TestDemoSeedKilledAtAnyMomentIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	redis := apitest.FreeAddress(t)
	for _, test := range []struct {
		name  string
		kills int
		env   []string
	}{{"embedded", 3, nil}, {"Redis keeps the keys of killed requests", 1, []string{"REDIS_URL=redis://" + redis + "/0"}}} {
		t.Run(test.name, func(t *testing.T) {
			if test.env != nil {
				server, err := engines.StartRedis(redis)
				if err != nil {
					t.Fatal(err)
				}
				defer server.Close()
			}
			p, base := standalone(t, append(test.env, "BELLBUOY_SEED=demo")...)
			p.start()
			for kills := 0; kills < test.kills; {
				created := strings.Count(p.output(), `"method":"POST"`)
				eventually(t, 60*time.Second, "more records", func() error {
					if n := strings.Count(p.output(), `"method":"POST"`); n < created+29 && ready(base)() != nil {
						return fmt.Errorf("%d requests", n)
					}
					return nil
				})
				if ready(base)() == nil {
					break
				}
				kills++
				p.kill()
				p.start()
			}
			eventually(t, 120*time.Second, "ready", ready(base))
			c := seeded(t, p)
			expectDemo(t, base, c)
			expectOneOrganization(t, base, c)
		})
	}
}
