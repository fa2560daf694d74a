package main_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BenchmarkConsoleImport checks and imports 100,000 rows through the console in pieces, as its script does, and imports as
// many rows by the App interface alone for another organization. Then it exports the subscribers. The memory is that of the
// console's process above the one before.
//
//	go test -run '^$' -bench '^BenchmarkConsoleImport$' -benchtime 1x ./deploy/standalone
func BenchmarkConsoleImport(b *testing.B) {
	const rows, piece = 100_000, 1000
	for b.Loop() {
		cluster := startCluster(b, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
		of := provision(b, cluster.base, "Acme", "acme-admin", "admin", "api")
		control := provision(b, cluster.base, "Control", "control-admin", "admin", "api")
		ada := invited(b, cluster.base, of)
		console := cluster.processes["console"]
		before, most := console.resident(), 0.0
		watch := func() { most = max(most, console.resident()-before) }
		run := func(step string) time.Duration {
			began := time.Now()
			for from := 0; from < rows; from += piece {
				var list strings.Builder
				for i := range piece {
					fmt.Fprintf(&list, "person%d@example.com,yes\n", from+i)
				}
				body, media := multipartBody(b, "", map[string]string{"dashboard": of.DashboardID, "step": step, "head": "email,confirmed", "line": fmt.Sprint(from + 2), "rows": list.String()})
				ada.loadBody(http.MethodPost, ada.origin+"/console/parts/subscribers/email/import", body, media, http.StatusOK)
				watch()
			}
			return time.Since(began)
		}
		checked, written := run("check"), run("write")
		began := time.Now()
		for from := 0; from < rows; from += piece {
			list := make([]map[string]any, piece)
			for i := range list {
				list[i] = map[string]any{"email": fmt.Sprintf("person%d@example.com", from+i), "confirmed": true}
			}
			send(b, http.MethodPost, cluster.base+"/app/subscribers/email/import", control.app(), map[string]any{"dashboardId": control.DashboardID, "rows": list}).expect(b, http.StatusOK)
		}
		alone := time.Since(began)
		ofImport := most
		before, most, began = console.resident(), 0, time.Now()
		response := ada.download("/subscribers/email/export")
		lines := 0
		for in := bufio.NewScanner(response.Body); in.Scan(); lines++ {
			if lines == 0 {
				b.ReportMetric(ms(time.Since(began)), "ms-first-row")
			}
			if lines%piece == 0 {
				watch()
			}
		}
		if err := response.Body.Close(); err != nil || lines != rows+1 {
			b.Fatalf("%d lines, %v", lines, err)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(checked.Seconds(), "s-check")
		b.ReportMetric(written.Seconds(), "s-import")
		b.ReportMetric(alone.Seconds(), "s-import-app")
		b.ReportMetric(time.Since(began).Seconds(), "s-export")
		b.ReportMetric(ofImport, "MiB-import")
		b.ReportMetric(most, "MiB-export")
	}
}
