package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachSettingIsReadByTheCode finds settings without effect: fields with an environment variable that no code outside
// of tests reads.
func TestEachSettingIsReadByTheCode(t *testing.T) {
	declared, read := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.Field:
				if n.Tag != nil && strings.Contains(n.Tag.Value, ` env:"`) {
					declared[n.Names[0].Name] = path
				}
			case *ast.SelectorExpr:
				read[n.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil || len(declared) < 30 {
		t.Fatalf("%d settings, %v", len(declared), err)
	}
	for name, path := range declared {
		if !read[name] {
			t.Errorf("no code reads the setting %s of %s", name, path)
		}
	}
}
