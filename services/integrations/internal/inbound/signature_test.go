package inbound

import (
	"os"
	"strings"
	"testing"
	"time"
)

// The vector of the Standard Webhooks specification.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func vector() Request {
	return Request{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Timestamp: "1614265330", Body: []byte(`{"test": 2432232314}`), Signature: vectorSignature}
}

func TestSignatureOfTheStandard(t *testing.T) {
	in := vector()
	if !isSigned(vectorSecret, in) {
		t.Error("the vector of the standard is refused")
	}
	for _, age := range []int64{300, -300} {
		if reason := checkHeaders(in, time.Unix(1614265330+age, 0)); reason != "" {
			t.Errorf("%d s: %s", age, reason)
		}
	}
	if checkHeaders(in, time.Unix(1614265330+301, 0)) == "" || checkHeaders(in, time.Unix(1614265330-301, 0)) == "" {
		t.Error("301 s are admitted")
	}
	for name, change := range map[string]func(*Request){
		"id": func(in *Request) { in.ID += "x" }, "timestamp": func(in *Request) { in.Timestamp = "1614265331" },
		"body": func(in *Request) { in.Body = []byte(`{"test": 2432232315}`) }, "version": func(in *Request) { in.Signature = "v2" + vectorSignature[2:] },
	} {
		other := vector()
		change(&other)
		if isSigned(vectorSecret, other) {
			t.Errorf("another %s is accepted", name)
		}
	}
}

// The headers are those that the webhook notifier of Grafana sent with the captured body and the secret of the vector.
func TestTheSignatureThatGrafanaSentIsAccepted(t *testing.T) {
	body, err := os.ReadFile("../../testdata/monitors/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	in := Request{Timestamp: "1795708248", Signature: "52f9bd8994c7fb8f763052e8d7e7ed3b960ad14750c7679e08ddf0d1573fde60", Body: body}
	if !isSignedByGrafana(vectorSecret, in) {
		t.Error("the signature is refused")
	}
	if in.Timestamp = "1795708249"; isSignedByGrafana(vectorSecret, in) {
		t.Error("another timestamp is accepted")
	}
}

// Whatever surrounds it in the header, exactly the right signature is accepted.
func FuzzSignatureHeader(f *testing.F) {
	f.Add("", "")
	f.Add("v1,", " v1a,AAAA")
	f.Add("v2,AAAA v1", ",,, ")
	f.Add("\t", "\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		in := vector()
		in.Signature = before + " " + vectorSignature + " " + after
		if !isSigned(vectorSecret, in) {
			t.Errorf("refused: %q", in.Signature)
		}
		in.Signature = before + after
		if isSigned(vectorSecret, in) && !strings.Contains(in.Signature, vectorSignature[:40]) {
			t.Errorf("accepted: %q", in.Signature)
		}
		in.ID, in.Timestamp = before, after
		if reason := checkHeaders(in, time.Unix(1614265330, 0)); reason == "" && strings.Trim(after, "0123456789") != "" {
			t.Errorf("the timestamp %q is admitted", after)
		}
	})
}
