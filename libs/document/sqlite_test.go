package document_test

import (
	"io/fs"
	"path/filepath"
	"testing"
)

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
