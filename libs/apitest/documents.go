package apitest

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// Documents returns the address of an empty database for one test, in the form of DOCUMENTS_URL. By default this is
// SQLite in a folder of the test. If BELLBUOY_TEST_DOCUMENTS is mongodb://host:port, the database is a new one on that
// server.
func Documents(t testing.TB) string {
	server := os.Getenv("BELLBUOY_TEST_DOCUMENTS")
	if server == "" {
		return "sqlite:" + t.TempDir()
	}
	return strings.TrimSuffix(server, "/") + "/test_" + strings.ToLower(rand.Text())
}
