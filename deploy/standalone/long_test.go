package main_test

import (
	"os"
	"strconv"
	"testing"
)

// setting returns a number of the environment, or the number for the short or, with BELLBUOY_TEST_LONG, the long form of
// a test.
func setting(t testing.TB, name string, short, long int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		if os.Getenv("BELLBUOY_TEST_LONG") != "" {
			return long
		}
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
