// Package message contains the rules for HTTP messages that several parts of the gateway share: which headers may pass,
// how a body is read, and how a response that is complete in memory is sent.
package message

import (
	"net/http"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/etag"
)

// Response is a response that is complete in memory. It is never changed.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	ETag   string
}

// NewResponse returns a response with those headers of a service that may pass. A response with status 200 and no ETag
// gets the ETag of its body.
func NewResponse(status int, header http.Header, body []byte) Response {
	out := Response{Status: status, Header: http.Header{}, Body: body}
	CopyResponseHeader(out.Header, header)
	out.Header.Del("Date")
	out.Header.Set("Content-Length", strconv.Itoa(len(body)))
	out.ETag = out.Header.Get("Etag")
	if out.ETag == "" && status == http.StatusOK {
		out.ETag = etag.Of(body)
		out.Header.Set("Etag", out.ETag)
	}
	return out
}

// Text returns a plain text response with one line and without a status, for WriteAs.
func Text(line string) *Response {
	out := NewResponse(0, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(line+"\n"))
	return &out
}

// Write sends the response. It sends 304 if the client has this version already.
func (p *Response) Write(w http.ResponseWriter, r *http.Request) {
	if p.Status == http.StatusOK && len(r.Header["If-None-Match"]) > 0 && etag.Match(r.Header["If-None-Match"], p.ETag) {
		out := w.Header()
		for name, values := range p.Header {
			switch name {
			case "Content-Length", "Content-Type", "Content-Encoding":
			default:
				out[name] = values
			}
		}
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.WriteAs(w, r, p.Status)
}

// WriteAs sends the response with the status of the call. If this status differs from p.Status, WriteAs omits the ETag,
// which is valid only for p.Status.
func (p *Response) WriteAs(w http.ResponseWriter, r *http.Request, status int) {
	out := w.Header()
	for name, values := range p.Header {
		out[name] = values
	}
	if status != p.Status {
		delete(out, "Etag")
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.Body) // fails only if the client has left
	}
}
