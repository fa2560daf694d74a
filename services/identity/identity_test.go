package identity_test

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestScripts runs the requests of operators, members, legacy clients and services, each script on an empty platform of
// its own.
func TestScripts(t *testing.T) {
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		return apitest.Target{OpenAPI: documents, Handler: start(t, nil).door()}
	})
}

// A UUID in a path is the same in upper case.
func TestAKeyIDMayBeInUpperCase(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	if got := p.send(ann.app(), "DELETE", "/app/api-keys/"+strings.ToUpper(ann.keyID), ""); got.status != 204 {
		t.Errorf("%d %s", got.status, got.text)
	}
}
