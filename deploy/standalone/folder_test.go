package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDamagedDataFolderStopsTheStartWithOneLine(t *testing.T) {
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

// The secret of the environment must be that of the records, also after a restore, and in a folder of a version that left
// no mark of the secret.
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
