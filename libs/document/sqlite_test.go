package document_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A second process cannot write to a file in use. It can as soon as the first is killed.
func TestSecondProcessIsRefused(t *testing.T) {
	folder := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childAddress+"=sqlite:"+folder, childLog+"="+filepath.Join(folder, "log"), fmt.Sprintf("%s=%d", childLife, 1))
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	refused(t, folder, "another process uses it")
	reading := open(t, "sqlite:"+folder)
	c := document.Declare(reading, boats())
	if _, err := c.Count(t.Context(), find.Query{}); err != nil {
		t.Errorf("reading a file in use: %v", err)
	}
	if err := c.Insert(t.Context(), boat{ID: "second"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("writing to a file in use: %v", err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait() // returns that it was killed
	_, c = fleet(t, "sqlite:"+folder)
	must(t, c.Insert(t.Context(), boat{ID: "successor"}))
}

func TestSQLiteFilesAreTheOwnersOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	db, c := fleet(t, "sqlite:"+folder)
	must(t, c.Insert(t.Context(), boat{ID: "a"}, sailed{"a", 1}))
	relayed(t, db, 1)
	seen := 0
	must(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
	if seen < 3 {
		t.Errorf("%d files were found", seen)
	}
}

// What was written gets into the file while the database is open.
func TestTheLogIsCopiedIntoTheFile(t *testing.T) {
	folder := t.TempDir()
	_, c := fleet(t, "sqlite:"+folder)
	const written = 1000 * 4096 // the pages after which a checkpoint starts
	for n := range 3 {
		var large []boat
		for i := range 200 {
			b := vessel("ada", 200*n+i)
			b.Log = []logLine{{Tags: map[string]string{"course": strings.Repeat("x", written/400)}}}
			large = append(large, b)
		}
		seed(t, c, large...)
	}
	eventually(t, "a checkpoint", func() bool {
		file, err := os.Stat(filepath.Join(folder, "conformance.db"))
		must(t, err)
		return file.Size() > written
	})
}
