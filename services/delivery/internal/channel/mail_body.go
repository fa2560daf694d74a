package channel

import (
	"bytes"
	"crypto/rand"
	"html"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// mailLinks are the links of a recipient, or marks in their places.
type mailLinks struct{ manage, unsubscribe string }

// Marks in a shared body: a byte that quoted-printable never has, and which link follows, as text or as HTML.
const (
	markByte         = 0
	manageText       = 'm'
	manageHTML       = 'M'
	unsubscribeText  = 'u'
	unsubscribeHTML  = 'U'
	softBreak        = "=\r\n" // RFC 2045, 6.7
	headerLine       = 76
	quotedTransfer   = "quoted-printable"
	plainContentType = "text/plain; charset=UTF-8"
	htmlContentType  = "text/html; charset=UTF-8"
)

// newMailMarks returns marks that a publisher cannot write, because they are random. Their letters and digits are the
// same in HTML and in a URL.
func newMailMarks() mailLinks {
	return mailLinks{manage: "manage" + rand.Text(), unsubscribe: "unsubscribe" + rand.Text()}
}

// of returns the marks for the links that the recipient has.
func (m mailLinks) of(links mailLinks) mailLinks {
	if links.manage == "" {
		m.manage = ""
	}
	if links.unsubscribe == "" {
		m.unsubscribe = ""
	}
	return m
}

// replace returns the text with the links in the places of the marks.
func (m mailLinks) replace(text string, links mailLinks) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, m.manage, links.manage), m.unsubscribe, links.unsubscribe)
}

// usable returns the link if a header and an attribute of HTML can hold it, else "".
func usable(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(link, "<>\" \\^`{|}") {
		return ""
	}
	return link
}

// sharedBody returns the body of a mail with the two parts, from the header Content-Type on. It encodes everything
// except the links in the places of marks.
func sharedBody(text mailText, marks mailLinks) ([]byte, error) {
	var parts bytes.Buffer
	writer := multipart.NewWriter(&parts)
	for _, part := range []struct {
		contentType, text   string
		manage, unsubscribe byte
	}{
		{plainContentType, text.plain, manageText, unsubscribeText},
		{htmlContentType, text.html, manageHTML, unsubscribeHTML},
	} {
		out, err := writer.CreatePart(textproto.MIMEHeader{"Content-Type": {part.contentType}, "Content-Transfer-Encoding": {quotedTransfer}})
		if err != nil {
			return nil, err
		}
		encoded := quoted(part.text)
		if marks != (mailLinks{}) {
			encoded = quotedAround(part.text, marks, part.manage, part.unsubscribe)
		}
		if _, err := out.Write(encoded); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	head := "MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n boundary=" + writer.Boundary() + "\r\n\r\n"
	return append([]byte(head), parts.Bytes()...), nil
}

// quoted returns the text as quoted-printable.
func quoted(text string) []byte {
	var out bytes.Buffer
	writer := quotedprintable.NewWriter(&out)
	_, _ = writer.Write([]byte(text)) // a buffer has no error
	_ = writer.Close()
	return out.Bytes()
}

// quotedAround returns the text as quoted-printable with short marks. A soft break before and after a mark gives the
// link lines of its own.
func quotedAround(text string, marks mailLinks, manage, unsubscribe byte) []byte {
	var out []byte
	for text != "" {
		before, mark, short := text, "", byte(0)
		if at := strings.Index(before, marks.manage); at >= 0 && marks.manage != "" {
			before, mark, short = text[:at], marks.manage, manage
		}
		if at := strings.Index(before, marks.unsubscribe); at >= 0 && marks.unsubscribe != "" {
			before, mark, short = text[:at], marks.unsubscribe, unsubscribe
		}
		out = append(out, quoted(before)...)
		if mark != "" {
			out = append(append(append(out, softBreak...), markByte, short), softBreak...)
		}
		text = text[len(before)+len(mark):]
	}
	return out
}

// personal appends the shared body with the links of a recipient to out.
func personal(out *bytes.Buffer, shared []byte, links mailLinks) {
	for {
		at := bytes.IndexByte(shared, markByte)
		if at < 0 {
			out.Write(shared)
			return
		}
		out.Write(shared[:at])
		switch shared[at+1] {
		case manageText:
			out.Write(quoted(links.manage))
		case manageHTML:
			out.Write(quoted(html.EscapeString(links.manage)))
		case unsubscribeText:
			out.Write(quoted(links.unsubscribe))
		case unsubscribeHTML:
			out.Write(quoted(html.EscapeString(links.unsubscribe)))
		}
		shared = shared[at+2:]
	}
}

// mailHead is the input of the header of a mail.
type mailHead struct {
	from        string // RFC 5322, encoded
	to          *mail.Address
	subject     string
	at          time.Time
	id          string // with its domain
	unsubscribe string // may be empty
}

// fields returns the names and values of the header up to the content. It encodes the subject, which users wrote, so that it
// cannot add a header.
func (h mailHead) fields() [][2]string {
	fields := [][2]string{
		{"Date", h.at.UTC().Format(time.RFC1123Z)},
		{"From", h.from},
		{"To", h.to.String()},
		{"Subject", folded(mime.QEncoding.Encode("utf-8", h.subject), len("Subject: "))},
		{"Message-ID", "<" + h.id + ">"},
		{"Auto-Submitted", "auto-generated"}, // RFC 3834: suppresses out-of-office replies
	}
	if h.unsubscribe != "" {
		fields = append(fields, [2]string{"List-Unsubscribe", "<" + h.unsubscribe + ">"},
			[2]string{"List-Unsubscribe-Post", "List-Unsubscribe=One-Click"}) // RFC 8058
	}
	return fields
}

// write writes the header.
func (h mailHead) write(out *bytes.Buffer) {
	for _, field := range h.fields() {
		out.WriteString(field[0] + ": " + field[1] + "\r\n")
	}
}

// logged returns the header for the log, with the subject as it was before it was encoded.
func (h mailHead) logged() http.Header {
	header := make(http.Header)
	for _, field := range h.fields() {
		header[http.CanonicalHeaderKey(field[0])] = []string{field[1]}
	}
	header["Subject"] = []string{h.subject}
	return header
}

// folded breaks the value of a header at spaces (RFC 5322, 2.2.3). used is the length of the line in front of it.
func folded(value string, used int) string {
	var out strings.Builder
	for i, word := range strings.Split(value, " ") {
		switch {
		case i == 0:
		case used+1+len(word) > headerLine && word != "":
			out.WriteString("\r\n ")
			used = 1
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += len(word)
	}
	return out.String()
}
