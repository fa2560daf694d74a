package apitest

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// Documents returns the address of an empty database for one test, in the form of DOCUMENTS_URL: SQLite in a folder
// of the test, or a database of the test on the MongoDB server mongodb://host:port that BELLBUOY_TEST_DOCUMENTS names.
func Documents(t testing.TB) string {
	server := os.Getenv("BELLBUOY_TEST_DOCUMENTS")
	if server == "" {
		return "sqlite:" + t.TempDir()
	}
	return strings.TrimSuffix(server, "/") + "/test_" + strings.ToLower(rand.Text())
}
