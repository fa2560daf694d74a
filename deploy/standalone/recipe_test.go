package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// zulipHost is a host of the recipe's channel.
const zulipHost = "acme.zulipchat.com"

// TestReadmeRecipesChangeTheSource follows the recipes of services/README.md in a copy of the source tree and builds
// the platform there.
func TestReadmeRecipesChangeTheSource(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	copyTree(t, repository, clone)
	// The recipes change packages that nearly all others import. Without optimization, these are compiled in two thirds of the time.
	flags := []string{"GOGC=400", "GOFLAGS=-trimpath -vet=off -ldflags=-w '-gcflags=github.com/bellbuoy/...=-N -l'"}
	channel := strings.Replace(recipe(t, "services", "Add a channel"), "\n```bash\nmake generate\n```\n", "", 1) // the next recipe includes this step
	follow(t, clone, "services", channel, flags...)
	follow(t, clone, "services", recipe(t, "services", "Ship a locale or a word"), flags...)
	follow(t, clone, "services", recipe(t, "services", "Add a page to the console"), flags...)
	binary := filepath.Join(t.TempDir(), "bellbuoy")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./deploy/standalone")
	build.Dir, build.Env = clone, append(os.Environ(), flags...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	servers, env := startTeams(t, zulipHost)
	p, base := standalone(t, env...)
	p.binary = binary
	p.start()
	eventually(t, 30*time.Second, "ready", ready(base))
	a := actor{t, seeded(t, p)}
	t.Run("Add a channel", func(t *testing.T) { receiveOnZulip(t, actor{t, a.credentials}, base, servers[zulipHost]) })
	t.Run("Ship a locale or a word", func(t *testing.T) { readInSwedish(t, actor{t, a.credentials}, base, dataFolder(p)) })
	t.Run("Add a page to the console", func(t *testing.T) { moveOnANewPage(t, p, base) })
}

// receiveOnZulip receives a message on the new channel. It then waits until the endpoint shows the success, which the
// platform publishes when the row of the delivery log is durable.
func receiveOnZulip(t *testing.T, a actor, base string, zulip *receiver.Receiver) {
	service, component := a.service("Checkout")
	const path = "/api/v1/external/json"
	register := func(url string) answer {
		return send(t, http.MethodPost, base+"/app/integrations/zulip/endpoints", a.app(), map[string]any{
			"dashboardId": a.DashboardID, "url": url, "managementEmail": "ops@example.com", "componentIds": []string{component},
		})
	}
	register("https://"+zulipHost+path+"?api_key=token").expect(t, http.StatusCreated)
	var refusal struct{ Error string }
	register("https://"+receiverHost+path).expect(t, http.StatusBadRequest).into(t, &refusal)
	if want := "url: must be the URL of an incoming webhook of Zulip"; refusal.Error != want {
		t.Errorf("the URL of another host: %q instead of %q", refusal.Error, want)
	}

	body := incident(service, "Payments fail")
	body["notifications"] = map[string]any{"zulip": map[string]any{"enabled": true}}
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), body).expect(t, http.StatusCreated)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	requests, err := zulip.Wait(ctx, func(all []receiver.Request) bool { return len(all) > 0 })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(requests[0].Body), `{"text":"Payments fail: investigating"}`; got != want || requests[0].Path != path {
		t.Errorf("Zulip received %s at %s, want %s", got, requests[0].Path, want)
	}
	eventually(t, 30*time.Second, "the logged success", func() error {
		var list struct {
			Endpoints []struct {
				Channel       string
				LastSuccessAt *time.Time
			}
		}
		send(t, http.MethodGet, base+"/app/integrations/zulip/endpoints", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if len(list.Endpoints) != 1 || list.Endpoints[0].Channel != "zulip" || list.Endpoints[0].LastSuccessAt == nil {
			return fmt.Errorf("the endpoints are %+v", list.Endpoints)
		}
		return nil
	})
}

// readInSwedish reads a dashboard, a mail and a page behind the mail's link in the new locale.
func readInSwedish(t *testing.T, a actor, base, data string) {
	dashboard := base + "/app/dashboards/" + a.DashboardID
	send(t, http.MethodPatch, dashboard, a.app(), map[string]any{"locale": "sv"}).expect(t, http.StatusOK)
	expectIn := func(what, text string, wanted ...string) {
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q: %s", what, want, text)
			}
		}
	}
	expectIn("the dashboard", string(send(t, http.MethodGet, a.DashboardURL+"/", "", nil).expect(t, http.StatusOK).body), `<html lang="sv"`)
	send(t, http.MethodPost, a.DashboardURL+"/subscribe/email", "", map[string]any{"email": "ann@example.com"}).expect(t, http.StatusAccepted)
	var mail letter
	eventually(t, 30*time.Second, "the mail", func() error {
		all := letters(t, data)
		at := slices.IndexFunc(all, func(l letter) bool { return l.to == "ann@example.com" })
		if at < 0 {
			return errors.New("there is none")
		}
		mail = all[at]
		return nil
	})
	expectIn("the mail", mail.html, `lang="sv"`)
	link := regexp.MustCompile(`https?://\S+/public/confirm\?token=\S+`).FindString(mail.text)
	confirmed := send(t, http.MethodPost, link, "", nil).expect(t, http.StatusOK)
	manage := regexp.MustCompile(`manage\?token=[\w-]+`).FindString(string(confirmed.body))
	expectIn("the page", string(send(t, http.MethodGet, base+"/public/"+manage, "", nil).expect(t, http.StatusOK).body), `<html lang="sv"`, `<option value="sv">Svenska</option>`)
}

// moveOnANewPage moves a component to another group on the new page. Of two members who do so at once, the second sees what
// the first has stored.
func moveOnANewPage(t *testing.T, p *process, base string) {
	ada, of := welcomed(t, p, base)
	var made struct {
		Component struct{ ID, GroupName string }
	}
	send(t, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": "Search"}).expect(t, http.StatusCreated).into(t, &made)
	component := "/components/" + made.Component.ID
	ada.open(component, http.StatusOK)
	if !strings.Contains(ada.text, `href="/console`+component+`/group"`) {
		t.Errorf("the page of the component has no link to the new one: %s", ada.words())
	}
	ada.open(component+"/group", http.StatusOK).fill(component+"/group", typed("groupName", ""), http.StatusUnprocessableEntity).expect(component+"/group", "Enter the group.")
	ada.open(component+"/group", http.StatusOK)
	stored := func(want string) {
		t.Helper()
		send(t, http.MethodGet, base+"/app"+component, of.app(), nil).expect(t, http.StatusOK).into(t, &made)
		if made.Component.GroupName != want {
			t.Errorf("the group is %q instead of %q", made.Component.GroupName, want)
		}
	}
	send(t, http.MethodPatch, base+"/app"+component, of.app(), map[string]any{"groupName": "Shop"}).expect(t, http.StatusOK)
	ada.fill(component+"/group", typed("groupName", "Finding"), http.StatusConflict).expect(component+"/group", "Keep mine", "Shop", "Finding")
	stored("Shop")
	ada.open(component+"/group", http.StatusOK).fill(component+"/group", typed("groupName", "Finding"), http.StatusOK).expect(component, "Saved.")
	stored("Finding")
}

// recipe returns the section with this title in the README of the folder.
func recipe(t *testing.T, folder, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(readme(t, folder), "# "+title+"\n")
	if !found {
		t.Fatalf("the README of %s has no section %q", folder, title)
	}
	text, _, _ := strings.Cut(rest, "\n##")
	return text
}

var (
	step    = regexp.MustCompile("(?s)(.*?)\n```(go|html|bash)\n(.*?)```\n")
	newFile = regexp.MustCompile("New file `([^`]+)`")
	inFile  = regexp.MustCompile(`In \[[^]]+\]\(([^)]+)\)`)
	below   = regexp.MustCompile("below `([^`]+)`:$")
)

// follow executes every code block of the recipe in the folder. Links in the recipe are relative to the folder of its
// README. Blocks of bash are run with the variables of env. For another block, the text before it names a new file, or an existing file
// and a part of the line below which the code is inserted.
func follow(t *testing.T, folder, readme, text string, env ...string) {
	t.Helper()
	steps := step.FindAllStringSubmatch(text, -1)
	if len(steps) == 0 {
		t.Fatal("the recipe has no code blocks")
	}
	file := ""
	for _, s := range steps {
		prose, language, code := s[1], s[2], []byte(s[3])
		if named := inFile.FindStringSubmatch(prose); named != nil {
			file = filepath.Join(folder, readme, named[1])
		}
		if language == "bash" {
			command := exec.CommandContext(t.Context(), "bash", "-e", "-c", s[3])
			command.Dir, command.Env = folder, append(os.Environ(), env...)
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v:\n%s", code, err, out)
			}
		} else if made := newFile.FindStringSubmatch(prose); made != nil {
			if err := os.WriteFile(filepath.Join(folder, made[1]), code, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if anchor := below.FindStringSubmatch(prose); anchor != nil {
			insert(t, file, anchor[1], code)
		} else {
			t.Fatalf("the recipe does not say where this belongs:\n%s", code)
		}
	}
}

// insert inserts the code below the only line of the file that contains the anchor.
func insert(t *testing.T, file, anchor string, code []byte) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(content, []byte(anchor)); n != 1 {
		t.Fatalf("%s contains %q %d times", file, anchor, n)
	}
	at := bytes.Index(content, []byte(anchor))
	at += bytes.IndexByte(content[at:], '\n') + 1
	content = append(content[:at:at], append(code, content[at:]...)...)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
