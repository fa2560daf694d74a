package apitest

import (
	"html"
	"strings"
	"testing"
)

// Between returns the text of a page between the first occurrence of before and the next one of after.
func Between(t testing.TB, page, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, before)
	middle, _, ended := strings.Cut(rest, after)
	if !found || !ended {
		t.Fatalf("%q has nothing between %q and %q", page, before, after)
	}
	return html.UnescapeString(middle)
}
