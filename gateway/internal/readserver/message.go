package readserver

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// parse returns the request with this head. It returns nil if net/http must read the request: if it is not a GET or
// HEAD of HTTP/1.1 with one Host header, if it has a body or a Connection header other than keep-alive, or if anything
// in it is unusual or wrong. parse reuses the memory of former, an earlier request.
func parse(head []byte, former *http.Request) *http.Request {
	text, whole := strings.CutSuffix(string(head), "\r\n\r\n")
	if !whole {
		return nil
	}
	line, rest, _ := strings.Cut(text, "\r\n")
	method, line, _ := strings.Cut(line, " ")
	target, protocol, _ := strings.Cut(line, " ")
	if method != http.MethodGet && method != http.MethodHead || !strings.HasPrefix(target, "/") || protocol != "HTTP/1.1" {
		return nil
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	clear(former.Header)
	*former = http.Request{
		Method: method, URL: u, RequestURI: target, Proto: protocol, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
		Header: former.Header, RemoteAddr: former.RemoteAddr,
	}
	request := former
	values := make([]string, 0, strings.Count(rest, "\n")+1) // one slice for the values of all header fields
	for more := true; more; {
		line, rest, more = strings.Cut(rest, "\r\n")
		name, value, isField := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !isField || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil
		}
		switch name = http.CanonicalHeaderKey(name); name {
		case "Host":
			if request.Host != "" || value == "" || !httpguts.ValidHostHeader(value) {
				return nil
			}
			request.Host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return nil
			}
		case "Content-Length", "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Http2-Settings":
			return nil
		}
		values = append(values, value)
		if former := request.Header[name]; former != nil {
			request.Header[name] = append(former, value)
			continue
		}
		request.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if request.Host == "" {
		return nil
	}
	return request
}

// hidesLength reports whether a head has both Content-Length and Transfer-Encoding, or Transfer-Encoding in HTTP/1.0. A
// proxy in front and net/http may then disagree where the request ends, because net/http silently ignores one of these
// fields (RFC 9112, 6.1).
func hidesLength(head []byte) bool {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	var length, encoding bool
	for field := range bytes.Lines(rest) {
		name, _, _ := bytes.Cut(field, []byte(":"))
		name = bytes.TrimRight(name, " \t") // a line that begins with a blank continues the previous field
		length = length || bytes.EqualFold(name, []byte("Content-Length"))
		encoding = encoding || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	}
	return encoding && (length || bytes.HasSuffix(bytes.TrimSpace(line), []byte(" HTTP/1.0")))
}

// response implements http.ResponseWriter. It sends the head and the first part of the body in one system call.
type response struct {
	conn    net.Conn
	request *http.Request
	header  http.Header // header and head are reused for the next response
	head    []byte
	last    bool // the connection is closed after this response
	status  int
	sent    bool // the head was sent
	missing int  // bytes of the body that are not written yet
	parts   net.Buffers
	room    [2][]byte // backing array of parts
	date    []byte    // value of the header Date in the second dateAt (Unix time)
	dateAt  int64
}

var errLength = errors.New("readserver: the body does not have the length that its head states")

// serve sends the response of the handler. If it returns an error, the connection cannot serve another request.
func (r *response) serve(handler http.Handler, request *http.Request, last bool) error {
	clear(r.header)
	*r = response{conn: r.conn, header: r.header, head: r.head[:0], request: request, last: last, date: r.date, dateAt: r.dateAt}
	handler.ServeHTTP(r, request)
	if !r.sent {
		if _, err := r.Write(nil); err != nil {
			return err
		}
	}
	if r.missing != 0 {
		return errLength
	}
	return nil
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter. The head is sent with the body, or when the handler returns.
func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter. It returns an error if the body is longer than Content-Length. A missing
// Content-Length counts as 0.
func (r *response) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	size := len(data)
	if r.request.Method == http.MethodHead {
		data = nil
	}
	if r.sent {
		return r.write(size, nil, data)
	}
	r.sent = true
	if values := r.header["Content-Length"]; len(values) == 1 && r.request.Method != http.MethodHead {
		r.missing, _ = strconv.Atoi(values[0]) // the gateway has set a valid number
	}
	r.appendHead()
	return r.write(size, r.head, data)
}

// write sends a head, which may be nil, and a part of the body. It returns size if it succeeds.
func (r *response) write(size int, head, body []byte) (int, error) {
	if r.missing -= len(body); r.missing < 0 {
		return 0, errLength
	}
	r.parts = append(r.room[:0], head, body)
	if _, err := r.parts.WriteTo(r.conn); err != nil {
		r.missing = -1
		return 0, err
	}
	return size, nil
}

// appendHead builds the head in the form that net/http writes.
func (r *response) appendHead() {
	head := append(r.head, "HTTP/1.1 "...)
	head = strconv.AppendInt(head, int64(r.status), 10)
	head = append(append(head, ' '), http.StatusText(r.status)...)
	for name, values := range r.header {
		for _, value := range values {
			if strings.IndexByte(value, '\r') >= 0 || strings.IndexByte(value, '\n') >= 0 {
				continue // a line break would end the header field
			}
			head = append(append(append(append(head, "\r\n"...), name...), ": "...), value...)
		}
	}
	if r.last {
		head = append(head, "\r\nConnection: close"...)
	}
	if now := time.Now(); now.Unix() != r.dateAt {
		r.date, r.dateAt = now.UTC().AppendFormat(r.date[:0], http.TimeFormat), now.Unix()
	}
	r.head = append(append(append(head, "\r\nDate: "...), r.date...), "\r\n\r\n"...)
}
