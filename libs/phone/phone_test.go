package phone_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/phone"
)

func TestANumberMayBeWrittenAsPeopleDo(t *testing.T) {
	for text, want := range map[string]string{
		"+49 (0151) 123-45678": "+4915112345678", "+4915112345678": "+4915112345678", "015112345678": "", "+12345678": "", "": "", "+49": "", "+4915112345678x": "",
	} {
		if got, ok := phone.Possible(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
}
