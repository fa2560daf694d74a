package integrations_test

import (
	"os"
	"testing"
)

// Damping, sources and tokens hold on MongoDB as on SQLite. Each test runs once more on the server; .ci/run starts it.
func TestDampingHoldsOnMongoDB(t *testing.T) {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	t.Setenv("BELLBUOY_TEST_DOCUMENTS", server)
	for name, test := range map[string]func(*testing.T){
		"open and resolve": TestAProblemOpensAndResolvesItsEventAfterTheTimesOfTheKey,
		"return":           TestAProblemThatReturnsAfterItsRecordWasDeletedOpensAnotherEvent,
		"dead process":     TestAStepWhoseProcessDiedIsCompletedOnce,
		"old trigger":      TestAnOldTriggerDoesNotReopenWhatItsSourceHasResolved,
		"two sources":      TestTwoSourcesMustReportBeforeAnEventOpens,
	} {
		t.Run(name, test)
	}
}
