package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestALargeBodyIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	for path, key := range map[string]string{endpointsPath: m.bearer(), "/api/v1/service/": m.apiKey(), "/operator/v1/organizations": "Operator " + operatorToken} {
		header := map[string]string{"Authorization": key}
		exact := strings.Repeat("x", maxBody)
		if e := d.do(t, "POST", path, exact, header).echo(t); len(e.Body) != maxBody {
			t.Errorf("%s: %d bytes arrived", path, len(e.Body))
		}
		wantError(t, d.do(t, "POST", path, exact+"x", header), 413, bodyTooLarge)
		for size, status := range map[int]int{maxBody: 200, maxBody + 1: 413, 5 << 20: 413} {
			sent := strings.Repeat("x", size)
			for form, reader := range map[string]io.Reader{"chunked": io.MultiReader(strings.NewReader(sent)), "announced": strings.NewReader(sent)} {
				r, err := http.NewRequestWithContext(t.Context(), "POST", d.base+path, reader)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", key)
				answer, err := w.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				// A connection that is closed after the response can break while a client still sends. After a chunked body, also
				// a small one, it is closed in any case.
				if err != nil || answer.StatusCode != status || answer.Close && form == "announced" {
					t.Errorf("%s: %d %s bytes: %d %.80s %v, closes: %v", path, size, form, answer.StatusCode, body, err, answer.Close)
				}
			}
		}
		wantEmpty403(t, d.do(t, "POST", path, exact+"x", nil))
	}
}

// An import of events may have 8 MiB. Other operations below and beside it keep their limit.
func TestAnImportOfEventsMayHave8MiB(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	exact := strings.Repeat("x", 8<<20)
	if e := d.do(t, "POST", "/app/events/import", exact, header).echo(t); len(e.Body) != len(exact) {
		t.Errorf("%d bytes arrived", len(e.Body))
	}
	wantError(t, d.do(t, "POST", "/app/events/import", exact+"x", header), 413, "The body must be at most 8388608 bytes.")
	for path, method := range map[string]string{"/app/events": "POST", "/app/events/import/" + uuid.NewString(): "DELETE", "/app/events/" + uuid.NewString(): "PATCH"} {
		wantError(t, d.do(t, method, path, exact[:maxBody+1], header), 413, bodyTooLarge)
	}
}

func TestAServiceThatIsDownGives503(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	for _, name := range []string{events, integrations} {
		w.services[name].server.Close()
	}
	for path, key := range map[string]string{endpointsPath: m.bearer(), "/api/v1/service/": m.apiKey()} {
		g := d.get(t, path, map[string]string{"Authorization": key})
		wantError(t, g, 503, noService)
		if g.header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
	}
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": m.bearer()}), 200)
}

func TestAResponseThatBreaksOffEndsTheConnection(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	w.services[identity].handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	wantError(t, d.get(t, "/app/users", header), 503, noService)
	w.services[identity].handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
	})
	if g, err := d.try(t.Context(), "GET", "/app/users", "", header); err == nil {
		t.Errorf("half a response was taken for a complete one: %d %q", g.status, g.body)
	}
}

func TestResponsesOfServicesPassUnchanged(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	w.services[identity].handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("X-Request-Id", "the service's own")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"error":"taken"}`)
	})
	g := d.get(t, "/app/users", header)
	if g.status != 409 || g.body != `{"error":"taken"}` || len(g.header.Values("Set-Cookie")) != 2 || g.header.Get("X-Hop") != "" ||
		len(g.header.Values("X-Request-Id")) != 1 || g.header.Get("X-Request-Id") == "the service's own" {
		t.Errorf("%d %q %v", g.status, g.body, g.header)
	}
	w.services[identity].handle(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if g := d.do(t, "DELETE", "/app/api-keys/x", "", header); g.status != 204 || g.body != "" || g.header.Get("Content-Type") != "" {
		t.Errorf("%d %q %v", g.status, g.body, g.header)
	}
	w.services[identity].handle(func(http.ResponseWriter, *http.Request) {})
}

func TestAClientThatLeavesIsNoFailure(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	ended := make(chan struct{})
	arrived := make(chan struct{})
	w.services[identity].handle(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done() // ends because the gateway cancels its request
		close(ended)
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-arrived
		leave()
	}()
	if _, err := d.try(ctx, "GET", "/app/users", "", map[string]string{"Authorization": m.bearer()}); err == nil {
		t.Fatal("the client got a response")
	}
	<-ended
	eventually(t, "it is logged", func() bool { return strings.Contains(d.log.String(), `"status":499`) })
	if log := d.log.String(); strings.Contains(log, "ERROR") {
		t.Error(log)
	}
}

func TestAUsableRequestIDIsForwarded(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	for sent, kept := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "with space": false, "ümlaut": false, "": false,
	} {
		for path, key := range map[string]string{"/app/users": m.bearer(), "/app/nothing": m.bearer(), "/app/profile": "", "/nothing": "", "/api/v1/": "", "/api/v1/nothing/": ""} {
			g := d.get(t, path, map[string]string{"Authorization": key, "X-Request-Id": sent})
			id := g.header.Get("X-Request-Id")
			if id == "" || kept != (id == sent) {
				t.Errorf("%s: sent %q, got %q", path, sent, id)
			}
			if path == "/app/users" {
				if e := g.echo(t); e.Header.Get("X-Request-Id") != id {
					t.Errorf("the service saw %q, the client %q", e.Header.Get("X-Request-Id"), id)
				}
			}
		}
	}
}

// The gateway keeps the trace id of a client, but decides itself whether the trace is sent. Neither the client's
// sampled flag nor its trace id changes the decision, even if a sampler by trace id would always select this id.
func TestClientsDoNotDecideWhichTracesAreSent(t *testing.T) {
	const requests = 64 // all or none of them are sampled once in 2^63 runs
	w := newWorld(t)
	for ratio, want := range map[float64]func(sampled int) bool{
		0:   func(sampled int) bool { return sampled == 0 },
		0.5: func(sampled int) bool { return sampled > 0 && sampled < requests },
		1:   func(sampled int) bool { return sampled == requests },
	} {
		d := w.gateway(t, func(c *Config) {
			c.TraceRatio = ratio
			c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))))
		})
		header := map[string]string{"Authorization": w.keys.member(nil).apiKey(), "Tracestate": "a=b"}
		for _, flag := range []string{"00", "01"} {
			sampled := 0
			for i := range requests {
				id := fmt.Sprintf("%016x%016x", i+1, 1)
				header["Traceparent"] = "00-" + id + "-b7ad6b7169203331-" + flag
				out := d.get(t, "/api/v1/service/4/", header).echo(t)
				passed := out.Header.Get("Traceparent")
				if !strings.HasPrefix(passed, "00-"+id+"-") || out.Header.Get("Tracestate") != "" {
					t.Fatalf("%s was passed on as %q %q", header["Traceparent"], passed, out.Header.Get("Tracestate"))
				}
				if strings.HasSuffix(passed, "-01") {
					sampled++
				}
			}
			if !want(sampled) {
				t.Errorf("ratio %v, flag %s: %d of %d traces are sampled", ratio, flag, sampled, requests)
			}
		}
	}
}

func TestTraceAndLogNameTheRequest(t *testing.T) {
	w := newWorld(t)
	spans := tracetest.NewSpanRecorder()
	d := w.gateway(t, func(c *Config) {
		c.Tracer, c.TraceRatio = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)), 1
	})
	m := w.keys.member(nil)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e := d.get(t, "/api/v1/service/4/?secret=hush", map[string]string{"Authorization": m.apiKey(), "Traceparent": parent, "Baggage": "a=b"}).echo(t)
	var found sdktrace.ReadOnlySpan
	eventually(t, "the span ends", func() bool {
		for _, span := range spans.Ended() {
			if span.Name() == "GET /api/v1/service/{id}/" {
				found = span
			}
		}
		return found != nil
	})
	traceID, spanID := found.SpanContext().TraceID().String(), found.SpanContext().SpanID().String()
	if traceID != "0af7651916cd43dd8448eb211c80319c" || found.Parent().SpanID().String() != "b7ad6b7169203331" || found.SpanKind().String() != "server" {
		t.Errorf("%s %s %s", traceID, found.Parent().SpanID(), found.SpanKind())
	}
	if got := e.Header.Get("Traceparent"); got != "00-"+traceID+"-"+spanID+"-01" || e.Header.Get("Baggage") != "" {
		t.Errorf("passed on %q %q", got, e.Header.Get("Baggage"))
	}
	eventually(t, "a line in the log has the trace's id", func() bool { return strings.Contains(d.log.String(), `"trace_id":"`+traceID) })
	for line := range strings.Lines(d.log.String()) {
		var entry struct {
			Msg, Route, Organization, Method string
			TraceID                          string `json:"trace_id"`
			Status                           int
			US                               *int64
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.TraceID != traceID {
			continue
		}
		if entry.Msg != "request" || entry.Route != "/api/v1/service/{id}/" || entry.Organization != m.credential.Organization ||
			entry.Status != 200 || entry.US == nil || entry.Method != "GET" {
			t.Errorf("log line %s", line)
		}
		found = nil
	}
	if found != nil {
		t.Error("no line in the log with the trace's id")
	}
	for _, secret := range []string{"hush", m.secret} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
		for _, span := range spans.Ended() {
			for _, attribute := range span.Attributes() {
				if strings.Contains(attribute.Value.Emit(), secret) {
					t.Errorf("%q is in span %s", secret, span.Name())
				}
			}
		}
	}
	wantEmpty403(t, d.get(t, "/app/users", nil)) // a trace without a parent
}

// The test reads the bytes of the connection. The response must be complete, so that a second request on the connection
// also gets a response.
func TestAPostForHeadHasACompleteResponse(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	service := func(out http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.ContentLength != 0 {
			t.Errorf("the service got a %s of %d bytes", r.Method, r.ContentLength)
		}
		legacy.WriteJSON(out, r, http.StatusOK, []byte(`{"id":1}`))
	}
	w.services[events].handle(service)
	for path, status := range map[string]string{
		"/api/v1/service/": "200 OK", "/api/v1/service/1/": "200 OK", "/api/v1/": "200 OK", "/api/v1/nothing/": "404 Not Found",
	} {
		t.Run(path, func(t *testing.T) {
			request := "POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: " + m.apiKey() +
				"\r\nX-HTTP-Method-Override: HEAD\r\nContent-Length: 2\r\n"
			answer := d.raw(t, request+"\r\n{}"+request+"Connection: close\r\n\r\n{}")
			if strings.Count(answer, "HTTP/1.1 "+status+"\r\n") != 2 || strings.Count(answer, "Content-Length: 0\r\n") != 2 ||
				strings.Count(answer, "Content-Type: application/json\r\n") != 2 || strings.Contains(answer, "{") {
				t.Errorf("%s", answer)
			}
		})
	}
	// The other surfaces ignore the header X-HTTP-Method-Override.
	header := map[string]string{"Authorization": m.bearer(), "X-HTTP-Method-Override": "HEAD"}
	wantError(t, d.do(t, "POST", "/app/nothing", "{}", header), 404, noPath)
	if g := d.do(t, "POST", endpointsPath, "{}", header).echo(t); g.Method != "POST" || g.Body != "{}" {
		t.Errorf("%+v", g)
	}
}

// A stream may last longer than the time limit of a request. Each part arrives while the next one is still missing, and a
// stream that breaks off does not look complete.
func TestAStreamOutlivesTheTimeLimitOfARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	next := make(chan string)
	w.services[identity].handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(passport.Stream, "1")
		for part := range next {
			switch part {
			case "end":
				return
			case "break":
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	})
	open := func() io.ReadCloser {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.base+"/app/users", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			r.Header.Set(name, value)
		}
		go func() { next <- "part" }()
		response, err := w.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusOK || response.Header.Get(passport.Stream) != "" {
			t.Errorf("%d, %v", response.StatusCode, response.Header)
		}
		return response.Body
	}
	part := func(body io.Reader) {
		t.Helper()
		text := make([]byte, len("part"))
		if _, err := io.ReadFull(body, text); err != nil || string(text) != "part" {
			t.Errorf("%q, %v", text, err)
		}
	}
	body := open()
	defer body.Close()
	part(body)
	<-time.After(upstreamTimeout + time.Second) // the stream makes no progress for longer than a request may last
	next <- "part"
	part(body)
	next <- "end"
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	broken := open()
	defer broken.Close()
	part(broken)
	next <- "break"
	if rest, err := io.ReadAll(broken); err == nil {
		t.Errorf("%q was taken for complete", rest)
	}
}
