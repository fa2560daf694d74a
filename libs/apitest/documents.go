package apitest

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// DocumentsServer names the environment variable that lets services' tests keep their records on a MongoDB
// server, mongodb://host:port, instead of in files.
const DocumentsServer = "BELLBUOY_TEST_DOCUMENTS"

// Documents is the address of an empty database for one test, in the form of DOCUMENTS_URL: SQLite in a
// folder of its own, or a database of its own on the server that DocumentsServer names.
func Documents(t testing.TB) string {
	server := os.Getenv(DocumentsServer)
	if server == "" {
		return "sqlite:" + t.TempDir()
	}
	return strings.TrimSuffix(server, "/") + "/test_" + strings.ToLower(rand.Text())
}
