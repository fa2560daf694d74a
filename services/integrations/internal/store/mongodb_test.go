package store_test

import (
	"os"
	"testing"
)

// The limit of sources and silence hold on MongoDB as on SQLite. Both tests run once more on the server; .ci/run starts it.
func TestSourcesAndSilenceHoldOnMongoDB(t *testing.T) {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	t.Setenv("BELLBUOY_TEST_DOCUMENTS", server)
	t.Run("sources", TestAProblemHasAtMost50Sources)
	t.Run("silence", TestASilentKeyIsReportedOnce)
}
