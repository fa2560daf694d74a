package etag_test

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/etag"
)

func TestAWeakETagMatchesIfNoneMatch(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []string
		tag    string
		want   bool
	}{
		{"no header", nil, `"a"`, false},
		{"empty header", []string{""}, `"a"`, false},
		{"same tag", []string{`"a"`}, `"a"`, true},
		{"other tag", []string{`"b"`}, `"a"`, false},
		{"any tag", []string{"*"}, `"a"`, true},
		{"weak candidate", []string{`W/"a"`}, `"a"`, true},
		{"weak tag", []string{`"a"`}, `W/"a"`, true},
		{"both weak", []string{`W/"a"`}, `W/"a"`, true},
		{"second in a list", []string{`"x" , "a"`}, `"a"`, true},
		{"second header", []string{`"x"`, `"a"`}, `"a"`, true},
		{"without quotes", []string{"a"}, `"a"`, false},
	} {
		if got := etag.Match(row.values, row.tag); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

func TestEqualBodiesHaveEqualETags(t *testing.T) {
	one, two := etag.Of([]byte("one")), etag.Of([]byte("two"))
	if one == two || one != etag.Of([]byte("one")) || !strings.HasPrefix(one, `"`) || !strings.HasSuffix(one, `"`) {
		t.Errorf("%s %s", one, two)
	}
}

func TestAWriteNeedsTheETagOfTheVersion(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []string
		want   bool
	}{
		{"no header", nil, false},
		{"same version", []string{`"7"`}, true},
		{"other version", []string{`"8"`}, false},
		{"any version", []string{"*"}, true},
		{"a weak tag never matches", []string{`W/"7"`}, false},
		{"second in a list", []string{`"6", "7"`}, true},
		{"second header", []string{`"6"`, `"7"`}, true},
		{"without quotes", []string{"7"}, false},
	} {
		if got := etag.Allows(row.values, etag.Version(7)); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
