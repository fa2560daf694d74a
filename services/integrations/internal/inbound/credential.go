package inbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// check returns why the request is refused before its secret or signature is compared. It returns "" if it is not refused.
func (in Request) check(now time.Time) string {
	switch {
	case in.Format == "":
		return checkHeaders(in, now)
	case in.Signature == "" || in.Timestamp == "":
		return ""
	}
	seconds, err := strconv.ParseUint(in.Timestamp, 10, 40)
	if err != nil {
		return "The header X-Grafana-Alerting-Timestamp must be the seconds since 1970."
	}
	if age := now.Sub(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return "The header X-Grafana-Alerting-Timestamp must be within 300 s of the present time."
	}
	return ""
}

// prove returns why the credential of the request is refused: the signature or the secret is wrong, or the key does not
// accept its secret as a token. It returns "" if the credential is accepted.
func (in Request) prove(key Key, secret string) string {
	switch {
	case in.Format == "":
		if !isSigned(secret, in) {
			return "No signature in the header webhook-signature is right."
		}
	case in.Signature != "":
		if !isSignedByGrafana(secret, in) {
			return "The signature in the header X-Grafana-Alerting-Signature is wrong."
		}
	case subtle.ConstantTimeCompare([]byte(secret), []byte(in.Token)) != 1:
		return "The secret in the header Authorization is wrong."
	case !key.Bearer:
		return "The key does not accept its secret in the header Authorization. Set bearer."
	}
	return ""
}

// isSignedByGrafana reports whether the signature of Grafana's webhook was made with the whole text of the secret. The
// signature is HMAC-SHA256 over the body. If there is a timestamp, it is over the timestamp, a colon and the body.
func isSignedByGrafana(secret string, in Request) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	if in.Timestamp != "" {
		mac.Write([]byte(in.Timestamp + ":"))
	}
	mac.Write(in.Body)
	signature, err := hex.DecodeString(in.Signature)
	return err == nil && hmac.Equal(signature, mac.Sum(nil))
}

// grafanaID returns the id of a message that Grafana has signed. A request with the same body and timestamp has the same
// signature, so it has the same id.
func grafanaID(signature string) string { return "grafana-" + strings.ToLower(signature) }
