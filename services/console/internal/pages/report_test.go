package pages

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

const reports = "/console/reports/uptime"

// monthReport returns the report of a month about one component, with the seconds of major and partial outage.
func monthReport(month, name, percent string, major, partial, measured int64) answer {
	return answer{200, fmt.Sprintf(`{"report": {"month": %q, "timezone": "Europe/Berlin", "rangeStart": "%s-01T00:00:00.000Z", "rangeEnd": "%s-28T00:00:00.000Z", "partial": false, "overallUptimePercent": %s,
		"components": [{"componentId": %q, "name": %q, "uptimePercent": %s, "downtimeSeconds": %d, "majorOutageSeconds": %d, "partialOutageSeconds": %d, "degradedSeconds": 0, "maintenanceSeconds": 0, "measuredSeconds": %d,
		"days": [], "eventIds": []}], "partialOutageWeight": 0.3, "formula": "the formula"}}`, month, month, month, percent, other, name, percent, major+partial, major, partial, measured), false}
}

// A page of the console has at most 12 KiB. This one has 120 components with 31 days each, and every third has an outage.
func TestAReportOfAMonthWithManyComponentsIsSmall(t *testing.T) {
	var components []string
	for i := range 120 {
		var days []string
		down := map[bool]int{true: 60 + i*13}[i%3 == 0]
		for day := 1; day <= 31; day++ {
			percent, worst := "100", "operational"
			if down > 0 && day == 1+i%31 {
				percent, worst = fmt.Sprintf("99.%06d", i*7919), "partial_outage"
			}
			days = append(days, fmt.Sprintf(`{"date": "2026-01-%02d", "uptimePercent": %s, "worstStatus": %q}`, day, percent, worst))
		}
		components = append(components, fmt.Sprintf(`{"componentId": %q, "name": "Component %d", "uptimePercent": %v, "downtimeSeconds": %d, "majorOutageSeconds": 0, "partialOutageSeconds": %d,
			"measuredSeconds": 2678400, "days": [%s], "eventIds": []}`, uuid.NewSHA1(uuid.Nil, []byte{byte(i)}), i, 100-float64(down)/26784, down, down, strings.Join(days, ",")))
	}
	b := open(t, "Checkout")
	b.app.answer("GET /app/reports/uptime", answer{200, `{"report": {"month": "2026-01", "timezone": "UTC", "overallUptimePercent": 99.9, "components": [` + strings.Join(components, ",") + `]}}`, false})
	got := b.get(reports + "?month=2026-01")
	if b.expect(got, http.StatusOK, "Component 119"); strings.Count(got.text, `<use href="#sign-`) != 120*31 || got.size > 12<<10 {
		t.Errorf("the page has %d bytes", got.size)
	}
}

func TestAReportBeginsWithTheYear1(t *testing.T) {
	b := open(t, "Checkout")
	for query, problem := range map[string]string{"month=0000-01": "Month must not be before the year 1.", "year=0000": "Year must not be before the year 1.", "month=-001-01": "Enter a month as year-month"} {
		got := b.get(reports + "?" + query)
		if b.expect(got, http.StatusUnprocessableEntity, problem); strings.Contains(got.text, "before</a>") || strings.Contains(got.text, "=0000") || strings.Contains(got.text, "=-0") {
			t.Errorf("%s leads to another period: %s", query, got.text)
		}
	}
	for _, query := range []string{"month=0001-01", "year=0001"} {
		got := b.get(reports + "?" + query)
		if b.expect(got, http.StatusOK, "after"); strings.Contains(got.text, "before</a>") || strings.Contains(got.text, "=0000") {
			t.Errorf("%s leads before the year 1: %s", query, got.text)
		}
	}
}

func TestAReportOfAMonthShowsTheFiguresOfTheAppInterface(t *testing.T) {
	b := open(t, "Checkout")
	got := b.get(reports + "?dashboard=" + other + "&month=2026-01")
	b.expect(got, http.StatusOK, "<title>Uptime of Checkout, January 2026 · Bellbuoy</title>", `<p class="value">99.993729 %</p>`, "2 min 48 s", "31 d", `<li>1<svg class="i n" role="img"><title>not measured</title>`, `<li>2<svg class="i x" role="img"><title>99.8 %, major outage</title>`,
		`href="/console/events/`+other+`"><bdi>Checkout`, `href="/console/events/`+member+`">An event`, "1 - (major &#43; 0.3 * partial)", "In the uptime, a second of a partial outage counts as 0.3 seconds of an outage. The downtime above counts it in full.", "Not over yet", "1 February 2026, 00:00:00 CET to 1 February 2026, 10:30:00 CET",
		"month=2025-12", "month=2026-02", "year=2026", `href="/console/reports/uptime/csv?dashboard=`+other+`&amp;month=2026-01"`)
	if sent := b.app.queries("GET /app/reports/uptime"); !slices.Equal(sent, []string{"dashboardId=" + other + "&month=2026-01"}) {
		t.Error(sent)
	}
	if sent := b.app.queries("GET /app/events"); len(sent) != reportPages || !strings.Contains(sent[0], "from=2026-01-31T23%3A00%3A00.000Z") || !strings.Contains(sent[0], "dashboardId="+other) {
		t.Error(sent)
	}
	if now := b.get(reports); !strings.Contains(now.text, `value="2026-02"`) || strings.Contains(now.text, "month=2026-03") {
		t.Error("the present month is not the usual one, or the page leads to the future")
	}
	b.get(reports + "?dashboard=" + other + "&component=" + member + "&month=2026-01")
	if sent := b.app.queries("GET /app/reports/uptime"); sent[len(sent)-1] != "componentId="+member+"&month=2026-01" {
		t.Error(sent)
	}
	elsewhere := "?dashboard=" + other + "&component=" + session + "&month=2026-01"
	b.expect(b.get(reports+elsewhere), http.StatusOK, "The component is not on this dashboard. The report is about the whole dashboard.")
	b.expect(b.get(reports+"/csv"+elsewhere), http.StatusNotFound)
	b.app.answer("GET /app/events", answer{503, `{}`, false})
	b.expect(b.get(reports), http.StatusOK, "The titles of the events cannot be shown right now.", "99.993729 %", `">An event`)
}

func TestAMonthWithoutMeasurementReadsNotMeasured(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/reports/uptime", monthReport("2020-02", "Checkout", "null", 0, 0, 0))
	b.expect(b.get(reports+"?month=2020-02"), http.StatusOK, `<p class="value soft">not measured</p>`, "0 s")
	if file := b.get(reports + "/csv?month=2020-02"); !strings.Contains(file.text, other+",not measured,0,0,0,0,0,0\r\n") {
		t.Error(file.text)
	}
	b.app.change(func(s *service) { s.empty = true })
	b.app.forget("GET /app/reports/uptime")
	b.expect(b.get(reports), http.StatusOK, "There is no dashboard yet", "/console/dashboards/new")
}

func TestAYearIsComputedFromTheSecondsOfItsMonths(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/reports/uptime", monthReport("2026-01", "Checkout", "90", 100, 100, 1000))
	got := b.get(reports + "?year=2026")
	// Two months: 1 - (200 + 0.3 * 200) / 2000.
	b.expect(got, http.StatusOK, `<p class="value">87 %</p>`, "January", "not begun", "3 min 20 s", `/console/reports/uptime?dashboard=`+other+`&amp;month=2026-02`, "Year before")
	if sent := b.app.queries("GET /app/reports/uptime"); len(sent) != 2 || strings.Contains(got.text, "Year after") {
		t.Errorf("months of the future are read: %v", sent)
	}
	b.get(reports + "?year=2025")
	if sent := b.app.queries("GET /app/reports/uptime"); len(sent) != 14 {
		t.Error(sent)
	}
	b.app.answer("GET /app/reports/uptime", answer{503, `{}`, false})
	b.expect(b.get(reports+"?year=2026"), http.StatusServiceUnavailable, "events, components and dashboards")
}

// The App interface cuts the percentage off after six decimals, and computes with whole nanoseconds.
func TestTheUptimeOfAYearIsCutOffAfterSixDecimals(t *testing.T) {
	for _, row := range []struct {
		major, partial, maintenance, measured int64
		weight                                float64
		want                                  string
	}{
		{0, 0, 0, 0, 0.3, notMeasured}, {0, 0, 60, 60, 0.3, notMeasured}, {0, 0, 0, 31_536_000, 0.3, "100 %"}, {1, 0, 0, 31_536_000, 0.3, "99.999996 %"}, {0, 1, 0, 31_536_000 * 1000, 1e-12, "99.999999 %"},
		{168, 0, 0, 2_678_400, 0.3, "99.993727 %"}, {0, 0, 3600, 7200, 0.3, "100 %"}, {7200, 0, 0, 7200, 0.3, "0 %"}, {0, 7200, 0, 7200, 0.55, "45 %"}, {0, 31_536_000 * 1000, 0, 31_536_000 * 1000, 0, "100 %"},
	} {
		f := figures{Seconds: app.Seconds{Major: row.major, Partial: row.partial, Maintenance: row.maintenance, Measured: row.measured}}
		if f.compute(row.weight); f.Uptime() != row.want {
			t.Errorf("%+v: %s", row, f.Uptime())
		}
	}
	for seconds, want := range map[int64]string{0: "0 s", 59: "59 s", 3600: "1 h", 90061: "1 d 1 h 1 min 1 s", 86400 * 36500: "36,500 d"} {
		if got := longTime(seconds); got != want {
			t.Errorf("%d s: %s", seconds, got)
		}
	}
}

func TestACSVFileIsPlainDataForPrograms(t *testing.T) {
	for name, want := range map[string]string{"=1+1": "'=1+1", " @x": "' @x", "-a": "'-a", "+b": "'+b", "\tc": "'\tc", `Che"ck, out`: `Che"ck, out`, "": "", "Ä": "Ä"} {
		b := open(t, "Checkout")
		b.app.answer("GET /app/reports/uptime", monthReport("2026-01", name, "99.5", 5, 0, 1000))
		got := b.get(reports + "/csv?dashboard=" + other + "&month=2026-01")
		b.expect(got, http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(got.text)).ReadAll()
		if err != nil || len(rows) != 3 || rows[0][0] != "\ufeffperiod" || strings.Count(got.text, "\r\n") != 3 {
			t.Fatal(err, got.text)
		}
		if !slices.Equal(rows[1], []string{"2026-01", want, other, "99.500000", "5", "5", "0", "0", "0", "1000"}) || !slices.Equal(rows[2][1:4], []string{"", "", "99.500000"}) {
			t.Error(rows)
		}
		if file := got.header.Get("Content-Disposition"); file != "attachment; filename=uptime-acme-2026-01.csv" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/csv") {
			t.Error(file, got.header.Get("Content-Type"))
		}
	}
	if name := fileName("uptime", "../Ä\r\n\"x", "2026"); name != "uptime-x-2026" {
		t.Error(name)
	}
	b := open(t, "Checkout")
	b.app.answer("GET /app/reports/uptime", monthReport("2026-01", "Checkout", "90", 100, 100, 1000))
	if rows, err := csv.NewReader(strings.NewReader(b.get(reports + "/csv?year=2026").text)).ReadAll(); err != nil || len(rows) != 1+2*2+2 || rows[6][0] != "2026" || rows[6][3] != "87.000000" || rows[5][4] != "400" {
		t.Error(rows, err)
	}
}

func TestAReportNeedsThePlanTheRoleAndARightAddress(t *testing.T) {
	b := open(t, "Checkout")
	b.expect(b.get(reports+"?month=soon"), http.StatusUnprocessableEntity, "Enter a month as year-month", `href="#month"`)
	b.expect(b.get(reports+"?month=2026-03"), http.StatusUnprocessableEntity, "Month must not be in the future.", `value="2026-03"`)
	b.expect(b.get(reports+"?year=26"), http.StatusUnprocessableEntity, "Enter a year", `value="26"`)
	b.expect(b.get(reports+"/csv?year=2027"), http.StatusUnprocessableEntity, "Year must not be in the future.")
	b.app.answer("GET /app/reports/uptime", answer{404, `{"error": "There is no such component."}`, false})
	b.expect(b.get(reports+"?component="+url.QueryEscape("x y")), http.StatusNotFound, "Page not found")
	b.app.answer("GET /app/reports/uptime", answer{400, `{"error": "componentId: must be a UUID"}`, false})
	b.expect(b.get(reports+"?component=x"), http.StatusNotFound, "Page not found")
	b.app.answer("GET /app/reports/uptime", answer{400, `{"error": "month: must not be in the future"}`, false})
	b.expect(b.get(reports+"?month="+time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).Format(monthForm)), http.StatusUnprocessableEntity, "Month must not be in the future.")
	b.app.answer("GET /app/dashboards/x", answer{400, `{"error": "id: must be a UUID"}`, false})
	b.expect(b.get(reports+"?dashboard=x"), http.StatusNotFound, "Page not found")
	b.member.Features.UptimeReports = false
	for _, path := range []string{reports, reports + "/csv"} {
		b.expect(b.get(path), http.StatusForbidden, "The plan of your organization does not include uptime reports.")
	}
	if got := b.get("/console/"); strings.Contains(got.text, reports) {
		t.Error("the navigation leads to a page that the plan excludes")
	}
}
