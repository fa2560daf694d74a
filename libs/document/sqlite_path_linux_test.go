package document_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody makes file permissions apply to root until the cleanup of the test. It does so for the current thread, which
// runs only this test and ends with it.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(65534))
	t.Cleanup(func() { must(t, syscall.Setfsuid(0)) })
}

// closed returns a folder in which nothing can be created. Everybody may enter its parents.
func closed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	must(t, os.Chmod(filepath.Dir(folder), 0o755))
	t.Cleanup(func() { must(t, os.Chmod(folder, 0o700)) })
	return folder
}

func TestMigrateRefusesFolderWithoutPermission(t *testing.T) {
	t.Run("empty", func(t *testing.T) {
		folder := closed(t)
		must(t, os.Chmod(folder, 0o555))
		asNobody(t)
		refused(t, folder, "permission denied")
	})
	t.Run("to be made", func(t *testing.T) {
		folder := closed(t)
		must(t, os.Chmod(folder, 0o555))
		asNobody(t)
		refused(t, filepath.Join(folder, "below"), "permission denied")
	})
	t.Run("with a database", func(t *testing.T) {
		folder := closed(t)
		db, _ := fleet(t, "sqlite:"+folder)
		must(t, db.Close())
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		must(t, err)
		for _, file := range files {
			must(t, os.Chmod(file, 0o666))
		}
		must(t, os.Chmod(folder, 0o555))
		asNobody(t)
		refused(t, folder, "permission denied")
	})
}
