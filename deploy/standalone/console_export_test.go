package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// download opens the download of a channel's subscribers.
func (p *consoleUser) download(path string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.origin+"/console"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/csv") {
		p.t.Fatalf("%s: %d, %v", path, response.StatusCode, response.Header)
	}
	return response
}

// exported returns the content of a download.
func (p *consoleUser) exported(path string) string {
	p.t.Helper()
	response := p.download(path)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

// What a member exports, an import gives back after the subscribers were deleted, if the member says that they are to be added
// again.
func TestAnExportGivesTheSameSubscribersBack(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	api := ada.open("/subscribers/email/new", http.StatusOK).choice("components", "API")
	website := ada.choice("components", "Website")
	add := func(channel string, body map[string]any) {
		t.Helper()
		body["dashboardId"] = of.DashboardID
		send(t, http.MethodPost, base+"/app/subscribers/"+channel, of.app(), body).expect(t, http.StatusCreated)
	}
	add("email", map[string]any{"email": "=ada@example.com", "confirmed": true, "locale": "de-AT", "componentIds": []string{api, website}})
	add("email", map[string]any{"email": "'=bob@example.com"})
	add("email", map[string]any{"email": "-carl@example.com", "confirmed": true, "paused": true, "componentIds": []string{website}})
	add("sms", map[string]any{"phone": "+4915112345678", "confirmed": true, "locale": "fr"})
	for channel, rows := range map[string][]string{
		"email": {"'=ada@example.com,API; Website,yes,de-AT,", "''=bob@example.com,all,no,default,", "'-carl@example.com,Website,yes,default,"},
		"sms":   {"'+4915112345678,all,yes,fr,"},
	} {
		at := "/subscribers/" + channel
		ada.open(at, http.StatusOK)
		if !strings.Contains(ada.text, `href="/console`+at+`/export"`) {
			t.Errorf("%s has no link to the export", at)
		}
		file, before := ada.exported(at+"/export"), subscribersOf(t, of, channel)
		for _, row := range rows {
			if !strings.Contains(file, "\n"+row) {
				t.Errorf("the file lacks %q: %s", row, file)
			}
		}
		for _, s := range before {
			send(t, http.MethodDelete, base+"/app"+at+"/"+s.ID, of.app(), nil).expect(t, http.StatusNoContent)
		}
		check := func(again string) {
			body, media := multipartBody(t, file, map[string]string{"dashboard": of.DashboardID, "rows": "", "again": again})
			ada.open(at+"/import", http.StatusOK).loadBody(http.MethodPost, ada.origin+"/console"+at+"/import", body, media, http.StatusOK)
		}
		check("")
		ada.expect(at+"/import", fmt.Sprintf("refused%d", len(rows)), "The owner or a member has deleted this subscriber here")
		check("on")
		ada.fill(at+"/import", nil, http.StatusOK).expect(at+"/import", fmt.Sprintf("created%d", len(rows)), "refused0")
		after := subscribersOf(t, of, channel)
		if len(after) != len(before) {
			t.Errorf("%d subscribers became %d", len(before), len(after))
		}
		for address, was := range before {
			is := after[address]
			if fmt.Sprint(is.ComponentIDs, is.Confirmed, is.Locale) != fmt.Sprint(was.ComponentIDs, was.Confirmed, was.Locale) {
				t.Errorf("%s was %+v and is %+v", address, was, is)
			}
		}
	}
	if file := ada.exported("/subscribers/email/export?state=unconfirmed"); strings.Count(file, "\n") != 2 || !strings.Contains(file, "bob@example.com") {
		t.Errorf("the filtered file is %s", file)
	}
	bob := addUser(t, of, "bob", "event")
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+bob.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	member := newConsoleUser(t, base)
	member.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	member.open("/subscribers/email/export", http.StatusForbidden)
}

// pageGate stands before the subscribers service. A request for a page that is not the first waits for a decision.
type pageGate struct {
	to     atomic.Pointer[httputil.ReverseProxy]
	passes chan struct{} // each value lets one page pass
	broken chan struct{} // closed: the connection breaks instead
}

// ServeHTTP implements http.Handler.
func (g *pageGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := g.to.Load()
	if to == nil { // the platform is starting, and asks whether the service is ready
		return
	}
	if r.URL.Query().Get("nextToken") != "" {
		select {
		case <-g.passes:
		case <-g.broken:
			panic(http.ErrAbortHandler)
		}
	}
	to.ServeHTTP(w, r)
}

// The rows of a download arrive while the next ones are not read yet. If the service ends in between, the file does not look
// whole.
func TestAnExportStreamsAndDoesNotEndWellWithoutAllRows(t *testing.T) {
	t.Parallel()
	gate := &pageGate{passes: make(chan struct{}), broken: make(chan struct{})}
	server := httptest.NewServer(gate)
	defer server.Close()
	cluster := startCluster(t, "SUBSCRIBERS_URL="+server.URL)
	gate.to.Store(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: cluster.addresses["subscribers"]}))
	of := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	var link struct{ URL string }
	send(t, http.MethodPost, cluster.base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	ada := newConsoleUser(t, cluster.base)
	ada.origin = cluster.base
	ada.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	const rows = 350 // four pages
	list := make([]map[string]any, rows)
	for i := range list {
		list[i] = map[string]any{"email": fmt.Sprintf("p%d@example.com", i)}
	}
	send(t, http.MethodPost, cluster.base+"/app/subscribers/email/import", of.app(), map[string]any{"dashboardId": of.DashboardID, "rows": list}).expect(t, http.StatusOK)

	// open opens the download and reads the first page and the header.
	open := func() (*bufio.Reader, func() error) {
		t.Helper()
		response := ada.download("/subscribers/email/export")
		in := bufio.NewReader(response.Body)
		for range 101 {
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		return in, response.Body.Close
	}
	in, end := open()
	for range 3 {
		gate.passes <- struct{}{}
	}
	rest, err := io.ReadAll(in)
	if err != nil || strings.Count(string(rest), "\n") != rows-100 {
		t.Errorf("%d rows, %v", strings.Count(string(rest), "\n"), err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	in, end = open()
	gate.passes <- struct{}{}
	close(gate.broken)
	if rest, err := io.ReadAll(in); err == nil {
		t.Errorf("%d rows were taken for all", 100+strings.Count(string(rest), "\n"))
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
