package main_test

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// uptimeReport is a report of the App interface.
type uptimeReport struct {
	Report struct {
		OverallUptimePercent *float64
		Formula              string
		PartialOutageWeight  float64
		Components           []struct {
			ComponentID, Name string
			UptimePercent     *float64
			DowntimeSeconds, MajorOutageSeconds, PartialOutageSeconds,
			DegradedSeconds, MaintenanceSeconds, MeasuredSeconds int64
			Days     []struct{ UptimePercent *float64 }
			EventIDs []string
		}
	}
}

// digits returns a percentage as the console shows it.
func digits(percent *float64) string {
	if percent == nil {
		return "not measured"
	}
	return strconv.FormatFloat(*percent, 'f', -1, 64) + " %"
}

// cell returns a percentage as the files have it.
func cell(percent *float64) string {
	if percent == nil {
		return "not measured"
	}
	return strconv.FormatFloat(*percent, 'f', 6, 64)
}

// An admin reads the reports of a month and of a year, and downloads both. Every figure is that of the App interface, and the year
// is computed from the seconds of its months. Others are refused.
func TestTheConsoleReportsTheUptimeOfTheAppInterface(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	component := func(name, since string) string {
		var made struct{ Component struct{ ID string } }
		send(t, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": name, "startAt": since}).expect(t, http.StatusCreated).into(t, &made)
		return made.Component.ID
	}
	checkout, search := component("=Checkout", "2024-01-01T00:00:00Z"), component("Search", "2024-03-10T12:00:00Z")
	send(t, http.MethodPut, base+"/app/dashboards/"+of.DashboardID+"/components", of.app(), map[string]any{
		"components": []any{map[string]any{"componentId": checkout}, map[string]any{"componentId": search}},
	}).expect(t, http.StatusOK)
	for i, e := range []struct{ from, to, impact string }{
		{"2024-02-10T10:00:00Z", "2024-02-10T10:02:48Z", "major_outage"}, {"2024-03-31T23:00:00Z", "2024-04-01T01:00:07Z", "partial_outage"}, {"2024-05-05T00:00:00Z", "2024-05-05T03:00:00Z", "degraded_performance"},
	} {
		send(t, http.MethodPost, base+"/app/events", of.app(), map[string]any{
			"type": "incident", "title": fmt.Sprintf("Outage %d", i), "status": "resolved", "startAt": e.from, "endAt": e.to, "affectedComponents": []any{map[string]any{"componentId": checkout, "impact": e.impact}},
		}).expect(t, http.StatusCreated)
	}
	read := func(month string) (report uptimeReport) {
		send(t, http.MethodGet, base+"/app/reports/uptime?month="+month+"&dashboardId="+of.DashboardID, of.app(), nil).expect(t, http.StatusOK).into(t, &report)
		return report
	}
	for _, month := range []string{"2023-12", "2024-02", "2024-03"} {
		report := read(month)
		ada.open("/reports/uptime?dashboard="+of.DashboardID+"&month="+month, http.StatusOK).
			expect("/reports/uptime", digits(report.Report.OverallUptimePercent), report.Report.Formula, fmt.Sprintf("counts as %v seconds", report.Report.PartialOutageWeight))
		for _, c := range report.Report.Components {
			ada.expect("/reports/uptime", c.Name+" "+digits(c.UptimePercent))
			for _, day := range c.Days {
				if day.UptimePercent != nil && *day.UptimePercent < 100 {
					ada.expect("/reports/uptime", digits(day.UptimePercent)+", ")
				}
			}
			for _, id := range c.EventIDs {
				if !strings.Contains(ada.text, `href="/console/events/`+id+`"><bdi>Outage`) {
					t.Errorf("%s does not lead to the event %s", month, id)
				}
			}
		}
		rows := ada.file("/reports/uptime/csv?dashboard=" + of.DashboardID + "&month=" + month)
		if len(rows) != 4 || rows[1][1] != "'=Checkout" || rows[3][3] != cell(report.Report.OverallUptimePercent) {
			t.Fatal(rows)
		}
		for i, c := range report.Report.Components {
			want := []string{month, rows[i+1][1], c.ComponentID, cell(c.UptimePercent)}
			for _, seconds := range []int64{c.DowntimeSeconds, c.MajorOutageSeconds, c.PartialOutageSeconds, c.DegradedSeconds, c.MaintenanceSeconds, c.MeasuredSeconds} {
				want = append(want, strconv.FormatInt(seconds, 10))
			}
			if strings.Join(rows[i+1], "|") != strings.Join(want, "|") {
				t.Errorf("the file has %v, want %v", rows[i+1], want)
			}
		}
	}

	ada.open("/reports/uptime?month=2024-02", http.StatusOK).expect("/reports/uptime", "Downtime2 min 48 s", "1099.80")
	var measured, major, partial, maintenance int64
	for month := 1; month <= 12; month++ {
		for _, c := range read(fmt.Sprintf("2024-%02d", month)).Report.Components {
			measured, major, partial, maintenance = measured+c.MeasuredSeconds, major+c.MajorOutageSeconds, partial+c.PartialOutageSeconds, maintenance+c.MaintenanceSeconds
		}
	}
	if major != 168 || partial != 2*3600+7 {
		t.Fatalf("the year has %d and %d s of outages", major, partial)
	}
	counted := big.NewRat(measured-maintenance, 1)
	lost := new(big.Rat).Add(big.NewRat(major, 1), new(big.Rat).Mul(big.NewRat(3, 10), big.NewRat(partial, 1)))
	share := new(big.Rat).Quo(new(big.Rat).Sub(counted, lost), counted)
	millionths := share.Mul(share, big.NewRat(100_000_000, 1))
	year := float64(new(big.Int).Quo(millionths.Num(), millionths.Denom()).Int64()) / 1e6
	ada.open("/reports/uptime?year=2024", http.StatusOK).expect("/reports/uptime", "The whole year "+digits(&year), "Downtime2 h 2 min 55 s", "Jan100 %, operational")
	rows := ada.file("/reports/uptime/csv?year=2024")
	if last := rows[len(rows)-1]; len(rows) != 1+12*3+3 || last[0] != "2024" || last[3] != cell(&year) || last[9] != strconv.FormatInt(measured, 10) {
		t.Errorf("%d rows, at the end %v", len(rows), last)
	}
	ada.open("/reports/uptime?year=2023", http.StatusOK).expect("/reports/uptime", "The whole year not measured")
	ada.open("/reports/uptime?month=2999-01", http.StatusUnprocessableEntity).expect("/reports/uptime", "Month must not be in the future.")
	ada.open("/reports/uptime?component="+search+"&month=2024-03", http.StatusOK).expect("/reports/uptime", "Uptime of Search in March 2024")

	other := provision(t, base, "Rival", "rival-admin", "admin", "api")
	ada.open("/reports/uptime?dashboard="+other.DashboardID, http.StatusNotFound)
	_, foreign := actor{t, other}.service("Rival's checkout")
	ada.open("/reports/uptime?component="+foreign, http.StatusNotFound)
	allow := func(uptime bool) {
		send(t, http.MethodPatch, base+"/operator/v1/organizations/"+of.OrganizationID, of.operator(), map[string]any{"capabilities": map[string]any{"uptimeReports": uptime}}).expect(t, http.StatusOK)
	}
	allow(false)
	ada.open("/reports/uptime", http.StatusForbidden).expect("/reports/uptime", "The plan of your organization does not include uptime reports.")
	ada.open("/reports/uptime/csv?month=2024-02", http.StatusForbidden)
	if ada.open("/", http.StatusOK); strings.Contains(ada.text, "/console/reports/uptime") {
		t.Error("the navigation leads to a page that the plan excludes")
	}
}

// file downloads a CSV file and returns its rows. Every line ends with CRLF.
func (p *consoleUser) file(path string) [][]string {
	p.t.Helper()
	p.open(path, http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(p.text)).ReadAll()
	if err != nil || strings.Count(p.text, "\n") != strings.Count(p.text, "\r\n") || strings.Count(p.text, "\r\n") != len(rows) {
		p.t.Fatalf("%v: %q", err, p.text)
	}
	return rows
}
