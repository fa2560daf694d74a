package main_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// stopsAndGoesOn proves that SIGTERM ends an import after the request in flight, that the same command goes on, and that
// undo finds what an interrupted run could not record.
func (m *mover) stopsAndGoesOn() {
	m.t.Helper()
	m.folder = m.t.TempDir()
	page := history(m.t, "zq2", time.Now(), 200, 20, 40, 0)
	endpoint := `{"kind":"endpoint","key":"x:zq2:h","channel":"webhook","url":"https://` + receiverHost + `/hooks/zq2","managementEmail":"ops@example.com","components":null,"format":"statuspage"}` + "\n"
	if err := os.WriteFile(page, append([]byte(m.readAll(page)), endpoint...), 0o600); err != nil {
		m.t.Fatal(err)
	}
	arguments := []string{"import", "lines", page, "--dashboard", "zq2", "--only", "components,events,endpoints"}

	// The command writes through a proxy, which holds one of the writes until the test has sent the signal.
	platform, err := url.Parse(m.BaseURL)
	if err != nil {
		m.t.Fatal(err)
	}
	const held = 20
	var writes atomic.Int64
	holds, signalled := make(chan struct{}), make(chan struct{})
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(platform) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/app/components" && writes.Add(1) == held {
			close(holds)
			<-signalled
		}
		forward.ServeHTTP(w, r)
	}))
	defer front.Close()
	defer func(base string) { m.BaseURL = base }(m.BaseURL)
	m.BaseURL = front.URL

	var said strings.Builder
	first := m.command(arguments...)
	first.Stderr = &said
	if err := first.Start(); err != nil {
		m.t.Fatal(err)
	}
	select {
	case <-holds:
	case <-time.After(time.Minute):
	}
	err = first.Process.Signal(syscall.SIGTERM)
	close(signalled)
	_ = first.Wait() // the code says more than the error
	if err != nil {
		m.t.Fatalf("no import to stop after %d writes: %v", writes.Load(), err)
	}
	recorded := regexp.MustCompile(`"kind":"component","key":"[^"]*","status":"created","id":`)
	if runs := m.runs(); len(runs) != 1 || !recorded.MatchString(m.read("import-"+runs[0]+".jsonl")) {
		m.t.Errorf("the runs %v have no record of a component", runs)
	}
	if code := first.ProcessState.ExitCode(); code != 2 || !strings.Contains(said.String(), "the same command in this folder goes on") {
		m.t.Fatalf("after SIGTERM the command ended with code %d: %s", code, said.String())
	}
	done := counted(m.run(0, arguments...), "WRITTEN")
	if len(m.runs()) != 1 || done["event"][0] != "20" || done["component"][0] == "200" || done["component"][2] == "0" {
		m.t.Errorf("%d runs; the second command wrote %v", len(m.runs()), done)
	}
	made := 0
	for _, e := range m.everything("/app/integrations/webhooks/outbound/endpoints", "endpoints") {
		if components, _ := e["componentIds"].([]any); e["format"] == "statuspage" && len(components) == 200 && e["verified"] == true {
			made++
		}
	}
	if made != 1 || done["endpoint"][0] != "1" {
		m.t.Errorf("%d endpoints of the format statuspage; %v", made, done["endpoint"])
	}
	run := m.runs()[0]
	file := filepath.Join(m.folder, "import-"+run+".jsonl")
	planned := regexp.MustCompile(`(?m)^.*("id":|"kind":"done").*\n`).ReplaceAllString(m.read(filepath.Base(file)), "") // as a kill before the records leaves it
	if err := os.WriteFile(file, []byte(planned), 0o600); err != nil {
		m.t.Fatal(err)
	}
	undone := m.run(0, "import", "undo", run)
	for _, row := range cells(undone) {
		if len(row) == 3 && (row[0] == "component" && row[1] != "200" || row[0] == "dashboard" && row[1] != "1") {
			m.t.Errorf("undone: %s", undone)
		}
	}
	for _, d := range m.everything("/app/dashboards", "dashboards") {
		if d["slug"] == "zq2" {
			m.t.Error("the dashboard is still there")
		}
	}
}
