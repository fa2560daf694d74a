package pages

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Two dashboards have the same name, so the file has their ids.
func TestAnExportHasTheFilterOfTheListAndAllItsPages(t *testing.T) {
	b := open(t, "=ada@example.com")
	b.expect(b.get(mails+"?state=paused&q=ada&dashboard="+other), http.StatusOK, `href="/console/subscribers/email/export?dashboard=`+other+`&amp;q=ada&amp;state=paused" download`)
	got := b.get(mails + "/export?state=paused&q=ada&dashboard=" + other)
	row := "'=ada@example.com," + member + "; " + other + ",no,de," + other + ",yes,yes,bounce,public,2026-01-31T09:30:00Z\n"
	all := strings.Replace(row, member+"; "+other, "all", 1)
	b.expect(got, http.StatusOK)
	if want := "\ufeffemail,components,confirmed,locale,dashboard,paused,locked,suppressed,source,since\n" + row + all + row + all; got.text != want {
		t.Errorf("the file is %q, not %q", got.text, want)
	}
	for name, want := range map[string]string{
		"Content-Disposition": "attachment; filename=subscribers-email-2026-02-01.csv", "Content-Type": "text/csv; charset=utf-8; header=present", "Content-Encoding": "", passport.Stream: "1", "X-Content-Type-Options": "nosniff",
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	if sent := b.app.queries("GET /app/subscribers/email")[1:]; strings.Join(sent, " ") != "dashboardId="+other+"&limit=100&q=ada&state=paused dashboardId="+other+"&limit=100&nextToken=next%26token&q=ada&state=paused" {
		t.Error(sent)
	}
	if head := b.send(http.MethodHead, mails+"/export", nil); head.status != http.StatusOK || head.text != "" {
		t.Errorf("%+v", head)
	}
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(mails+"/export"), http.StatusOK, "email,components")
	if got := b.get(mails); strings.Contains(got.text, "/export") {
		t.Error("an empty list offers a download")
	}
	b.app.answer("GET /app/subscribers/email", answer{503, `{}`, false})
	b.expect(b.get(mails+"/export"), http.StatusServiceUnavailable, "request-1")
}

// oneConnection is a listener with one connection, which buffers nothing.
type oneConnection struct {
	net.Conn
	accepted chan net.Conn
}

func (l oneConnection) Accept() (net.Conn, error) {
	if conn, open := <-l.accepted; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l oneConnection) Addr() net.Addr { return l.LocalAddr() }

// The list has no end. The console reads its next page only when the browser has taken the one before, so it needs the memory of
// one page, however slowly the browser reads.
func TestAnExportReadsNoFurtherThanItsReader(t *testing.T) {
	b := open(t, "ada@example.com")
	const rows, pages = 100, 50
	row := `{"id": "` + other + `", "dashboardId": "` + other + `", "email": "` + strings.Repeat("x", 100) + `@example.com", "componentIds": null, "confirmed": true, "locale": null, "source": "app", "createdAt": "2026-01-31T09:30:00.000Z"}`
	b.app.answer("GET /app/subscribers/email", answer{200, `{"subscribers": [` + strings.Repeat(row+",", rows-1) + row + `], "nextToken": "more"}`, false})
	client, server := net.Pipe()
	listener := oneConnection{server, make(chan net.Conn, 1)}
	listener.accepted <- server
	ended := make(chan struct{})
	web := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		b.engine.ServeHTTP(w, r)
	})}
	go func() { _ = web.Serve(listener) }()
	defer web.Close()
	defer close(listener.accepted)

	r := httptest.NewRequest(http.MethodGet, mails+"/export", nil)
	p := b.member
	p.Audience, p.Surface = "console", passport.Console
	r.Header.Set(passport.Header, b.signer.Sign(p))
	if err := r.Write(client); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(client), r)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", got, err)
	}
	in := bufio.NewReader(got.Body)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for read := 1; read <= pages; read++ {
		for range rows {
			if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "xxx") {
				t.Fatalf("page %d: %q, %v", read, line, err)
			}
		}
		if asked := len(b.app.queries("GET /app/subscribers/email")); asked > read+2 { // one is sent, and the buffer above may have its end
			t.Fatalf("the browser has read %d pages, and the console %d", read, asked)
		}
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended // the export ends with its reader
}

// A file that lacks rows must not look whole, so its response breaks off.
func TestAnExportThatFailsBreaksOff(t *testing.T) {
	b := open(t, "ada@example.com")
	b.app.fails("GET /app/subscribers/email", 2, true)
	r := httptest.NewRequest(http.MethodGet, mails+"/export", nil)
	p := b.member
	p.Audience, p.Surface = "console", passport.Console
	r.Header.Set(passport.Header, b.signer.Sign(p))
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("the response ends with %v", cause)
		}
	}()
	b.engine.ServeHTTP(httptest.NewRecorder(), r)
}

// What an export writes, an import reads without a change, with names of components of any form.
func TestAnImportOfAnExportSendsTheSameValues(t *testing.T) {
	const joined = "01890a5d-ac96-774b-bcce-b302099a80ff"
	const components = `{"componentId": "` + member + `", "name": "=Shop, \"EU\"\n2"}, {"componentId": "` + other + `", "name": "API"}, {"componentId": "` + session + `", "name": "Zahlungen – DE"}, {"componentId": "` + joined + `", "name": "api; Zahlungen – DE"}`
	b := open(t, "ada@example.com")
	b.app.answer("GET /app/dashboards/"+other, answer{200, `{"dashboard": {"id": "` + other + `", "name": "Acme", "components": [` + components + `]}}`, false})
	b.app.answer("GET /app/dashboards", answer{200, `{"dashboards": [{"id": "` + other + `", "name": "Acme", "components": [` + components + `]}], "nextToken": null}`, false})
	rows := []string{
		`"email": "=a@example.com", "componentIds": ["` + member + `", "` + other + `"], "confirmed": true, "locale": "de-AT"`,
		`"email": "'+b@example.com", "componentIds": null, "confirmed": false, "locale": null`,
		`"email": "c@example.com", "componentIds": ["` + session + `"], "confirmed": true, "locale": null, "paused": true`,
		`"email": "d@example.com", "componentIds": ["` + other + `", "` + session + `"], "confirmed": true, "locale": null`,
		`"email": "e@example.com", "componentIds": ["` + other + `"], "confirmed": false, "partlyConfirmed": true, "locale": null`,
	}
	for i, row := range rows {
		rows[i] = fmt.Sprintf(`{"id": "%s", "dashboardId": "%s", "source": "app", "createdAt": "2026-01-31T09:30:00.000Z", %s}`, other, other, row)
	}
	b.app.answer("GET /app/subscribers/email", answer{200, `{"subscribers": [` + strings.Join(rows, ",") + `], "nextToken": null}`, false})
	file := b.get(mails + "/export").text
	if !strings.Contains(file, "c@example.com,Zahlungen – DE,yes,default,Acme,yes") {
		t.Errorf("the file is %s", file)
	}
	b.expect(b.upload(importAt, file, "dashboard", other, "rows", ""), http.StatusOK, "5 rows are checked")
	want := `"rows":[{"email":"=a@example.com","componentIds":["` + member + `","` + other + `"],"confirmed":true,"locale":"de-AT"},` +
		`{"email":"'+b@example.com","componentIds":null,"confirmed":false,"locale":null},{"email":"c@example.com","componentIds":["` + session + `"],"confirmed":true,"locale":null},` +
		`{"email":"d@example.com","componentIds":["` + other + `","` + session + `"],"confirmed":true,"locale":null},{"email":"e@example.com","componentIds":["` + other + `"],"locale":null}]`
	if body := b.app.body("POST /app/subscribers/email/import"); !strings.Contains(body, want) {
		t.Errorf("sent %s", body)
	}
}

// A download may last longer than a passport. The calls after the first page get a new one.
func TestACallOfADownloadHasAFreshPassport(t *testing.T) {
	b := open(t, "ada@example.com")
	b.member.Expires = time.Date(2026, 2, 1, 9, 30, 1, 0, time.UTC).UnixMilli()
	b.expect(b.get(mails+"/export"), http.StatusOK)
	var expire []int64
	for _, token := range b.app.sentTokens() {
		if p, err := b.signer.Verify(token, "subscribers"); err == nil {
			expire = append(expire, p.Expires-b.member.Expires)
		}
	}
	if want := []int64{0, 59_000}; !slices.Equal(expire, want) {
		t.Errorf("the passports of the calls expire %v ms after that of the request, not %v", expire, want)
	}
}
