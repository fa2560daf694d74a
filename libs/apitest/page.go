package apitest

import (
	"html"
	"strings"
	"testing"
)

// Between returns the text of a page between the first occurrence of the text before and the next occurrence of the text
// after, with HTML entities decoded. It fails the test if the page lacks one of the two texts.
func Between(t testing.TB, page, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, before)
	middle, _, ended := strings.Cut(rest, after)
	if !found || !ended {
		t.Fatalf("%q has nothing between %q and %q", page, before, after)
	}
	return html.UnescapeString(middle)
}
