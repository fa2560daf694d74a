package message

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"golang.org/x/net/http/httpguts"
)

// CopyRequestHeader copies the headers that a service may see. It omits hop-by-hop headers, credentials, the
// Idempotency-Key, and all headers with which a client could claim to be another caller, address or trace.
func CopyRequestHeader(out, in http.Header) {
	for name, values := range in {
		switch name {
		case "Proxy-Authorization", "Te", "Expect", "Content-Length",
			"Authorization", "Idempotency-Key", "Forwarded", "X-Real-Ip", "Traceparent", "Tracestate", "Baggage":
			continue
		}
		if !strings.HasPrefix(name, "X-Forwarded-") && mayPass(name, in) {
			out[name] = values
		}
	}
	if cookies, sent := out["Cookie"]; sent {
		removeSession(out, cookies)
	}
	if _, sent := out["User-Agent"]; !sent {
		out["User-Agent"] = nil // without this, the transport sets its own
	}
}

// removeSession sets the header Cookie to the cookies without those that contain a session of the console.
func removeSession(out http.Header, cookies []string) {
	var kept []string
	for _, line := range cookies {
		parts := slices.DeleteFunc(strings.Split(line, ";"), func(part string) bool {
			name, _, _ := strings.Cut(part, "=")
			name = strings.TrimPrefix(textproto.TrimString(name), passport.HostPrefix)
			return name == passport.SessionCookie
		})
		if line = strings.TrimLeft(strings.Join(parts, ";"), " \t"); line != "" {
			kept = append(kept, line)
		}
	}
	delete(out, "Cookie")
	if len(kept) > 0 {
		out["Cookie"] = kept
	}
}

// CopyResponseHeader copies the headers of a service's response that a client may see.
func CopyResponseHeader(out, in http.Header) {
	for name, values := range in {
		if mayPass(name, in) {
			out[name] = values
		}
	}
}

// mayPass reports whether the gateway may copy a header. all are the headers of the message. mayPass returns false for
// hop-by-hop headers (RFC 9110, 7.6.1) and for headers that only parts of the platform may send. It ignores the case of
// passport.HeaderPrefix and of the names in Connection.
func mayPass(name string, all http.Header) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Trailer", "Transfer-Encoding", "Upgrade", "X-Request-Id":
		return false
	}
	if len(name) >= len(passport.HeaderPrefix) && strings.EqualFold(name[:len(passport.HeaderPrefix)], passport.HeaderPrefix) {
		return false
	}
	listed := all["Connection"]
	return len(listed) == 0 || !httpguts.HeaderValuesContainsToken(listed, name)
}
