package deliverylog

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxLogged = 16 << 10 // maximum size of a response's body in a log, in bytes
	// In stored requests these marks replace the values that differ between deliveries with the same text.
	markDelivery = "\x00delivery\x00"
	markTime     = "\x00time\x00"
)

// Request is the request of an attempt as the log shows it, without secrets. Deliveries of one change with the same
// text share one Request.
type Request struct {
	ID       string    `json:"id"`
	StoredAt time.Time `json:"storedAt"`
	Method   string    `json:"method,omitempty"`
	Header   string    `json:"header,omitempty"` // lines, as in Response
	Body     string    `json:"body,omitempty"`
}

// Response is the response to an attempt as the log shows it, without secrets.
type Response struct {
	Header string `json:"header,omitempty"` // one line for each name: "Name: value"; several values of a name are joined by ", "
	Body   string `json:"body,omitempty"`   // at most maxLogged bytes
}

// Sent is the request of an attempt, with its secrets. Requests with the same Text differ only in the delivery's id,
// the time, and the texts that logs hide.
type Sent struct {
	Text   string // key of the text; empty: no other delivery shares the text
	Method string
	Header http.Header
	Body   []byte
	Hidden []string // further texts that logs must not show, besides the secrets of the destination
}

// Received is the response to an attempt. Body is only the beginning of the response's body.
type Received struct {
	Header http.Header
	Body   []byte
}

// requestKey returns the number that identifies the request among the requests of its change.
func requestKey(channel topic.Channel, sent *Sent, delivery string) int64 {
	return Hash(string(channel), cmp.Or(sent.Text, delivery))
}

// requestID returns the id of a stored request.
func requestID(change string, key int64) string {
	return change + "-" + strconv.FormatUint(uint64(key), 16) //nolint:gosec // keeps all 64 bits
}

// LogExchange sets Request and Response for the attempt that began at SentAt. If the request is not stored yet,
// LogExchange returns it. For nearly every delivery the request of another delivery is stored already.
func (d *Delivery) LogExchange(to *topic.Destination, sent *Sent, received *Received, isStored func(request int64) bool) (missing *Request) {
	d.Request, d.Response = 0, nil
	if sent.Body != nil {
		if d.Request = requestKey(d.Channel, sent, d.ID); !isStored(d.Request) {
			missing = newRequest(d, to, sent)
		}
	}
	if received.Header != nil {
		d.Response = newResponse(to, sent, received)
	}
	return missing
}

// newRequest returns the request of the delivery to be stored, with marks and without secrets.
func newRequest(d *Delivery, to *topic.Destination, sent *Sent) *Request {
	hidden := secretsOf(to, sent)
	marks := strings.NewReplacer(d.ID, markDelivery)
	timed := strings.NewReplacer(d.ID, markDelivery, strconv.FormatInt(d.SentAt.Unix(), 10), markTime, d.SentAt.UTC().Format(time.RFC1123Z), markDate)
	return &Request{
		ID: requestID(d.ChangeID, d.Request), StoredAt: d.SentAt, Method: sent.Method,
		Header: timed.Replace(hidden.hide(headerText(sent.Header))),
		Body:   marks.Replace(hidden.hide(strings.ToValidUTF8(string(sent.Body), "\uFFFD"))),
	}
}

// shown returns the request as the log d shows it. It replaces the marks by the values of d.
func (r *Request) shown(d *Delivery) Request {
	values := strings.NewReplacer(markDelivery, topic.LogID(d.ID, 0), markTime, strconv.FormatInt(d.SentAt.Unix(), 10),
		markDate, d.SentAt.UTC().Format(time.RFC1123Z))
	return Request{Method: r.Method, Header: values.Replace(r.Header), Body: values.Replace(r.Body)}
}

// newResponse returns the response to be stored, without secrets. For most responses it need not search, because they
// contain no text that could be a secret.
func newResponse(to *topic.Destination, sent *Sent, received *Received) *Response {
	response := &Response{Header: headerText(received.Header), Body: string(received.Body)}
	if len(response.Body) < minSecret && plainHeader(received.Header) {
		response.Body = strings.ToValidUTF8(response.Body, "\uFFFD")
		return response
	}
	hidden := secretsOf(to, sent).addURL(to.URL)
	response.Header = hideURLs(hidden.hide(response.Header))
	if len(received.Body) > 0 {
		response.Body = beginning(hideURLs(hidden.hide(strings.ToValidUTF8(response.Body, "\uFFFD"))), len(received.Body) >= maxLogged, hidden)
	}
	return response
}

// plainHeader reports whether no value of the header can contain a secret.
func plainHeader(header http.Header) bool {
	for name, values := range header {
		for _, value := range values {
			switch {
			case !slices.Contains(plainNames, name):
				return false
			case len(value) < minSecret || slices.Contains(plainValues, value):
			case name != "Date":
				return false
			default:
				if _, err := time.Parse(http.TimeFormat, value); err != nil {
					return false
				}
			}
		}
	}
	return true
}

// beginning returns at most maxLogged bytes of the text. If the text was cut, by beginning or already before, its end may be
// the start of a secret. Then beginning replaces this end by mask.
func beginning(text string, cut bool, hidden secrets) string {
	if len(text) > maxLogged {
		for cut = true; len(text) > maxLogged || !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]); {
			_, size := utf8.DecodeLastRuneInString(text)
			text = text[:len(text)-size]
		}
	}
	if !cut {
		return text
	}
	for _, secret := range hidden {
		for _, form := range spellings(secret) {
			for n := min(len(form)-1, len(text)); n >= minSecret; n-- {
				if strings.HasSuffix(text, form[:n]) {
					return text[:len(text)-n] + mask
				}
			}
		}
	}
	return text
}

// Lines returns the headers of a stored Request or Response by name.
func Lines(text string) map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		out[http.CanonicalHeaderKey(name)] = value
	}
	return out
}

// unlogged are the tracing headers. The log omits them, because they differ for each delivery.
var unlogged = []string{"Traceparent", "Tracestate", "Baggage"}

// secretHeaders are the headers whose values the log hides.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Set-Cookie2", "X-Api-Key", "Webhook-Signature"}

// plainNames and plainValues are the usual names and values in the headers of responses.
var (
	plainNames  = []string{"Date", "Content-Length", "Content-Type", "Connection", "Server", "Vary", "Cache-Control", "X-Content-Type-Options"}
	plainValues = []string{"application/json", "application/json; charset=utf-8", "text/plain", "text/plain; charset=utf-8", "text/html; charset=utf-8",
		"keep-alive", "close", "nginx", "cloudflare", "Origin", "Accept-Encoding", "no-cache", "no-store", "nosniff"}
)

// headerText returns the headers as lines, without secret values.
func headerText(header http.Header) string {
	var out strings.Builder
	names := make([]string, 0, len(header))
	for name := range header {
		if !slices.Contains(unlogged, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names) // so that equal headers have the same text
	for _, name := range names {
		value := strings.Join(header[name], ", ")
		if slices.Contains(secretHeaders, http.CanonicalHeaderKey(name)) {
			value = mask
		}
		out.WriteString(name)
		out.WriteString(": ")
		out.WriteString(strings.ToValidUTF8(value, "\uFFFD"))
		out.WriteByte('\n')
	}
	return out.String()
}
