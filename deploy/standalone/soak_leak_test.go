//go:build soak

package main_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// usage contains the resources that a process uses.
type usage struct{ goroutines, files, heap, rss float64 } // heap and rss in MiB

// usage returns the resources that the process uses right after a garbage collection.
func (s *soak) usage(name string) usage {
	s.t.Helper()
	base := "http://" + s.cluster.internal[name]
	send(s.t, http.MethodGet, base+"/debug/pprof/heap?gc=1", "", nil).expect(s.t, http.StatusOK)
	values := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(string(send(s.t, http.MethodGet, base+"/metrics", "", nil).expect(s.t, http.StatusOK).body)))
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		metric, _, _ := strings.Cut(series, "{")
		values[metric], _ = strconv.ParseFloat(value, 64) // 0 for a line about none of these metrics
	}
	return usage{values["go_goroutines"], values["process_open_fds"], values["go_memstats_heap_alloc_bytes"] / (1 << 20), values["process_resident_memory_bytes"] / (1 << 20)}
}

// settled waits until no delivery is running. It returns the usage of each process.
func (s *soak) settled() map[string]usage {
	s.t.Helper()
	s.drain()
	client.CloseIdleConnections()
	all := map[string]usage{}
	for _, name := range s.cluster.names {
		all[name] = s.usage(name)
	}
	return all
}

// leaks checks that no process uses much more than before. It waits, because idle connections end only after a minute
// or two.
func (s *soak) leaks(before, after map[string]usage) {
	s.t.Helper()
	kinds := []struct {
		what          string
		value         func(usage) float64
		factor, spare float64 // a process may use factor * before + spare
	}{
		{"goroutines", func(u usage) float64 { return u.goroutines }, 1.1, 20},
		{"open files", func(u usage) float64 { return u.files }, 1.1, 10},
		{"MiB of heap", func(u usage) float64 { return u.heap }, 1.25, 12},
		{"MiB of memory (RSS)", func(u usage) float64 { return u.rss }, 1.5, 64},
	}
	within := func(name string, kind int) bool {
		k := kinds[kind]
		return k.value(after[name]) <= k.value(before[name])*k.factor+k.spare
	}
	over := func() []string {
		return slices.DeleteFunc(slices.Clone(s.cluster.names), func(name string) bool {
			for kind := range kinds {
				if !within(name, kind) {
					return false
				}
			}
			return true
		})
	}
	for deadline := time.Now().Add(150 * time.Second); time.Now().Before(deadline) && len(over()) > 0; {
		<-time.After(5 * time.Second)
		for _, name := range over() {
			after[name] = s.usage(name)
		}
	}
	for n, kind := range kinds {
		good, parts := true, []string{}
		for _, name := range s.cluster.names {
			was, is := kind.value(before[name]), kind.value(after[name])
			good = good && within(name, n) && was > 0 && is > 0
			parts = append(parts, fmt.Sprintf("%s %.0f -> %.0f", name, was, is))
		}
		s.check("no leak of "+kind.what, good, "%s", strings.Join(parts, ", "))
	}
}

// rows counts the rows of each table of each service's database.
func (s *soak) rows() map[string]int {
	s.t.Helper()
	files, err := filepath.Glob(s.documents + "/*.db")
	if err != nil || len(files) != 5 {
		s.t.Fatalf("%d databases: %v", len(files), err)
	}
	counts := map[string]int{}
	for _, file := range files {
		service := strings.TrimSuffix(filepath.Base(file), ".db")
		for table, n := range tableRows(s.t, file) {
			counts[service+"."+table] = n
		}
	}
	return counts
}

func tableRows(t testing.TB, file string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The rows of an index of words cannot be counted. Its tables begin with its name.
	names, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master AS t WHERE type = 'table' AND NOT EXISTS (
		SELECT 1 FROM sqlite_master AS words WHERE words.sql LIKE 'CREATE VIRTUAL TABLE%' AND t.name LIKE words.name || '%')`)
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	var tables []string
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, table := range tables {
		var n int
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM "`+table+`" NOT INDEXED`).Scan(&n); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		counts[table] = n
	}
	return counts
}

// more returns by how many rows a table may exceed its size before the load, after all records are deleted. -1 means by
// any number.
func (s *soak) more(table string) int {
	switch name, _, _ := strings.Cut(table, "~"); name {
	case "delivery.blocks", "delivery.changes", "delivery.deliveries", "delivery.deliveries.progress.count", "delivery.pages", "delivery.requests", "identity.audit",
		"integrations.inbound_logs", "integrations.inbound_problems":
		return -1 // logs with their counts, and problems of monitoring tools, all of which are deleted after their retention
	case "subscribers.deleted_imports":
		return -1 // an import must not create again whom the load has deleted
	case "integrations.successes":
		return soakHooks + len(outbounds()) - 1 // at most one row for each endpoint
	case "integrations.endpoints": // an interrupted creation keeps the id of its endpoint for a day
		interrupted := 0
		for _, f := range s.failures {
			if f.request == "POST "+soakEndpoints {
				interrupted++
			}
		}
		return interrupted
	}
	return 20 // counters have one row per counted value, and parts of the last editions stay
}

// removes deletes all records that the load has created, also those of failed requests. It then checks that no table
// has more rows than more allows.
func (s *soak) removes() {
	s.t.Helper()
	for _, run := range s.runs { // an imported event that is deleted by itself would leave a record of that
		send(s.t, http.MethodDelete, s.BaseURL+"/app/events/import/"+run, s.app(), nil).expect(s.t, http.StatusOK)
	}
	for _, row := range s.everything("/app/events", "events") {
		s.remove("/app/events/"+fmt.Sprint(row["id"]), nil)
	}
	for _, row := range s.everything("/app/subscribers/email", "subscribers") {
		s.remove("/app/subscribers/email/"+fmt.Sprint(row["id"]), nil)
	}
	for _, row := range s.everything("/app/components", "components") {
		if strings.HasPrefix(fmt.Sprint(row["name"]), "churn ") {
			s.remove("/app/components/"+fmt.Sprint(row["id"]), nil)
		}
	}
	for _, row := range s.everything(soakEndpoints, "endpoints") {
		if !slices.Contains(row["componentIds"].([]any), any(s.component)) {
			s.remove(soakEndpoints, map[string]any{"dashboardId": row["dashboardId"], "urlHash": row["urlHash"]})
		}
	}
	for { // an address that a member created stays without its subscriber
		var list page
		send(s.t, http.MethodGet, s.BaseURL+"/api/v1/email/?limit=100", s.legacy(), nil).expect(s.t, http.StatusOK).into(s.t, &list)
		for _, row := range list.Objects {
			send(s.t, http.MethodDelete, s.BaseURL+row["resource_uri"].(string), s.legacy(), nil).expect(s.t, http.StatusNoContent)
		}
		if len(list.Objects) == 0 {
			break
		}
	}
	var more []string
	for began, changes := time.Now(), 0; ; <-time.After(time.Second) {
		more = nil
		rows := s.rows()
		for _, table := range slices.Sorted(maps.Keys(rows)) {
			if most := s.more(table); most >= 0 && rows[table] > s.rowsBefore[table]+most {
				more = append(more, fmt.Sprintf("%s %d -> %d", table, s.rowsBefore[table], rows[table]))
			}
		}
		// Former editions are deleted at most five minutes after they were replaced, in the next minute of the scheduler.
		if len(more) == 0 || time.Since(began) > 10*time.Minute {
			break
		}
		if time.Since(began) > time.Duration(changes+1)*65*time.Second {
			changes++
			_, id := s.actor.service(fmt.Sprint("churn ", changes))
			s.remove("/app/components/"+id, nil)
		}
	}
	s.check("no row stays of what was deleted", len(more) == 0, "%d tables; more rows: %v", len(s.rowsBefore), more)
}

// remove deletes a record through the App interface.
func (s *soak) remove(path string, body any) {
	s.t.Helper()
	send(s.t, http.MethodDelete, s.BaseURL+path, s.app(), body).expect(s.t, http.StatusNoContent)
}
