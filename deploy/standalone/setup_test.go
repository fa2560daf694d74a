package main_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// serviceState is the state of a service.
type serviceState struct {
	LastBackupAt *time.Time
	Outbox       *struct {
		Messages int
		OldestAt *time.Time
	}
}

// serviceState returns the state of a service.
func (a actor) serviceState(base, service string) serviceState {
	a.t.Helper()
	var out struct{ Service serviceState }
	send(a.t, http.MethodGet, base+"/app/setup/"+service, a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &out)
	return out.Service
}

// Each service shows its state to administrators. The time of a backup is shown after the backup.
func TestAdministratorsSeeTheStateOfEachService(t *testing.T) {
	t.Parallel()
	p, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	acme := provision(t, base, "Acme", "acme-admin", "admin")
	event := addUser(t, acme, "acme-event", "event")
	target := apitest.Target{OpenAPI: apitest.ReadOpenAPI(t, "../../gateway/openapi"), URL: base, Vars: map[string]string{
		"admin": acme.app(), "event": event.app(),
	}}
	if err := apitest.PlayFile(t.Context(), target, "testdata/setup_200.txtar"); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Second)
	succeed(t, []string{"BELLBUOY_DATA=" + dataFolder(p)}, "backup", filepath.Join(t.TempDir(), "backup.zip"))
	for _, service := range []string{"identity", "delivery"} {
		if at := (actor{t, acme}).serviceState(base, service).LastBackupAt; at == nil || at.Before(before) || at.After(time.Now()) {
			t.Errorf("%s: last backup %v", service, at)
		}
	}
}
