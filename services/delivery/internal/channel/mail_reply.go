package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Codes of mail servers that do not suppress the address. deliverylog.CodeGone and deliverylog.CodeBounce suppress it.
const (
	codeMailLater   = deliverylog.Code("smtp_4xx")
	codeMailRefused = deliverylog.Code("smtp_5xx") // the server refused the mail, not the address
	// codeNoSession means that the server refused the connection, the credentials or the sender. The mail is retried,
	// because the cause is the server or the settings.
	codeNoSession = deliverylog.Code("smtp_session")
)

// refusedRecipient is the error of a server's reply that refuses the recipient.
type refusedRecipient struct{ error }

// Unwrap returns the server's reply.
func (r refusedRecipient) Unwrap() error { return r.error }

// replyCode returns the code of a server's reply to a mail (RFC 5321, 4.2.1), and "" for success. If the server finally
// refuses the address, the code is CodeGone or CodeBounce, which suppress the address. If it refuses the account, the
// sender or the mail, the code does not suppress the address.
func replyCode(ctx context.Context, err error) deliverylog.Code {
	var reply *textproto.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &reply):
		return codeOf(ctx, err)
	case reply.Code < 500:
		return codeMailLater
	case refusesAccount(reply.Code):
		return codeNoSession
	}
	if code, known := statusCode(reply.Msg); known {
		return code
	}
	var recipient refusedRecipient
	if errors.As(err, &recipient) && refusesMailbox(reply.Code) {
		return deliverylog.CodeBounce
	}
	return codeMailRefused
}

// replyOf returns the server's reply that refuses a mail, for the log. It returns the zero value if err is no reply.
func replyOf(err error) deliverylog.Received {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return deliverylog.Received{}
	}
	return deliverylog.Received{Header: http.Header{}, Body: fmt.Appendf(nil, "%d %s", reply.Code, reply.Msg)}
}

// refusesAccount reports whether a reply is about the login (RFC 4954, 6).
func refusesAccount(code int) bool { return code == 530 || code == 534 || code == 535 || code == 538 }

// refusesMailbox reports whether a reply to RCPT is about the mailbox: the mailbox is unavailable, the mailbox is on
// another server, or its name is not allowed (RFC 5321, 4.2.3). It is used for replies without an enhanced status.
func refusesMailbox(code int) bool { return code == 550 || code == 551 || code == 553 }

// statusCode returns the code of the enhanced status at the start of the text (RFC 3463). It returns false if there is
// no enhanced status, if its class is not 5, and for the subject 0 ("undefined").
func statusCode(text string) (deliverylog.Code, bool) {
	status, _, _ := strings.Cut(text, " ")
	class, rest, found := strings.Cut(status, ".")
	subject, detail, both := strings.Cut(rest, ".")
	if !found || !both || class != "5" || subject == "0" {
		return "", false
	}
	switch {
	case subject == "1" && (detail == "7" || detail == "8"): // 3.2: the sender's address
		return codeNoSession, true
	case subject == "1": // 3.2: the recipient's address
		return deliverylog.CodeGone, true
	case subject == "2" && detail != "2" && detail != "3": // 3.3: the mailbox, but not a full one or too long a mail
		return deliverylog.CodeBounce, true
	}
	return codeMailRefused, true // 3.4 to 3.8: systems, routes, protocol, content, and policy
}
