package gateway

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

var statusLines = regexp.MustCompile(`HTTP/1\.[01] \d`)

// talk sends each part in a separate packet. It returns what the gateway sends until the connection ends.
func (d *door) talk(t *testing.T, parts ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // for a slow machine
		t.Fatal(err)
	}
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			break // the gateway has closed the connection
		}
	}
	received, err := io.ReadAll(conn)
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		t.Fatalf("the connection does not end after %.200q", parts)
	}
	return string(received)
}

// TestNothingIsServedBehindARequestThatHidesItsEnd sends a request with both Content-Length and Transfer-Encoding, or
// with Transfer-Encoding in HTTP/1.0 (RFC 9112, 6.1). A second request that follows must not be served.
func TestNothingIsServedBehindARequestThatHidesItsEnd(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	heads := map[string]string{ // header fields and HTTP version
		"both": "1.1 Content-Length: 5|Transfer-Encoding: chunked", "the other way round": "1.1 Transfer-Encoding: chunked|Content-Length: 5",
		"in lower case": "1.1 content-length:5|transfer-encoding:chunked", "in upper case": "1.1 CONTENT-LENGTH: 5|TRANSFER-ENCODING: CHUNKED",
		"folded":   "1.1 Content-Length: 5|Transfer-Encoding:| chunked",
		"repeated": "1.1 Transfer-Encoding: chunked|Content-Length: 5|Transfer-Encoding: chunked", "twice a length": "1.1 Content-Length: 5|Content-Length: 5|Transfer-Encoding: chunked",
		"a blank before the colon": "1.1 Content-Length: 5|Transfer-Encoding : chunked", "another coding": "1.1 Content-Length: 5|Transfer-Encoding: identity", "tabs": "1.1 Content-Length:\t5|Transfer-Encoding:\tchunked\t",
		"no coding": "1.1 Content-Length: 5|Transfer-Encoding:", "no length": "1.1 Content-Length: 0|Transfer-Encoding: chunked", "between others": "1.1 A: b|Transfer-Encoding: chunked|C: d|Content-Length: 5|E: f",
		"HTTP/1.0": "1.0 Transfer-Encoding: chunked", "HTTP/1.0 with both": "1.0 Content-Length: 5|Transfer-Encoding: chunked", "HTTP/1.0 folded": "1.0 transfer-encoding:|\tchunked",
	}
	const behind = "GET /d/main/ HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: behind\r\nConnection: close\r\n\r\n"
	check := func(what, received string, before int) {
		t.Helper()
		if strings.Contains(received, "behind") || len(statusLines.FindAllString(received, -1)) > before+1 {
			t.Errorf("%s: %q", what, received)
		}
	}
	for name, head := range heads {
		version, fields, _ := strings.Cut(head, " ")
		for _, line := range []string{"GET /d/main/", "POST /d/main/", "GET /api/v1/", "POST /d/main/subscribe/email", "POST /api/v1/service/", "GET /healthz", "GET /readyz"} {
			request := fmt.Sprintf("%s HTTP/%s\r\nHost: localhost\r\nConnection: keep-alive\r\n%s\r\n\r\n0\r\n\r\n", line, version, strings.ReplaceAll(fields, "|", "\r\n"))
			what := line + ", " + name
			whole := d.talk(t, request+behind)
			if check(what, whole, 0); !strings.HasPrefix(whole, "HTTP/1.1 400 ") || !strings.Contains(whole, "Connection: close\r\n") {
				t.Errorf("%s: %q", what, whole)
			}
			file := "GET /d/main/badge.svg HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: first\r\n\r\n"
			if after := d.talk(t, file+request+behind); !strings.Contains(after, "first") || !strings.Contains(after, "HTTP/1.1 400 ") {
				t.Errorf("%s, after a file: %q", what, after)
			} else {
				check(what+", after a file", after, 1)
			}
			other := "GET /openapi/app.yaml HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: first\r\nIf-None-Match: *\r\n\r\n"
			if after := d.talk(t, other+request+behind); !strings.Contains(after, "first") {
				t.Errorf("%s, after another: %q", what, after)
			} else {
				check(what+", after another", after, 1)
			}
		}
		request := "POST /d/main/subscribe/email HTTP/" + version + "\r\nHost: localhost\r\nConnection: keep-alive\r\n" + strings.ReplaceAll(fields, "|", "\r\n") + "\r\n\r\n0\r\n\r\n"
		check(name+", byte by byte", d.talk(t, strings.Split(request+behind, "")...), 0)
	}
	for _, line := range []string{"GET /api/v1/", "GET /healthz", "GET /readyz"} { // net/http reads heads that are longer than 4 KiB
		request := line + " HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 8000) + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		check(line+", in a long head", d.talk(t, request+behind), 0)
	}
	// The end of these requests is certain.
	for _, request := range []string{
		"POST /d/main/subscribe/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"POST /d/main/subscribe/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nX: a\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST /d/main/subscribe/email HTTP/1.1\r\nHost: localhost\r\nX-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	} {
		if received := d.talk(t, request+behind); strings.Count(received, "HTTP/1.1 200 ") != 2 || !strings.Contains(received, "behind") {
			t.Errorf("%q: %q", request, received)
		}
	}
	chunked := d.talk(t, "POST /d/main/subscribe/email HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\n\r\n"+behind)
	if check("chunked", chunked, 0); !strings.HasPrefix(chunked, "HTTP/1.1 200 ") || !strings.Contains(chunked, `"body":"a=b"`) {
		t.Errorf("chunked: %q", chunked)
	}
}
