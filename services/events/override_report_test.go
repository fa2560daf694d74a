package events_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// stateSpan is a time in which a component has a state, as the responses of the service state it.
type stateSpan struct {
	status   catalog.Impact
	from, to time.Time
}

// history collects what the responses about a component say about its states.
type history struct {
	*platform
	component string
	byHand    []stateSpan // states by hand that count, in the order in which they were set
	incidents []stateSpan
}

// at puts the clock to a time.
func (h *history) at(text string) {
	h.t.Helper()
	h.ahead.Store(int64(time.Until(h.when(text))))
}

func (h *history) when(text any) time.Time {
	h.t.Helper()
	at, err := time.Parse(time.RFC3339, fmt.Sprint(text))
	if err != nil {
		h.t.Fatal(err)
	}
	return at
}

// set sets a state by hand. If until is not empty, the state ends by itself.
func (h *history) set(status catalog.Impact, until string, counts bool) {
	h.t.Helper()
	end := "null"
	if until != "" {
		end = `"` + until + `"`
	}
	set := h.must(200, "app admin a", "PATCH", "/app/components/"+h.component, fmt.Sprintf(`{"statusOverride": {"status": %q, "until": %s, "countInUptime": %t}}`, status, end, counts))["component"].(map[string]any)
	override := set["statusOverride"].(map[string]any)
	h.ended(h.when(override["since"]))
	if !counts {
		return
	}
	span := stateSpan{status: status, from: h.when(override["since"])}
	if until != "" {
		span.to = h.when(until)
	}
	h.byHand = append(h.byHand, span)
}

// ended notes the end of the last state by hand, unless it has ended before.
func (h *history) ended(at time.Time) {
	if len(h.byHand) == 0 {
		return
	}
	if last := &h.byHand[len(h.byHand)-1]; last.to.IsZero() || at.Before(last.to) {
		last.to = at
	}
}

// clear ends the state by hand.
func (h *history) clear(body string) {
	h.t.Helper()
	set := h.must(200, "app admin a", "PATCH", "/app/components/"+h.component, `{"statusOverride": `+body+`}`)["component"].(map[string]any)
	h.ended(h.when(set["updatedAt"]))
}

// bySecond counts the seconds of a month with each state, by the day of the zone. In each second the worst state counts.
func (h *history) bySecond(month time.Time) map[string]map[catalog.Impact]int64 {
	type interval struct {
		impact   catalog.Impact
		from, to int64 // in seconds since 1970
	}
	var intervals []interval
	for _, c := range append(slices.Clone(h.byHand), h.incidents...) {
		intervals = append(intervals, interval{c.status, c.from.Unix(), c.to.Unix()})
	}
	days := map[string]map[catalog.Impact]int64{}
	for day, end := month, month.AddDate(0, 1, 0); day.Before(end); day = day.AddDate(0, 0, 1) {
		seconds := map[catalog.Impact]int64{}
		for at, next := day.Unix(), day.AddDate(0, 0, 1).Unix(); at < next; at++ {
			state := catalog.Operational
			for _, i := range intervals {
				if at >= i.from && at < i.to && i.impact.Worse(state) {
					state = i.impact
				}
			}
			seconds[state]++
		}
		days[day.Format(time.DateOnly)] = seconds
	}
	return days
}

// TestMonthlyReportsCountStatesByHandByTheSecond sets states by hand that end in each way, beside incidents, and compares
// the reports and the days of the page with a count that looks at each second. A month begins and ends within a state, and
// has a day of 23 hours.
func TestMonthlyReportsCountStatesByHandByTheSecond(t *testing.T) {
	p := start(t, startBroker(t))
	h := &history{platform: p}
	h.at("2040-02-10T00:00:00Z")
	h.component = p.component("API")
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Europe/Berlin"}`)
	past := func(impact catalog.Impact, from, to string) {
		p.must(201, "app event a", "POST", "/app/events", fmt.Sprintf(`{"type": "incident", "title": "x", "status": "resolved", "startAt": %q, "endAt": %q, "affectedComponents": [{"componentId": %q, "impact": %q}]}`, from, to, h.component, impact))
		h.incidents = append(h.incidents, stateSpan{impact, h.when(from), h.when(to)})
	}

	h.at("2040-02-28T21:00:07Z")
	h.set(catalog.Degraded, "", true)
	h.at("2040-03-02T11:11:11Z")
	h.set(catalog.MajorOutage, "", true) // ends the former state
	h.at("2040-03-03T01:02:03Z")
	h.set(catalog.PartialOutage, "2040-03-04T06:30:15Z", true) // ends by itself
	h.at("2040-03-10T00:00:00Z")
	h.set(catalog.MajorOutage, "", false) // does not count
	h.at("2040-03-12T00:00:00Z")
	h.clear("null")
	h.at("2040-03-24T20:00:00Z")
	h.set(catalog.Degraded, "2040-03-27T00:00:00Z", true)
	h.at("2040-03-26T10:00:01Z")
	past(catalog.MajorOutage, "2040-03-25T00:30:10Z", "2040-03-25T03:10:05Z") // an incident that is worse, in the night of 23 hours
	h.set(catalog.UnderMaintenance, "", true)
	h.at("2040-03-26T18:00:00Z")
	h.clear(`{"status": "operational"}`)
	h.at("2040-03-31T20:00:00Z")
	h.set(catalog.MajorOutage, "2040-12-31T00:00:00Z", true)
	event := p.incident(h.component, "")
	h.at("2040-04-02T09:00:30Z")
	closed := p.must(201, "app event a", "POST", "/app/events/"+event+"/timeline", `{"message": "x", "status": "resolved"}`)["event"].(map[string]any)
	h.incidents = append(h.incidents, stateSpan{catalog.MajorOutage, h.when(closed["startAt"]), h.when(closed["endAt"])})
	h.ended(h.when(closed["endAt"])) // the incident closes after the state began, and ends it

	h.at("2040-05-02T00:00:00Z")
	shown := map[string]map[catalog.Impact]int64{}
	snapshot := p.snapshot(p.records())
	for _, day := range snapshot.Component(h.component).Days {
		seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
		shown[day.Date] = map[catalog.Impact]int64{
			catalog.MajorOutage: seconds(day.Tally.Major), catalog.PartialOutage: seconds(day.Tally.Partial), catalog.Degraded: seconds(day.Tally.Degraded), catalog.UnderMaintenance: seconds(day.Tally.Maintenance),
		}
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, month := range []time.Month{time.March, time.April} {
		days := h.bySecond(time.Date(2040, month, 1, 0, 0, 0, 0, zone))
		report := p.must(200, "app admin uptime a", "GET", fmt.Sprintf("/app/reports/uptime?month=2040-%02d&componentId=%s", month, h.component), "")["report"].(map[string]any)
		row := report["components"].([]any)[0].(map[string]any)
		sum := map[catalog.Impact]int64{}
		for i, date := range slices.Sorted(maps.Keys(days)) {
			day := row["days"].([]any)[i].(map[string]any)
			if want := percent(days[date]); day["date"] != date || day["uptimePercent"] != want {
				t.Errorf("the report has %v, and a count by the second gives %v on %s: %v", day, want, date, days[date])
			}
			for impact, seconds := range days[date] {
				if sum[impact] += seconds; impact != catalog.Operational && shown[date][impact] != seconds {
					t.Errorf("the page has %d s of %s on %s, and a count by the second %d", shown[date][impact], impact, date, seconds)
				}
			}
		}
		for name, want := range map[string]int64{
			"majorOutageSeconds": sum[catalog.MajorOutage], "partialOutageSeconds": sum[catalog.PartialOutage], "degradedSeconds": sum[catalog.Degraded], "maintenanceSeconds": sum[catalog.UnderMaintenance],
			"downtimeSeconds": sum[catalog.MajorOutage] + sum[catalog.PartialOutage],
		} {
			if row[name] != float64(want) {
				t.Errorf("%s of %s is %v, and a count by the second gives %d", name, month, row[name], want)
			}
		}
		if want := percent(sum); row["uptimePercent"] != want || sum[catalog.MajorOutage] < 3600 {
			t.Errorf("the uptime of %s is %v, and a count by the second gives %v: %v", month, row["uptimePercent"], want, sum)
		}
	}
}

// percent returns the uptime in percent with six decimals, cut off, with the weight 0.3 of a partial outage; nil if nothing
// but maintenance was measured.
func percent(of map[catalog.Impact]int64) any {
	var counted int64
	for _, seconds := range of {
		counted += seconds
	}
	if counted -= of[catalog.UnderMaintenance]; counted == 0 {
		return nil
	}
	up := 10*(counted-of[catalog.MajorOutage]) - 3*of[catalog.PartialOutage]
	return float64(up*100*1_000_000/(10*counted)) / 1_000_000
}
