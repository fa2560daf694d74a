package main_test

import (
	"os"
	"strconv"
	"testing"
)

// setting returns the number in the environment variable name. If it is not set, setting returns long if
// BELLBUOY_TEST_LONG is set, else short.
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
