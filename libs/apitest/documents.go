package apitest

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// DocumentsServer names the environment variable with the address of a MongoDB server, mongodb://host:port. If it is
// set, the tests of services store their records there instead of in files.
const DocumentsServer = "BELLBUOY_TEST_DOCUMENTS"

// Documents returns the address of an empty database for one test, in the form of DOCUMENTS_URL: SQLite in a folder
// of the test, or a database of the test on the server of DocumentsServer.
func Documents(t testing.TB) string {
	server := os.Getenv(DocumentsServer)
	if server == "" {
		return "sqlite:" + t.TempDir()
	}
	return strings.TrimSuffix(server, "/") + "/test_" + strings.ToLower(rand.Text())
}
