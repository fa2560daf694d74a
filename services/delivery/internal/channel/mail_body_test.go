package channel

import (
	"bytes"
	"crypto/rand"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// mailChannel returns the channel without a server.
func mailChannel(t testing.TB) email {
	return email{
		from: &mail.Address{Name: "Störung", Address: "status@bellbuoy.test"}, locales: locales(t), confirmWithin: 48 * time.Hour, mark: rand.Text(),
	}
}

// personalMessage returns a message to a subscriber with links.
func personalMessage() dispatch.Message {
	message := messageOf(topic.IncidentCreated, "investigating")
	message.DeliveryID = "0190a000-0000-7000-8000-0000000000c1"
	message.To.Address = "someone@example.com"
	message.To.Unsubscribe = "https://status.test/public/unsubscribe?token=" + strings.Repeat("a=&b", 40)
	message.To.Manage = "https://status.test/public/manage?token=" + strings.Repeat("c", 120)
	message.Change.Event.DescriptionText = strings.Repeat("We look into it, äöü. ", 20)
	message.Change.Event.DescriptionHTML = "<p>" + message.Change.Event.DescriptionText + "</p>"
	return message
}

// readMail returns the header and the decoded parts of a mail.
func readMail(t testing.TB, content []byte) (mail.Header, map[string]string) {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the type is %q (%v)", kind, err)
	}
	parts := make(map[string]string)
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for part, err := reader.NextPart(); err != io.EOF; part, err = reader.NextPart() {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part) // decodes quoted-printable
		if err != nil {
			t.Fatal(err)
		}
		parts[part.Header.Get("Content-Type")] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return message.Header, parts
}

// The shared body with the links of a recipient says the same as the templates with these links.
func TestASharedMailSaysTheSameAsTheTemplates(t *testing.T) {
	e := mailChannel(t)
	shared := personalMessage()
	for name, set := range map[string]func(*topic.Destination){
		"both": func(*topic.Destination) {},
		"another": func(to *topic.Destination) {
			to.Unsubscribe, to.Manage = "https://status.test/u?a=1&b=2", "https://status.test/m?a=1&b=2"
		},
		"unsubscribe": func(to *topic.Destination) { to.Manage = "" },
		"manage":      func(to *topic.Destination) { to.Unsubscribe = "" },
		"none":        func(to *topic.Destination) { to.Manage, to.Unsubscribe = "", "" },
	} {
		message, to := shared, *shared.To
		set(&to)
		message.To = &to
		for range 2 { // the second from the cache
			written, err := e.write(t.Context(), message)
			if err != nil {
				t.Fatal(err)
			}
			want, err := mailTo(t, message)
			if err != nil {
				t.Fatal(err)
			}
			header, parts := readMail(t, written.content)
			if parts[plainContentType] != want.plain || parts[htmlContentType] != want.html || string(written.sent.Body) != want.plain || written.sent.Header.Get("Subject") != want.subject {
				t.Errorf("%s: the mail is %q, want %+v", name, parts, want)
			}
			if got := header.Get("List-Unsubscribe"); got != "" && got != "<"+to.Unsubscribe+">" || (got == "") != (to.Unsubscribe == "") ||
				(header.Get("List-Unsubscribe-Post") == "List-Unsubscribe=One-Click") != (to.Unsubscribe != "") {
				t.Errorf("%s: the header is %v", name, header)
			}
			for line := range strings.SplitSeq(string(written.content), "\r\n") {
				if len(line) > 78 && !strings.HasPrefix(line, "List-Unsubscribe:") || strings.ContainsAny(line, "\x00\n\r") {
					t.Errorf("%s: the line %q", name, line)
				}
			}
		}
	}
}

// A link that could add a header or an element is omitted.
func TestALinkThatCouldAddAHeaderOrAnElementIsOmitted(t *testing.T) {
	for _, link := range []string{"javascript:alert(1)", "https://x.test/\r\nBcc: a@b.test", "https://x.test/> <b", `https://x.test/"onclick="`, "mailto:a@b.test", "://"} {
		message := personalMessage()
		message.To.Unsubscribe, message.To.Manage = link, link
		written, err := mailChannel(t).write(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		header, parts := readMail(t, written.content)
		if header.Get("List-Unsubscribe") != "" || header["Bcc"] != nil || strings.Contains(parts[htmlContentType]+parts[plainContentType], "Unsubscribe") {
			t.Errorf("%q: %s", link, written.content)
		}
	}
}

// Publishers cannot write the marks, and their texts arrive unchanged.
func TestAnyTextOfAPublisherArrivesUnchanged(t *testing.T) {
	e := mailChannel(t)
	for _, text := range []string{"\x00u\x00U", "=\r\n=00", "unsubscribeABC", "a \t", strings.Repeat("=", 300), ".\n.\n..", "\r\n\r\n--x--\r\n"} {
		message := personalMessage()
		message.Change.Event.DescriptionText, message.Change.Event.DescriptionHTML, message.Change.Event.Title = "start"+text+"end", "", text
		written, err := e.write(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		_, parts := readMail(t, written.content)
		if want := strings.ReplaceAll("start"+text+"end", "\r\n", "\n"); !strings.Contains(parts[plainContentType], want) || len(parts) != 2 {
			t.Errorf("%q: %q", text, parts)
		}
	}
}

// The legacy interface keeps the subject and the texts of a publisher as they were sent. What would reverse other text is
// left out of each message.
func TestNoMessageReversesOtherText(t *testing.T) {
	message := personalMessage()
	const turned = "Down\u202e since\u2067 noon"
	message.Change.Notify = map[topic.Channel]topic.Wording{topic.Email: {Subject: turned}, topic.SMS: {Text: turned}, topic.WhatsApp: {Text: turned}, topic.Teams: {Message: turned}}
	mail, err := eventText(t.Context(), localeOf(locales(t), message), message, mailLinks{})
	if err != nil || mail.subject != "Down since noon" {
		t.Errorf("the subject is %q (%v)", mail.subject, err)
	}
	if text, err := textOf(t.Context(), locales(t), time.Hour, message); err != nil || text != "Down since noon" {
		t.Errorf("the SMS is %q (%v)", text, err)
	}
	if values := variablesOf([5]string{turned, turned, turned, "", turned}); strings.ContainsAny(values, "\u202e\u2067") {
		t.Errorf("the variables are %q", values)
	}
	card, err := renderCard(localeOf(locales(t), message), &message.Change.EventChange, message.To.Dashboard, nil)
	if err != nil || strings.ContainsAny(string(card), "\u202e\u2067") || !strings.Contains(string(card), "Down since noon") {
		t.Errorf("the card is %s (%v)", card, err)
	}
}

// A long subject arrives whole, in lines of at most 78 characters.
func TestALongSubjectArrivesWholeInShortLines(t *testing.T) {
	for _, subject := range []string{
		strings.Repeat("word ", 49) + "end", strings.Repeat("Störung €😀", 25), strings.Repeat("x", 250), "two  spaces and   three", strings.Repeat("a ", 20) + "=?utf-8?q?x?=",
	} {
		var out bytes.Buffer
		for _, field := range mailHeader("a@b.test", "c@d.test", subject, "i@b.test", "", time.Now()) {
			out.WriteString(field[0] + ": " + field[1] + "\r\n")
		}
		message, err := mail.ReadMessage(strings.NewReader(out.String() + "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\r\n") {
			if len(line) > 78 && strings.Contains(subject, " ") {
				t.Errorf("the line %q", line)
			}
		}
		if got, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil || got != subject && !strings.Contains(subject, "=?") {
			t.Errorf("%q: %q (%v)", subject, got, err)
		}
	}
}

// BenchmarkMail is the rendering of one of many personal mails.
func BenchmarkMail(b *testing.B) {
	e, message := mailChannel(b), personalMessage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.write(b.Context(), message); err != nil {
			b.Fatal(err)
		}
	}
}
