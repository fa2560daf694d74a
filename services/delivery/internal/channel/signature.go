package channel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// secretPrefix is the start of a signing secret of Standard Webhooks. The rest of the secret is base64.
const secretPrefix = "whsec_"

// sign returns the header webhook-signature (Standard Webhooks 1.0.0): one signature for each secret, separated by
// spaces. A signature is "v1," and the base64 of the HMAC-SHA256 over "id.timestamp.body". During a rotation there are
// two secrets, so that the receiver can verify with the old or the new secret.
func sign(secrets []string, id, timestamp string, body []byte) (string, error) {
	if len(secrets) == 0 {
		return "", errors.New("there is no signing secret")
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil {
			return "", errors.New("a signing secret is not base64") // without the cause, which contains the secret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
