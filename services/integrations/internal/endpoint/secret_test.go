package endpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestASecretSignsForADayAfterItWasReplaced(t *testing.T) {
	box := seal.NewBox(strings.Repeat("s", seal.MinSecret), "endpoint")
	e := Endpoint{ID: "e-1"}
	at := func(now time.Time) string {
		plain, err := e.signing(box, now)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(plain, " ")
	}
	rotate := func(secret string, now time.Time) {
		t.Helper()
		if err := e.rotate(box.Seal(secret, e.ID), now); err != nil {
			t.Fatal(err)
		}
	}
	rotate("first", start)
	rotate("second", start.Add(time.Hour))
	if got := at(start.Add(time.Hour)); got != "second first" {
		t.Fatalf("after the rotation %q sign", got)
	}
	if got := at(start.Add(25*time.Hour - time.Millisecond)); got != "second first" {
		t.Fatalf("just before the day is over %q sign", got)
	}
	if got := at(start.Add(25 * time.Hour)); got != "second" {
		t.Fatalf("after the day %q sign", got)
	}
	rotate("third", start.Add(26*time.Hour))
	if got := at(start.Add(26 * time.Hour)); got != "third second" || len(e.Secrets) != 2 {
		t.Fatalf("an expired secret is kept: %q, %d", got, len(e.Secrets))
	}
	for i := range maxRotations - 1 {
		rotate(fmt.Sprint(i), start.Add(27*time.Hour))
	}
	if got := at(start.Add(27 * time.Hour)); got != "8 7 6 5 4 3 2 1 0 third second" {
		t.Fatalf("after many rotations %q sign", got)
	}
	if err := e.rotate("eleventh", start.Add(27*time.Hour)); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), start.Add(50*time.Hour).Format("T15:04")) {
		t.Fatalf("one more rotation: %v", err)
	}
	if got := at(start.Add(27 * time.Hour)); !strings.HasPrefix(got, "8 7") {
		t.Fatalf("after a refused rotation %q sign", got)
	}
	rotate("later", start.Add(50*time.Hour))
	e.ID = "e-2"
	if _, err := e.signing(box, start.Add(50*time.Hour)); err == nil {
		t.Fatal("a secret copied to another endpoint opens")
	}
}

func TestManagementEmails(t *testing.T) {
	long := strings.Repeat("a", 60) + "@" + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60) + "." + strings.Repeat("d", 60) + ".org"
	for text, good := range map[string]bool{
		"ops@example.com": true, "o.p+s@mail.example.com": true, "ö@example.com": true, long: true,
		"ops@localhost": false, "o.ps@mailhost": false, "": false, "ops": false, "ops@": false, "@example.com": false, "Ops <ops@example.com>": false, "<ops@example.com>": false, "a@b@c.org": false, `"a b"@example.com`: false,
		"ops@example.com\r\nBcc: x@example.com": false, " ops@example.com": false, "ops@example.com,x@example.com": false, "a" + strings.Repeat("b", 10) + long: false,
	} {
		if err := CheckEmail(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
