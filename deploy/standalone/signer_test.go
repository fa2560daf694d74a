package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// signer acts as a monitoring tool with a signing key. It signs with the library of the Standard Webhooks project.
type signer struct{ base, keyID, secret string }

// signer creates a signing key.
func (a actor) signer(name string) signer {
	a.t.Helper()
	id, secret := a.signingKey(name)
	return signer{a.BaseURL, id, secret}
}

// try sends a message that was signed at this time.
func (s signer) try(ctx context.Context, id string, at time.Time, message any) (answer, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return answer{}, err
	}
	timestamp, signature, err := sign(s.secret, id, at, body)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/public/webhooks/inbound", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "webhook-key-id": s.keyID, "webhook-id": id,
		"webhook-timestamp": timestamp, "webhook-signature": signature,
	} {
		request.Header.Set(name, value)
	}
	return do(request)
}
