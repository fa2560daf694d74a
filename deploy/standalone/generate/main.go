// Command generate writes the OpenAPI documents of the interfaces, and the rows of the gateway's route table, from the
// operations and resources that the services and the gateway declare. `make generate` runs it from the top folder; a test fails if a document in the repository
// differs from the generated one.
//
// It is a separate program, because it imports the services. The gateway, which serves the documents and has the route
// table, imports no service.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const folder = "gateway/openapi"

// files returns the file names of the documents, and of the rows. Each has a function that returns its text.
func files() map[string]func() ([]byte, error) {
	all := documents()
	all["routes.json"] = writeRoutes
	return all
}

func main() {
	for name, write := range files() {
		text, err := write()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "generate: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}
