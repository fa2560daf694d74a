package channel

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The test vector of the standard.
func TestASignatureEqualsTheVectorOfTheStandard(t *testing.T) {
	got, err := sign([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzSign(f *testing.F) {
	f.Add("id", []byte("body"), []byte("0123456789abcdef0123456789abcdef"))
	f.Add("", []byte{}, []byte{0})
	f.Fuzz(func(t *testing.T, id string, body, key []byte) {
		verifier, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return // no key or id to the oracle either: there is nothing to compare
		}
		now := time.Now()
		want, err := verifier.Sign(id, now, body)
		if err != nil {
			return // no key or id to the oracle either: there is nothing to compare
		}
		secret := encode(key)
		timestamp := strconv.FormatInt(now.Unix(), 10)
		got, err := sign([]string{encode([]byte("another secret")), secret}, id, timestamp, body)
		if err != nil {
			t.Fatal(err)
		}
		one, err := sign([]string{secret}, id, timestamp, body)
		if err != nil || one != want {
			t.Errorf("got %q, %v, want %q", one, err, want)
		}
		header := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {got}}
		if id != "" {
			if err := verifier.Verify(body, header); err != nil {
				t.Errorf("the second of two signatures does not verify: %v", err)
			}
		}
	})
}

func TestWithoutAReadableSecretNothingIsSigned(t *testing.T) {
	for _, secrets := range [][]string{nil, {"whsec_!"}, {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "no base64"}} {
		if got, err := sign(secrets, "id", "1", nil); err == nil {
			t.Errorf("%q signed %q", secrets, got)
		}
	}
}
