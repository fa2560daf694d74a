package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// TestAFieldWithoutTheTagAuditIsNamed finds a field whose author forgot the tag: a change of it would leave no trace in the
// audit log. testdata/audit_fields.golden names the fields that entries do not show, such as secrets and the counts of the
// scheduler, of all types that have the tag at another field.
func TestAFieldWithoutTheTagAuditIsNamed(t *testing.T) {
	t.Parallel()
	const file = "testdata/audit_fields.golden"
	var hidden []string
	shown := 0
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(source, func(node ast.Node) bool {
			declared, _ := node.(*ast.TypeSpec)
			if declared == nil {
				return true
			}
			if structure, _ := declared.Type.(*ast.StructType); structure != nil {
				with, without := audited(structure)
				if shown += with; with > 0 {
					for _, field := range without {
						hidden = append(hidden, fmt.Sprintf("%s.%s.%s", source.Name.Name, declared.Name.Name, field))
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || shown < 300 {
		t.Fatalf("%d fields with the tag audit, %v", shown, err)
	}
	slices.Sort(hidden)
	now := strings.Join(hidden, "\n") + "\n"
	if os.Getenv(apitest.Update) == "1" {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Fields(string(golden))
	for _, field := range hidden {
		if !slices.Contains(named, field) {
			t.Errorf("%s has no tag audit, so no audit entry shows a change of it. If that is right, run the test with %s=1", field, apitest.Update)
		}
	}
	for _, field := range named {
		if !slices.Contains(hidden, field) {
			t.Errorf("%s names %s, which entries show, or which does not exist. Run the test with %s=1", file, field, apitest.Update)
		}
	}
}

// audited returns how many fields of the type have the tag audit, and the names of its exported and embedded fields without it.
func audited(structure *ast.StructType) (with int, without []string) {
	for _, field := range structure.Fields.List {
		if field.Tag != nil {
			if text, err := strconv.Unquote(field.Tag.Value); err == nil && reflect.StructTag(text).Get("audit") != "" {
				with++
				continue
			}
		}
		for _, name := range field.Names {
			if name.IsExported() {
				without = append(without, name.Name)
			}
		}
		if field.Names == nil { // it is embedded
			if name, _ := field.Type.(*ast.Ident); name != nil {
				without = append(without, name.Name)
			}
		}
	}
	return with, without
}
