package main_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDamagedDataFolderStopsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, content string }{
		"empty secret":               {"secret", ""},
		"blank secret":               {"secret", strings.Repeat(" ", 40) + "\n"},
		"short secret":               {"secret", strings.Repeat("s", 31) + "\n"},
		"empty operator token":       {"operator-token", ""},
		"records without the secret": {"documents/identity.db", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := standalone(t)
			file := filepath.Join(dataFolder(p), test.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			code := p.start().exit(30 * time.Second)
			line, named := strings.TrimSpace(p.output()), file
			if strings.HasPrefix(test.file, "documents/") {
				named = filepath.Join(dataFolder(p), "secret")
			}
			if code == 0 || strings.Contains(line, "\n") || !strings.Contains(line, named) {
				t.Errorf("code %d: %q", code, line)
			}
			if content, err := os.ReadFile(file); err != nil || string(content) != test.content {
				t.Errorf("the start changed the file: %q, %v", content, err)
			}
		})
	}
}

func TestStartRefusesRecordsOfAnotherSecret(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	c := seeded(t, p)
	p.stop()
	file := filepath.Join(dataFolder(p), "secret")
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.start()
	if code := p.exit(30 * time.Second); code == 0 {
		t.Error("it started without the secret of its records")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it made a new secret beside records of the old one")
	}
	if err := os.WriteFile(file, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	p.start()
	eventually(t, 30*time.Second, "ready with the secret restored", ready(c.BaseURL))
	send(t, "GET", c.BaseURL+"/app/profile", c.app(), nil).expect(t, 200)
}

// If BELLBUOY_SECRET is not the secret of the records, the platform does not start. This also holds after a restore,
// and for a folder of an older version, which has no mark of the secret.
func TestStartRefusesAnotherSecretOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const own = "BELLBUOY_SECRET=0123456789abcdef0123456789abcdef"
	for name, secret := range map[string]string{"generated": "BELLBUOY_SECRET=", "set": own} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, base := started(t, secret)
			seeded(t, p)
			p.stop()
			data, file, env := dataFolder(p), filepath.Join(t.TempDir(), "backup.zip"), p.env
			succeed(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
			restored := filepath.Join(t.TempDir(), "restored")
			succeed(t, []string{"BELLBUOY_DATA=" + restored}, "restore", file)
			folders := []string{data, restored}
			if name == "generated" {
				older := filepath.Join(t.TempDir(), "older")
				succeed(t, []string{"BELLBUOY_DATA=" + older}, "restore", file)
				if err := os.Remove(filepath.Join(older, "secret-mark")); err != nil {
					t.Fatal(err)
				}
				folders = append(folders, older)
			}
			for _, folder := range folders {
				inFolder := append(slices.Clone(env), "BELLBUOY_DATA="+folder)
				before := len(p.output())
				p.env = append(slices.Clone(inFolder), "BELLBUOY_SECRET="+strings.Repeat("x", 32))
				code := p.start().exit(30 * time.Second)
				line := strings.TrimSuffix(p.output()[before:], "\n")
				if code == 0 || strings.Contains(line, "\n") || !strings.Contains(line, "BELLBUOY_SECRET is not the secret") {
					t.Errorf("another secret: code %d, %q", code, line)
				}
				p.env = inFolder
				p.start()
				eventually(t, 30*time.Second, "ready with the secret of the records", ready(base))
				p.stop()
			}
		})
	}
}

// The embedded Redis has no records, so its damaged file does not prevent the start. A log line describes the loss.
func TestADamagedRedisFileIsReportedAtTheStart(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	c := seeded(t, p)
	for range 20 { // each call is counted in Redis
		send(t, "GET", base+"/app/profile", c.app(), nil).expect(t, 200)
	}
	p.stop()
	file := filepath.Join(dataFolder(p), "redis")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[len(content)/2:], strings.Repeat("garbage", 10))
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	before := len(p.output())
	p.start()
	eventually(t, 30*time.Second, "ready in spite of the damage", ready(base))
	send(t, "GET", base+"/app/profile", c.app(), nil).expect(t, 200)
	if n := strings.Count(p.output()[before:], `"level":"WARN","msg":"The file of the embedded Redis is damaged.`); n != 1 || !strings.Contains(p.output()[before:], file) {
		t.Errorf("%d lines about the damage: %s", n, p.output()[before:])
	}
	p.stop()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	before = len(p.output())
	if code := p.start().exit(30 * time.Second); code == 0 || strings.Count(p.output()[before:], "\n") != 1 || !strings.Contains(p.output()[before:], file+" cannot be read") {
		t.Errorf("a folder in the place of the file: code %d, %q", code, p.output()[before:])
	}
}

// A program refuses the data of a newer program before it writes anything, also in a restored folder. A folder without
// a format was written by an older program and is accepted.
func TestAnOlderProgramRefusesTheDataOfANewerOne(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	c := seeded(t, p)
	p.stop()
	data, file := dataFolder(p), filepath.Join(t.TempDir(), "backup.zip")
	mark := filepath.Join(data, "format")
	own, err := os.ReadFile(mark)
	if err != nil || string(own) != "1 v9.8.7\n" {
		t.Fatalf("the folder is marked with %q, %v", own, err)
	}
	if err := os.WriteFile(mark, []byte("2 v10.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, []string{"BELLBUOY_DATA=" + data}, "backup", file)
	restored := filepath.Join(t.TempDir(), "restored")
	succeed(t, []string{"BELLBUOY_DATA=" + restored}, "restore", file)
	for _, folder := range []string{data, restored} {
		state, before := stateOf(t, folder), len(p.output())
		env := p.env
		p.env = append(slices.Clone(env), "BELLBUOY_DATA="+folder)
		code := p.start().exit(30 * time.Second)
		p.env = env
		line := p.output()[before:]
		if code == 0 || strings.Count(line, "\n") != 1 || !strings.Contains(line, folder+` (last used by version "v10.0.0") has data of format 2, and this program knows formats up to 1; start the newer version`) {
			t.Errorf("code %d: %q", code, line)
		}
		if now := stateOf(t, folder); !maps.Equal(now, state) {
			t.Errorf("the refused start changed the folder: %v, before %v", now, state)
		}
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	p.start()
	eventually(t, 30*time.Second, "ready on a folder without a format", ready(base))
	send(t, "GET", base+"/app/profile", c.app(), nil).expect(t, 200)
	if now, err := os.ReadFile(mark); err != nil || string(now) != string(own) {
		t.Errorf("the folder is marked with %q, %v", now, err)
	}
}

// stateOf returns the sizes and modification times of the files in the folder.
func stateOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			files[path] = fmt.Sprint(info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
