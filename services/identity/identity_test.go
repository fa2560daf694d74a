package identity_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestScripts plays what operators, members, legacy clients and services see, each
// script on an empty platform of its own.
func TestScripts(t *testing.T) {
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		return apitest.Target{OpenAPI: documents, Handler: start(t, nil).door()}
	})
}
