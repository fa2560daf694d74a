// Command generate writes the OpenAPI documents of the interfaces, and the rows of the gateway's route table, from the
// operations and resources that the services and the gateway declare. `make generate` runs the command from the top folder. A
// test fails if a file in the repository differs from the generated file.
//
// It is a separate program, because it imports the services. The gateway, which serves the documents and has the route
// table, imports no service.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const folder = "gateway/openapi"

// files returns the texts of the documents and of the rows by their file names.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, write := range map[string]func() ([]byte, error){
		"app.yaml": writeApp, "operator.yaml": writeOperator, "legacy.yaml": writeLegacy, "public.yaml": writePublic,
	} {
		text, err := write()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = text
	}
	rows, err := writeRoutes(all)
	if err != nil {
		return nil, fmt.Errorf("routes.json: %w", err)
	}
	all["routes.json"] = rows
	return all, nil
}

func main() {
	all, err := files()
	for name, text := range all {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), text, 0o644))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}
