package main_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/backup"
	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
)

// command runs a command of the platform's binary. It returns the output and the exit code.
func command(t testing.TB, env []string, arguments ...string) (stdout, stderr string, code int) {
	t.Helper()
	run := exec.CommandContext(t.Context(), filepath.Join(binaries, "standalone"), arguments...)
	run.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	var out, failure strings.Builder
	run.Stdout, run.Stderr = &out, &failure
	if err := run.Run(); run.ProcessState == nil {
		t.Fatalf("%v: %v", arguments, err)
	}
	return out.String(), failure.String(), run.ProcessState.ExitCode()
}

// succeed runs a command that must succeed, and returns its standard output.
func succeed(t testing.TB, env []string, arguments ...string) string {
	t.Helper()
	out, failure, code := command(t, env, arguments...)
	if code != 0 || failure != "" {
		t.Fatalf("%v ended with code %d: %s", arguments, code, failure)
	}
	return out
}

// refuse runs a command that must fail with a line that contains the words.
func refuse(t testing.TB, words string, env []string, arguments ...string) {
	t.Helper()
	out, failure, code := command(t, env, arguments...)
	line := strings.TrimSuffix(failure, "\n")
	if code == 0 || out != "" || strings.Contains(line, "\n") || !strings.Contains(line, words) {
		t.Errorf("%v ended with code %d and wrote %q, %q; no line about %q", arguments, code, out, failure, words)
	}
}

// everything returns all rows of a list of the App interface, page by page.
func (a actor) everything(path, member string) (rows []map[string]any) {
	a.t.Helper()
	for next := ""; ; {
		var page map[string]json.RawMessage
		send(a.t, http.MethodGet, a.BaseURL+path+"?limit=100"+next, a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &page)
		var some []map[string]any
		var token *string
		if err := json.Unmarshal(page[member], &some); err != nil {
			a.t.Fatalf("%s: %v", path, err)
		}
		if err := json.Unmarshal(page["nextToken"], &token); err != nil {
			a.t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, some...)
		if token == nil {
			return rows
		}
		next = "&nextToken=" + *token
	}
}

// members returns the values of one member of the rows.
func members(rows []map[string]any, name string) map[string]bool {
	out := map[string]bool{}
	for _, row := range rows {
		out[fmt.Sprint(row[name])] = true
	}
	return out
}

// load writes through every interface until it is stopped. It records the names of the acknowledged records, by kind.
type load struct {
	mu           sync.Mutex
	acknowledged map[string][]string
	group        sync.WaitGroup
}

// start starts a goroutine that repeats write. write returns true when the platform has acknowledged the write.
func (l *load) start(ctx context.Context, kind string, write func(name string) bool) {
	l.mu.Lock()
	l.acknowledged[kind] = []string{}
	l.mu.Unlock()
	l.group.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("%s-%d", kind, n)
			if write(name) {
				l.mu.Lock()
				l.acknowledged[kind] = append(l.acknowledged[kind], name)
				l.mu.Unlock()
			}
			select {
			case <-time.After(10 * time.Millisecond): // so that fast kinds do not write much more than slow ones
			case <-ctx.Done():
			}
		}
	})
}

func (l *load) soFar() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string][]string{}
	for kind, names := range l.acknowledged {
		out[kind] = slices.Clone(names)
	}
	return out
}

// progress waits until n more writes of each kind are acknowledged.
func (l *load) progress(t *testing.T, n int) {
	t.Helper()
	before := l.soFar()
	eventually(t, time.Minute, "writes of every kind", func() error {
		now := l.soFar()
		for kind, names := range before {
			if len(now[kind]) < len(names)+n {
				return fmt.Errorf("%d writes of %s after %d", len(now[kind]), kind, len(names))
			}
		}
		return nil
	})
}

// writers starts writers for the legacy, App, inbound and operator interfaces, and for subscribers. Events are sent to
// the endpoint of the component. Incidents of the legacy interface are also sent by mail.
func (a actor) writers(ctx context.Context, t *testing.T, service, component string) *load {
	l := &load{acknowledged: map[string][]string{}}
	post := func(path, authorization string, body any) (answer, bool) {
		got, err := try(ctx, http.MethodPost, a.BaseURL+path, authorization, body)
		return got, err == nil && got.status == http.StatusCreated
	}
	l.start(ctx, "legacy", func(name string) bool {
		event := incident(service, name)
		event["notifications"].(map[string]any)["email"] = map[string]any{"enabled": true}
		_, made := post("/api/v1/event/list/", a.legacy(), event)
		return made
	})
	l.start(ctx, "app", func(name string) bool {
		_, made := post("/app/events", a.app(), map[string]any{"type": "incident", "title": name,
			"affectedComponents": []any{map[string]any{"componentId": component}}, "notify": map[string]any{"webhook": true}})
		return made
	})
	l.start(ctx, "endpoint", func(name string) bool {
		got, made := post("/app/components", a.app(), map[string]any{"name": name})
		var view struct{ Component struct{ ID string } }
		if !made || json.Unmarshal(got.body, &view) != nil {
			return false
		}
		_, made = post("/app/integrations/webhooks/outbound/endpoints", a.app(), map[string]any{"dashboardId": a.DashboardID,
			"url": "https://" + receiverHost + "/hooks/" + name, "managementEmail": name + "@example.com", "componentIds": []string{view.Component.ID}})
		return made
	})
	l.start(ctx, "user", func(name string) bool {
		_, made := post("/operator/v1/organizations/"+a.OrganizationID+"/users", a.operator(),
			map[string]any{"username": name, "email": name + "@example.com", "roles": []string{"api"}})
		return made
	})
	l.start(ctx, "mail", func(name string) bool {
		_, made := post("/api/v1/email/", a.legacy(), map[string]any{"email": name + "@example.com"})
		return made
	})
	tool := inboundTool{t, a.signer("Alertmanager")}
	l.start(ctx, "inbound", func(name string) bool {
		_, made := tool.send(ctx, name, fmt.Sprintf(`{"action": "trigger", "externalId": %q, "title": %q, "components": ["checkout"]}`, name, name))
		return made
	})
	return l
}

// delivered returns the ids of the deliveries that the delivery log shows as delivered.
func (a actor) delivered() map[string]bool {
	a.t.Helper()
	ids := map[string]bool{}
	for _, row := range a.everything("/app/notifications/webhook/logs", "logs") {
		if row["status"] == "delivered" {
			ids[fmt.Sprint(row["deliveryId"])] = true
		}
	}
	return ids
}

// expectAcknowledged fails the test unless the services have all acknowledged records, given by kind. It returns the
// titles of all events.
func (a actor) expectAcknowledged(acknowledged map[string][]string) map[string]bool {
	a.t.Helper()
	var users struct{ Users []map[string]any }
	send(a.t, http.MethodGet, a.BaseURL+"/operator/v1/organizations/"+a.OrganizationID+"/users", a.operator(), nil).expect(a.t, http.StatusOK).into(a.t, &users)
	var mails page
	send(a.t, http.MethodGet, a.BaseURL+"/api/v1/email/?limit=0", a.legacy(), nil).expect(a.t, http.StatusOK).into(a.t, &mails)
	titles := members(a.everything("/app/events", "events"), "title")
	addresses := members(mails.Objects, "email")
	endpoints := members(a.everything("/app/integrations/webhooks/outbound/endpoints", "endpoints"), "managementEmail")
	usernames := members(users.Users, "username")
	for kind, names := range acknowledged {
		for _, name := range names {
			has := titles[name]
			switch kind {
			case "user":
				has = usernames[name]
			case "endpoint":
				has = endpoints[name+"@example.com"]
			case "mail":
				has = addresses[name+"@example.com"]
			}
			if !has {
				a.t.Errorf("%s was acknowledged before the backup began and is not in it", name)
			}
		}
	}
	return titles
}

// expectReferences fails the test if a record refers to a record that another service does not have.
func (a actor) expectReferences() {
	a.t.Helper()
	components := members(a.everything("/app/components", "components"), "id")
	for _, endpoint := range a.everything("/app/integrations/webhooks/outbound/endpoints", "endpoints") {
		for _, id := range endpoint["componentIds"].([]any) {
			if !components[id.(string)] {
				a.t.Errorf("the endpoint %v is for a component that is missing", endpoint["urlDisplay"])
			}
		}
	}
	events := members(a.everything("/app/events", "events"), "id")
	for _, row := range a.everything("/app/notifications/webhook/logs", "logs") {
		if !events[fmt.Sprint(row["eventId"])] {
			a.t.Errorf("a delivery is of an event that is missing: %v", row)
		}
	}
}

// expectMailed waits until the data folder contains a mail about each title.
func expectMailed(t *testing.T, data string, titles []string) {
	t.Helper()
	eventually(t, time.Minute, "the mails of the incidents", func() error {
		subjects := ""
		for _, letter := range letters(t, data) {
			subjects += letter.subject + "\n"
		}
		for _, title := range titles {
			if !strings.Contains(subjects, title+"\n") {
				return fmt.Errorf("no mail of %s among %s", title, subjects)
			}
		}
		return nil
	})
}

// A backup is made while writers use every interface and deliveries are running. Then the platform is killed, and the
// backup is restored to an empty folder. All services have what was acknowledged before the backup began, and
// notifications of it are delivered. A delivery that the backup contains as delivered is not repeated.
func TestBackupUnderLoadIsRestoredWhole(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, base := started(t, append(env, "LEGACY_RATE_PER_HOUR=1000000", "APP_RATE_PER_MINUTE=1000000")...)
	data := dataFolder(p)
	a := actor{t, seeded(t, p)}
	send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"limits": map[string]any{"uniqueEndpoints": 100_000}}).expect(t, http.StatusOK)
	component := a.component("Checkout", "checkout")
	var services page
	send(t, http.MethodGet, base+"/api/v1/service/?service_name=Checkout", a.legacy(), nil).expect(t, http.StatusOK).into(t, &services)
	service := services.Objects[0]["resource_uri"].(string)
	a.endpoint("https://"+receiverHost+"/hooks/1", component)
	a.subscribe(service, []string{"ann@example.com"})

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := a.writers(ctx, t, service, component)
	l.progress(t, 20)
	var delivered map[string]bool
	eventually(t, time.Minute, "a delivery before the backup", func() error {
		if delivered = a.delivered(); len(delivered) == 0 {
			return errors.New("none is logged")
		}
		return nil
	})
	before, arrivedBefore := l.soFar(), len(r.Requests())
	file := filepath.Join(t.TempDir(), "backup.zip")
	began := time.Now()
	out, failure, code := "", "; try again:", 1
	for try := 0; try < 5 && code != 0 && strings.Contains(failure, "; try again:"); try++ { // a busy machine may not stop the writers in time
		out, failure, code = command(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
	}
	if code != 0 || failure != "" {
		t.Fatalf("the backup ended with code %d: %s", code, failure)
	}
	t.Log(strings.TrimSpace(out))
	took := time.Since(began)
	l.progress(t, 5) // the backup does not disturb the running platform
	p.kill()
	stop()
	l.group.Wait()
	_, atKill := titles(t, r.Requests())
	underWay := len(r.Requests()) - arrivedBefore

	restored := filepath.Join(t.TempDir(), "restored")
	refuse(t, "not empty", []string{"BELLBUOY_DATA=" + data}, "restore", file)
	succeed(t, []string{"BELLBUOY_DATA=" + restored}, "restore", file)
	p.env = append(p.env, "BELLBUOY_DATA="+restored)
	p.start()
	eventually(t, 30*time.Second, "the restored platform is ready", ready(base))
	inBackup := a.expectAcknowledged(before)
	a.expectReferences()

	const after = "after it all"
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), incident(service, after)).expect(t, http.StatusCreated)
	expectEveryPosted(t, r, append(slices.Collect(maps.Keys(inBackup)), after))
	expectMailed(t, restored, before["legacy"])
	quiet(t, r)
	repeated := 0
	_, atEnd := titles(t, r.Requests())
	for id, n := range atKill {
		repeated += atEnd[id] - n
		if delivered[id] && atEnd[id] != n {
			t.Errorf("%s was logged as delivered before the backup began, and is delivered again", id)
		}
	}
	const unstored = 256 // a kill loses the results of at most this number of deliveries
	if repeated > underWay+unstored {
		t.Errorf("%d deliveries are repeated, %d arrived after the backup began", repeated, underWay)
	}
	t.Logf("the backup took %v; %d events in it, %d delivered before; %d deliveries arrived after it began, %d were repeated",
		took, len(inBackup), len(delivered), underWay, repeated)
}

// backUpOnce makes the backup that backedUp copies.
var backUpOnce sync.Once

// backedUp returns a copy of the data folder of a platform that was stopped after a backup, and a copy of the backup. The
// platform runs once for all tests.
func backedUp(t *testing.T) (data, file string) {
	t.Helper()
	const name = "backup.zip"
	kept := filepath.Join(binaries, "backed-up")
	backUpOnce.Do(func() {
		p, _ := started(t)
		seeded(t, p)
		data, file := dataFolder(p), filepath.Join(t.TempDir(), name)
		succeed(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
		refuse(t, "in use", []string{"BELLBUOY_DATA=" + data}, "restore", file)
		p.stop()
		copyTree(t, data, filepath.Join(kept, "folder"))
		copyTree(t, filepath.Dir(file), filepath.Join(kept, "backup"))
	})
	data, file = t.TempDir(), filepath.Join(t.TempDir(), name)
	copyTree(t, filepath.Join(kept, "folder"), data)
	copyTree(t, filepath.Join(kept, "backup"), filepath.Dir(file))
	return data, file
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	data, file := backedUp(t)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	largest := slices.MaxFunc(content.File, func(a, b *zip.File) int { return cmp.Compare(a.CompressedSize64, b.CompressedSize64) })
	at, err := largest.DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	damaged[at+int64(largest.CompressedSize64/2)] ^= 0x40
	foreign := &bytes.Buffer{}
	archive := zip.NewWriter(foreign)
	if member, err := archive.Create("manifest.json"); err != nil || json.NewEncoder(member).Encode(map[string]any{"format": "other"}) != nil || archive.Close() != nil {
		t.Fatal("cannot write an archive")
	}
	newer := rewritten(t, whole, func(m *backup.Manifest) { m.Version++ })
	outside := rewritten(t, whole, func(m *backup.Manifest) { m.Files[0].Name = "../" + m.Files[0].Name })
	for name, test := range map[string]struct {
		content []byte
		words   string
	}{
		"empty":          {nil, "is not a backup"},
		"text":           {[]byte("not a backup\n"), "is not a backup"},
		"cut":            {whole[:len(whole)-1000], "is not a backup"},
		"damaged":        {damaged, "is damaged"},
		"foreign":        {foreign.Bytes(), "is not a backup"},
		"of the future":  {newer, "version 2 of the format"},
		"escapes":        {outside, "is damaged"},
		"without a file": {rewritten(t, whole, func(m *backup.Manifest) { m.Files = m.Files[1:] }), "is damaged"},
		"another sum":    {rewritten(t, whole, func(m *backup.Manifest) { m.Files[2].SHA256 = m.Files[1].SHA256 }), "is damaged"},
		"another size":   {rewritten(t, whole, func(m *backup.Manifest) { m.Files[0].Size-- }), "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			target, wrong := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "wrong.zip")
			if err := os.WriteFile(wrong, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			refuse(t, test.words, []string{"BELLBUOY_DATA=" + target}, "restore", wrong)
			if _, err := os.Stat(target); err == nil {
				t.Error("the data folder was created")
			}
		})
	}
	refuse(t, "not empty", []string{"BELLBUOY_DATA=" + data}, "restore", file)
	refuse(t, "no such file", []string{"BELLBUOY_DATA=" + t.TempDir()}, "restore", filepath.Join(data, "none.zip"))
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, "not empty", []string{"BELLBUOY_DATA=" + other}, "restore", file)
	if left, err := os.ReadDir(other); err != nil || len(left) != 1 {
		t.Errorf("a refused restore left %v, %v", left, err)
	}
}

// If a restore cannot write, its error says this and does not call the backup damaged.
func TestRestoreNamesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	_, file := backedUp(t)
	var said []string
	for open := range 30 { // with some limit on open files, the run fails at the first file that it restores
		run := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(open+1),
			filepath.Join(binaries, "standalone"), "restore", "--data", filepath.Join(t.TempDir(), "data"), file)
		out, _ := run.CombinedOutput()
		said = append(said, string(out))
		if strings.Contains(string(out), "is damaged") {
			t.Errorf("with %d open files: %s", open+1, out)
		}
	}
	if !slices.ContainsFunc(said, func(out string) bool { return strings.Contains(out, "groups.log: too many open files") }) {
		t.Errorf("no restore failed at the first file: %q", said)
	}
}

// A new volume contains the folder lost+found of the file system. A restore accepts this folder, and a backup omits it.
func TestBackupAndRestoreLeaveLostAndFound(t *testing.T) {
	t.Parallel()
	data, file := backedUp(t)
	volume := t.TempDir()
	for _, folder := range []string{data, volume} {
		if err := os.MkdirAll(filepath.Join(folder, "lost+found", "#1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "lost+found", "#2"), []byte("lost"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
	m, err := backup.Verify(t.Context(), file)
	if err != nil || m.Has("lost+found/#2") {
		t.Errorf("the backup has a file of lost+found, %v", err)
	}
	succeed(t, []string{"BELLBUOY_DATA=" + volume}, "restore", file)
}

// A killed backup leaves copies of databases. The next backup to the same folder deletes these copies, but not those of
// a backup that is still running.
func TestBackupDeletesWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	data, file := backedUp(t)
	folder := filepath.Dir(file)
	left, working := filepath.Join(folder, ".bellbuoy-backup-1"), filepath.Join(folder, ".bellbuoy-backup-2")
	for _, work := range []string{left, working} {
		if err := os.Mkdir(work, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, "events.db"), []byte("copy"), 0o600); err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-time.Hour); os.Chtimes(work, old, old) != nil {
			t.Fatal("cannot set the time of a folder")
		}
	}
	lock, err := datafolder.LockFolder(working)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	succeed(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
	if _, err := os.Stat(left); err == nil {
		t.Error("the copies of a killed backup are still there")
	}
	if _, err := os.Stat(filepath.Join(working, "events.db")); err != nil {
		t.Errorf("the copies of a backup that is being made are gone: %v", err)
	}
}

// rewritten returns the archive with a changed manifest.
func rewritten(t *testing.T, whole []byte, change func(*backup.Manifest)) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	copied := zip.NewWriter(out)
	for _, member := range archive.File {
		if member.Name != "manifest.json" {
			if err := copied.Copy(member); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		var m backup.Manifest
		if err := json.NewDecoder(content).Decode(&m); err != nil {
			t.Fatal(err)
		}
		change(&m)
		changed, err := copied.Create("manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(changed).Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The platform and the next restore refuse a folder in which a restore was killed.
func TestUnfinishedRestoreIsRefused(t *testing.T) {
	t.Parallel()
	data, file := backedUp(t)
	if err := os.WriteFile(filepath.Join(data, "restoring"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"BELLBUOY_DATA=" + data, "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0"}
	refuse(t, "did not finish", env)
	refuse(t, "did not finish", env, "restore", file)
	refuse(t, "did not finish", env, "backup", file)
}

func TestBackupRefusesWrongPlaces(t *testing.T) {
	t.Parallel()
	data, file := backedUp(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	env := []string{"BELLBUOY_DATA=" + data}
	if out := succeed(t, []string{"BELLBUOY_DATA=" + link}, "backup", file); strings.Contains(out, "no secret") {
		t.Errorf("a backup through a link: %s", out)
	}
	refuse(t, "inside of the data folder", env, "backup", filepath.Join(data, "backup.zip"))
	refuse(t, "inside of the data folder", env, "backup", filepath.Join(link, "mail", "..", "backup.zip"))
	refuse(t, "regular file", env, "backup", t.TempDir())
	refuse(t, "no such file", env, "backup", filepath.Join(t.TempDir(), "none", "backup.zip"))
	refuse(t, "is not the data folder", []string{"BELLBUOY_DATA=" + t.TempDir()}, "backup", file)
	refuse(t, "must not be empty", []string{"BELLBUOY_DATA="}, "backup", file)
	for _, engine := range []string{"DOCUMENTS_URL=mongodb://127.0.0.1/x", "KAFKA_BROKERS=127.0.0.1:9092"} {
		refuse(t, strings.Split(engine, "=")[0], append(env, engine), "backup", file)
	}
	// A file that is not a backup is not overwritten.
	letter := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(letter, []byte("Dear Ann"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, "is not a whole backup", env, "backup", letter)
	if content, err := os.ReadFile(letter); err != nil || string(content) != "Dear Ann" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if err := os.Truncate(letter, 0); err != nil { // an empty file, as mktemp creates it
		t.Fatal(err)
	}
	succeed(t, env, "backup", letter)
	// A backup that fails does not change an existing backup.
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "documents", "delivery.db"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, "delivery.db", env, "backup", file)
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the former backup has changed: %v", err)
	}
	rest, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(rest) != 1 {
		t.Errorf("a backup that failed left %v, %v", rest, err)
	}
}
