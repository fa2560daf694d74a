package audience

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestMailAddresses(t *testing.T) {
	long := strings.Repeat("x", 64)
	domain := strings.Repeat("d", 63)
	for text, valid := range map[string]bool{
		"ann@example.com":                  true,
		"a@b.co":                           true,
		"o'neil+x=y@mail.example.com":      true,
		"a.b.c@example.com":                true,
		"!#$%&'*+-/=?^_`{|}~@example.com":  true,
		"ö@example.com":                    true,
		"ann@bücher.example":               true,
		"ann@xn--bcher-kva.example":        true,
		"用户@例子.测试":                         true,
		"e\u0301@example.com":              true, // an accent of its own
		"ann@1and1.com":                    true,
		"ann@a-b.example.com":              true,
		long + "@example.com":              true,
		"a@" + domain + ".com":             true,
		"":                                 false,
		"ann":                              false,
		"@example.com":                     false,
		"ann@":                             false,
		"ann@example":                      false,
		"ann@example.c":                    false,
		"ann@localhost":                    false,
		"ann@@example.com":                 false,
		"ann@bob@example.com":              false,
		".ann@example.com":                 false,
		"ann.@example.com":                 false,
		"a..b@example.com":                 false,
		"ann@.example.com":                 false,
		"ann@example.com.":                 false,
		"ann@example..com":                 false,
		"ann@-example.com":                 false,
		"ann@example-.com":                 false,
		"ann@exa_mple.com":                 false,
		"ann@exa!mple.com":                 false,
		"ann@127.0.0.1":                    false,
		"ann@[127.0.0.1]":                  false,
		"ann@[IPv6:::1]":                   false,
		"ann@example.com:25":               false,
		`"ann"@example.com`:                false,
		`"a b"@example.com`:                false,
		`a\ b@example.com`:                 false,
		"Ann <ann@example.com>":            false,
		"<ann@example.com>":                false,
		"ann@example.com (Ann)":            false,
		"ann(x)@example.com":               false,
		"ann@example.com, bob@example.com": false,
		"ann@example.com;bob@example.com":  false,
		"mailto:ann@example.com":           false,
		" ann@example.com":                 false,
		"ann@example.com ":                 false,
		"ann @example.com":                 false,
		"ann@example.com\n":                false,
		"ann@example.com\r\nBcc: b@c.de":   false,
		"an\x00n@example.com":              false,
		"an\x7fn@example.com":              false,
		"an\u0085n@example.com":            false,
		"an\u200bn@example.com":            false, // a character of no width
		"an\u202en@example.com":            false, // turns the text round
		"an\ufffdn@example.com":            false, // what JSON makes of broken UTF-8
		"ann\xff@example.com":              false,
		"an\u00a0n@example.com":            false,
		"ann@exam\u2028ple.com":            false,
		long + "x@example.com":             false,
		"a@" + domain + "d.com":            false,
		long + "@" + strings.Repeat(domain+".", 3) + "com":                  false,
		strings.Repeat("ü", 33) + "@example.com":                            false, // octets count
		strings.Repeat("a.", 500_000) + "@" + strings.Repeat("a.", 500_000): false,
	} {
		a := Address{Channel: topic.Email, Text: "before"}
		switch err := a.write(text, time.Now()); {
		case (err == nil) != valid:
			t.Errorf("%.80q: %v", text, err)
		case valid && a.Text != text, !valid && a.Text != "before":
			t.Errorf("%.80q became %q", text, a.Text)
		}
	}
}

// A suppression is the number's own; mail addresses are compared regardless of case.
func TestWhatAChangeKeeps(t *testing.T) {
	a := Address{Channel: topic.SMS, Text: "+12345678", Normal: "+12345678", Suppression: &Suppression{Reason: Bounce}}
	if err := a.write("+12345678", time.Now()); err != nil || a.Suppression == nil || a.RewrittenAt != nil {
		t.Errorf("the same number: %+v %v", a, err)
	}
	if err := a.write("+12345679", time.Now()); err != nil || a.Suppression != nil || a.RewrittenAt == nil {
		t.Errorf("another number: %+v %v", a, err)
	}
	mail := Address{Channel: topic.Email}
	if err := mail.write("Ann@Example.COM", time.Now()); err != nil || mail.Text != "Ann@Example.COM" || mail.Normal != "ann@example.com" || mail.RewrittenAt != nil {
		t.Errorf("%+v %v", mail, err)
	}
	mail.Suppression = &Suppression{Reason: Bounce}
	if err := mail.write("ann@example.com", time.Now()); err != nil || mail.Suppression == nil {
		t.Errorf("the same mail address: %+v %v", mail, err)
	}
	if err := mail.write("bob@example.com", time.Now()); err != nil || mail.Suppression != nil {
		t.Errorf("another mail address: %+v %v", mail, err)
	}
}
