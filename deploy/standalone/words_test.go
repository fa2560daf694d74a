package main_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/words"
)

// TestReadmeRecipeChangesTheWords follows the recipe of deploy/README.md and starts the platform with the folder of
// words. It then reads a mail of a dashboard that uses the added locale and a time zone.
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
		all = slices.DeleteFunc(letters(t, data), func(l letter) bool { return l.to != "ann@example.com" }) // members get mails, too
		if len(all) == 0 {
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

// For each section of the words: the packages that use it, and the values with which they complete a key that begins
// with a constant.
var wordReaders = map[words.Section][]string{
	words.Pages:    {"services/events/internal/site", "libs/page", "services/subscribers/internal/api", "services/integrations/internal/api"},
	words.Messages: {"services/delivery/internal/locale", "services/delivery/internal/channel"},
}

var wordValues = []string{
	"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12",
	"incident", "maintenance", "incident.post_mortem_published", "incident.reopened", "maintenance.reopened", "maintenance.rescheduled", "maintenance.reminder",
	"investigating", "identified", "monitoring", "resolved", "planning", "started", "inprogress", "verifying", "completed", "update",
	"minor_performance", "major_performance", "minor_outage", "major_outage",
	"operational", "degraded_performance", "partial_outage", "under_maintenance",
	"email", "sms", "whatsapp", "webhook", "teams", "gchat", "slack", "discord",
	"timeout", "dns", "connect", "tls", "blocked_address", "http_3xx", "http_4xx", "http_5xx", "rate_limited", "gone",
}

func TestEachWordIsUsedAndEachUsedWordExists(t *testing.T) {
	t.Parallel()
	files := regexp.MustCompile(`\.(go|html|txt)$`)
	literal := regexp.MustCompile(`"([a-z]+\.[a-z_.]*[a-z_])"`)
	for section, folders := range wordReaders {
		shipped, err := words.Open(section)
		if err != nil {
			t.Fatal(err)
		}
		var sources strings.Builder
		for _, folder := range folders {
			err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !files.MatchString(path) || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
					return err
				}
				content, err := os.ReadFile(path)
				sources.Write(content)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		text, keys := sources.String(), shipped.All()[0].Texts
		known, groups := map[string]bool{}, map[string]bool{}
		for key := range keys {
			base := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
			computed := slices.ContainsFunc(wordValues, func(value string) bool {
				group, is := strings.CutSuffix(key, "."+value)
				return is && (strings.Contains(text, `"`+group+`."`) || strings.Contains(text, `Name("`+group+`"`))
			})
			if !computed && !strings.Contains(text, `"`+key+`"`) && !strings.Contains(text, `"`+base+`"`) {
				t.Errorf("nothing uses the word %s of the section %s", key, section)
			}
			known[key], known[base] = true, true
			group, _, _ := strings.Cut(key, ".")
			groups[group] = true
		}
		for _, found := range literal.FindAllStringSubmatch(text, -1) {
			group, name, _ := strings.Cut(found[1], ".")
			if groups[group] && !known[found[1]] && name != "" && !slices.Contains([]string{".go", ".html", ".txt", ".json", ".svg", ".rss", ".atom", ".js"}, filepath.Ext(found[1])) {
				t.Errorf("the section %s has no word %s", section, found[1])
			}
		}
	}
}
