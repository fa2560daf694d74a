package inbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

const (
	tolerance    = 300 * time.Second // largest allowed difference between the timestamp of a request and now
	maxWebhookID = 255
)

// checkHeaders returns why the headers of Standard Webhooks are wrong. It returns "" if they are right.
func checkHeaders(in Request, now time.Time) string {
	if in.ID == "" || len(in.ID) > maxWebhookID || strings.ContainsFunc(in.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Sprintf("The header webhook-id must be 1 to %d visible ASCII characters.", maxWebhookID)
	}
	seconds, err := strconv.ParseUint(in.Timestamp, 10, 40)
	if err != nil {
		return "The header webhook-timestamp must be the seconds since 1970."
	}
	if age := now.Sub(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return fmt.Sprintf("The header webhook-timestamp must be within %d s of the present time.", int(tolerance.Seconds()))
	}
	return ""
}

// isSigned reports whether one of the signatures in the header was made with the secret (Standard Webhooks 1.0.0). The
// header is a list, separated by spaces. An item is "v1," and a signature in base64. Items of other versions are
// ignored.
func isSigned(secret string, in Request) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, seal.SigningPrefix))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(in.ID + "." + in.Timestamp + "."))
	mac.Write(in.Body)
	want := mac.Sum(nil)
	for entry := range strings.FieldsSeq(in.Signature) {
		version, text, _ := strings.Cut(entry, ",")
		signature, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(signature, want) {
			return true
		}
	}
	return false
}
