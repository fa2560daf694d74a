package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fieldsRead has the names of fields, with the folders of the files that read a field of this name.
type fieldsRead map[string]map[string]bool

func (r fieldsRead) add(name, dir string) {
	if r[name] == nil {
		r[name] = map[string]bool{}
	}
	r[name][dir] = true
}

// TestEachFieldIsReadByTheCode finds fields that code sets and that neither code nor a template reads, such as a setting
// that is handed over and has no effect. A field of a type whose name ends with Config or Options must be read in the
// package that declares the type, unless the field has an environment variable: then the field is read where the value is
// handed over. Fields with the tag of a format are read by others. Types whose name ends with Key are compared as a whole.
func TestEachFieldIsReadByTheCode(t *testing.T) {
	t.Parallel()
	type field struct {
		typ, name, dir, path string
		handedOver           bool
	}
	var declared []field
	read := fieldsRead{}
	inTemplate := regexp.MustCompile(`[.$]([A-Za-z]+)`)
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		dir := filepath.Dir(path)
		switch {
		case err != nil || entry.IsDir():
			return err
		case strings.HasSuffix(path, ".html"), strings.Contains(dir, "templates"):
			content, err := os.ReadFile(path)
			for _, name := range inTemplate.FindAllStringSubmatch(string(content), -1) {
				read.add(name[1], dir)
			}
			return err
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(dir, "deploy/standalone"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		set := map[ast.Expr]bool{}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.TypeSpec:
				structure, _ := n.Type.(*ast.StructType)
				if structure == nil || strings.HasSuffix(n.Name.Name, "Key") || strings.HasSuffix(path, "_test.go") {
					return true
				}
				for _, f := range structure.Fields.List {
					setting := f.Tag != nil && strings.Contains(f.Tag.Value, ` env:"`)
					if f.Tag != nil && !setting {
						continue
					}
					for _, name := range f.Names {
						handedOver := strings.HasSuffix(n.Name.Name, "Config") || strings.HasSuffix(n.Name.Name, "Options")
						declared = append(declared, field{n.Name.Name, name.Name, dir, path, handedOver && !setting})
					}
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					set[left] = n.Tok == token.ASSIGN
				}
			case *ast.SelectorExpr:
				if !set[n] {
					read.add(n.Sel.Name, dir)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || len(declared) < 1000 {
		t.Fatalf("%d fields, %v", len(declared), err)
	}
	for _, f := range declared {
		here := read[f.name][f.dir]
		if !here && (f.handedOver || !ast.IsExported(f.name) || len(read[f.name]) == 0) {
			t.Errorf("%s: nothing reads the field %s of %s", f.path, f.name, f.typ)
		}
	}
}

// TestTheOneProcessHandsOverEachSetting finds a setting of a service that the platform as one process does not set in the
// service's Config: the process would accept the setting, and the service would have its zero value. bind sets Process.
func TestTheOneProcessHandsOverEachSetting(t *testing.T) {
	t.Parallel()
	parse := func(path string) *ast.File {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	given := map[string]map[string]bool{} // by service
	ast.Inspect(parse("deploy/standalone/platform.go"), func(node ast.Node) bool {
		literal, _ := node.(*ast.CompositeLit)
		if literal == nil {
			return true
		}
		of, _ := literal.Type.(*ast.SelectorExpr)
		if of == nil || of.Sel.Name != "Config" {
			return true
		}
		set := map[string]bool{}
		for _, element := range literal.Elts {
			set[element.(*ast.KeyValueExpr).Key.(*ast.Ident).Name] = true
		}
		given[of.X.(*ast.Ident).Name] = set
		return true
	})
	if len(given) != len(binaryNames) {
		t.Fatalf("platform.go starts %d services, not %d", len(given), len(binaryNames))
	}
	for service, set := range given {
		dir := filepath.Join("services", service)
		if service == "gateway" {
			dir = service
		}
		ast.Inspect(parse(filepath.Join(dir, service+".go")), func(node ast.Node) bool {
			config, _ := node.(*ast.TypeSpec)
			if config == nil || config.Name.Name != "Config" {
				return true
			}
			for _, field := range config.Type.(*ast.StructType).Fields.List {
				if field.Tag == nil || strings.Contains(field.Tag.Value, `kong:"-"`) {
					continue
				}
				settings := field.Names
				if embedded, is := field.Type.(*ast.SelectorExpr); is && settings == nil {
					settings = []*ast.Ident{embedded.Sel}
				}
				for _, setting := range settings {
					if setting.Name != "Process" && !set[setting.Name] {
						t.Errorf("platform.go does not hand %s over to %s", setting.Name, service)
					}
				}
			}
			return false
		})
	}
}
