package legacy

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
)

// maxHeld is the number of bytes of a response that objectsWriter buffers before it sends them.
const maxHeld = 1 << 20

// objectsWriter writes a response with a list of objects, one object after the other, so that its memory does not
// grow with the response. It writes a response of at most maxHeld bytes at once, with a Content-Length. If an error
// occurs after the first bytes were sent, the connection is closed, so that the client does not take the response for
// complete.
type objectsWriter struct {
	w       http.ResponseWriter
	r       *http.Request
	held    bytes.Buffer
	passed  int // number of bytes that were sent, or for a HEAD would have been sent
	objects int
}

// newObjectsWriter begins a response: an object with the members of head, and the beginning of the list.
func newObjectsWriter(w http.ResponseWriter, r *http.Request, head any) *objectsWriter {
	o := &objectsWriter{w: w, r: r}
	o.held.Write(bytes.TrimSuffix(encode(head), []byte("}")))
	if o.held.Len() > 1 {
		o.held.WriteByte(',')
	}
	o.held.WriteString(`"objects":[`)
	return o
}

// add writes an object.
func (o *objectsWriter) add(view any) error {
	body, err := Encode(view)
	if err != nil {
		return err
	}
	if o.objects++; o.objects > 1 {
		o.held.WriteByte(',')
	}
	o.held.Write(body)
	if o.held.Len() <= maxHeld {
		return nil
	}
	if Method(o.r) == http.MethodGet {
		if o.passed == 0 {
			o.header()
			o.w.WriteHeader(http.StatusOK)
		}
		if _, err := o.w.Write(o.held.Bytes()); err != nil {
			return errors.Join(context.Canceled, err) // the client has disconnected
		}
	}
	o.passed += o.held.Len()
	o.held = bytes.Buffer{}
	return nil
}

// end writes the members of tail, which is an object, and the end of the response.
func (o *objectsWriter) end(tail any) {
	o.held.WriteByte(']')
	if members := encode(tail); len(members) > len("{}") {
		o.held.WriteByte(',')
		o.held.Write(members[1:])
	} else {
		o.held.WriteByte('}')
	}
	switch {
	case o.passed == 0:
		o.header()
		WriteJSON(o.w, o.r, http.StatusOK, o.held.Bytes())
	case o.r.Method == http.MethodHead:
		o.header()
		o.w.Header().Set("Content-Length", strconv.Itoa(o.passed+o.held.Len()))
		o.w.WriteHeader(http.StatusOK)
	case Method(o.r) == http.MethodHead:
		o.header()
		WriteJSON(o.w, o.r, http.StatusOK, nil)
	default:
		_, _ = o.w.Write(o.held.Bytes()) // an error means that the client has disconnected
	}
}

func (o *objectsWriter) header() {
	o.w.Header().Set("Cache-Control", "no-cache")
	o.w.Header().Set("Vary", "Accept")
	o.w.Header().Set("Content-Type", "application/json")
}

// begun reports whether a part of the response was sent. Then an error can no longer become the response.
func (o *objectsWriter) begun() bool { return o.passed > 0 && Method(o.r) == http.MethodGet }
