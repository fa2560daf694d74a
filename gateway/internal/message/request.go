package message

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// MaxBody bounds the body of a request, in bytes, unless its route has another limit. The services have the same limits.
const MaxBody = 1 << 20

// maxRefused is the maximum number of bytes that are read from a body that is too large. If a server responds and leaves
// more than 256 KiB unread, net/http closes the connection half a second later, and a client that still sends sees a broken
// connection instead of the response.
const maxRefused = 16 << 20

// Body returns the whole body, or an error if the body is too large or ends early. The gateway reads the body before it
// connects to a service. So a client that sends slowly or breaks off does not occupy a service.
func Body(r *http.Request) ([]byte, error) { return BodyWithin(r, MaxBody) }

// BodyWithin is Body with the limit most, in bytes.
func BodyWithin(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	var body []byte
	var err error
	if r.ContentLength <= most {
		body, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	}
	switch {
	case err != nil:
		return nil, fault.Wrap(fault.Invalid, err, "The body is shorter than its Content-Length.")
	case r.ContentLength > most || int64(len(body)) > most:
		if r.ContentLength <= maxRefused && r.Header.Get("Expect") == "" { // a client that expects 100 has sent no body
			_, _ = io.CopyN(io.Discard, r.Body, maxRefused) // the response is the same if it fails
		}
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", most)
	}
	return body, nil
}

// WantsHTML reports whether the client is a browser that asks for a page.
func WantsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// EscapedPath returns the path in a form that is still to be unescaped, with an escaped slash as it was sent. It is faster than
// u.EscapedPath for the usual path, in which nothing is escaped.
func EscapedPath(u *url.URL) string {
	if u.RawPath == "" && !strings.Contains(u.Path, "%") {
		return u.Path
	}
	return u.EscapedPath()
}

// Hostname returns the name in a Host header in lower case, without the port and a dot at the end.
func Hostname(host string) string {
	return strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
}

// UnknownPath returns the error for a path that no route of the gateway has.
func UnknownPath() error { return fault.New(fault.NotFound, "There is nothing at this path.") }
