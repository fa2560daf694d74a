package channel

import (
	"bytes"
	"crypto/rand"
	"html"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"strings"
	"time"
)

// mailLinks are the links of a recipient. In a shared text they are marks, which sharedMail.write replaces by the links.
type mailLinks struct{ manage, unsubscribe string }

const (
	// The first letters of marks. A mark has only letters and digits, which need no escaping in HTML and in a URL.
	manageMark       = "m"
	unsubscribeMark  = "u"
	softBreak        = "=\r\n" // RFC 2045, 6.7
	headerLine       = 76
	plainContentType = "text/plain; charset=UTF-8"
	htmlContentType  = "text/html; charset=UTF-8"
)

// sharedMail is the part of a mail that is the same for recipients who differ only in their addresses and links.
type sharedMail struct {
	subject, plain string
	body           []bodyPart // the header from MIME-Version on, and the body
}

// bodyPart is a part of an encoded body. mark is the first letter of the mark of the link that follows this part, or "" if no
// link follows. escape escapes the link for a plain text or for HTML.
type bodyPart struct {
	encoded []byte
	mark    string
	escape  func(link string) string
}

// newSharedMail encodes the text. A mark in the text is manageMark or unsubscribeMark followed by mark.
func newSharedMail(text mailText, mark string) sharedMail {
	boundary := rand.Text()
	head := func(contentType string) string {
		return "--" + boundary + "\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Type: " + contentType + "\r\n\r\n"
	}
	shared := sharedMail{subject: text.subject, plain: text.plain}
	shared.add("MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n boundary="+boundary+"\r\n\r\n"+head(plainContentType),
		text.plain, mark, func(link string) string { return link })
	shared.add("\r\n"+head(htmlContentType), text.html, mark, html.EscapeString)
	shared.body = append(shared.body, bodyPart{encoded: []byte("\r\n--" + boundary + "--\r\n")})
	return shared
}

// add appends before and the encoded text. It splits the text at the marks. Soft line breaks before and after each link
// put the link on its own lines.
func (s *sharedMail) add(before, text, mark string, escape func(string) string) {
	texts := strings.Split(text, mark)
	for i, text := range texts {
		part := bodyPart{escape: escape}
		if last := len(text) - 1; i < len(texts)-1 {
			text, part.mark = text[:last], text[last:]
		}
		if part.encoded = append([]byte(before), quoted(text)...); part.mark != "" {
			part.encoded, before = append(part.encoded, softBreak...), softBreak
		}
		s.body = append(s.body, part)
	}
}

// size returns the size of the mail without links in bytes.
func (s sharedMail) size() int {
	n := len(s.subject) + len(s.plain)
	for _, part := range s.body {
		n += len(part.encoded)
	}
	return n
}

// write writes the body with the links of a recipient.
func (s sharedMail) write(out *bytes.Buffer, links mailLinks) {
	for _, part := range s.body {
		out.Write(part.encoded)
		switch part.mark {
		case manageMark:
			out.Write(quoted(part.escape(links.manage)))
		case unsubscribeMark:
			out.Write(quoted(part.escape(links.unsubscribe)))
		}
	}
}

// usable returns the link if it can be written into a mail header and an HTML attribute, else "".
func usable(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(link, "<>\" \\^`{|}") {
		return ""
	}
	return link
}

// quoted returns the text as quoted-printable.
func quoted(text string) []byte {
	var out bytes.Buffer
	writer := quotedprintable.NewWriter(&out)
	_, _ = writer.Write([]byte(text)) // a buffer has no error
	_ = writer.Close()
	return out.Bytes()
}

// mailHeader returns the names and values of the header fields before MIME-Version. It encodes the subject. Users write
// subjects, and a subject must not add a header field.
func mailHeader(from, to, subject, id, unsubscribe string, at time.Time) [][2]string {
	fields := [][2]string{
		{"Date", at.UTC().Format(time.RFC1123Z)},
		{"From", from},
		{"To", (&mail.Address{Address: to}).String()},
		{"Subject", folded(mime.QEncoding.Encode("utf-8", subject), len("Subject: "))},
		{"Message-ID", "<" + id + ">"},
		{"Auto-Submitted", "auto-generated"}, // RFC 3834: suppresses out-of-office replies
	}
	if unsubscribe != "" {
		fields = append(fields, [2]string{"List-Unsubscribe", "<" + unsubscribe + ">"},
			[2]string{"List-Unsubscribe-Post", "List-Unsubscribe=One-Click"}) // RFC 8058
	}
	return fields
}

// folded breaks the value of a header field at spaces (RFC 5322, 2.2.3). used is the number of characters before the
// value in its line.
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
