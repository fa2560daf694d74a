package main_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReadmeRecipeChangesTheWords follows the recipe of deploy/README.md, starts the platform with the folder, and reads a mail of a
// dashboard with the added locale and a time zone.
func TestReadmeRecipeChangesTheWords(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	follow(t, folder, "deploy", recipe(t, "deploy", "Change the words of messages"))
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data, "BELLBUOY_TEMPLATES="+filepath.Join(folder, "templates"))
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"locale": "fr", "timezone": "Asia/Tokyo"}).expect(t, http.StatusOK)
	service, _ := a.service("Checkout")
	a.subscribe(service, []string{"ann@example.com"})
	event := incident(service, "Payments fail")
	event["notifications"] = map[string]any{"email": map[string]any{"enabled": true}}
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), event).expect(t, http.StatusCreated)
	var all []letter
	eventually(t, 30*time.Second, "the mail", func() error {
		if all = letters(t, data); len(all) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	got := all[0]
	if !strings.HasPrefix(got.subject, "État Acme") || !strings.HasSuffix(got.subject, ": Analyse en cours: Payments fail") {
		t.Errorf("the subject is %q", got.subject)
	}
	for _, want := range []string{"État: Analyse en cours", "Se désabonner: http", " JST"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("%q is not in %s", want, got.text)
		}
	}
}
