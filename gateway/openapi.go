package gateway

import (
	"embed"
	"encoding/json"
	"fmt"
)

// documents are the OpenAPI documents and routes.json, generated from the operations and resources that the services and
// the gateway declare ("make generate").
//
//go:embed openapi
var documents embed.FS

const (
	legacyDocument   = "/openapi/legacy.yaml"
	appDocument      = "/openapi/app.yaml"
	operatorDocument = "/openapi/operator.yaml"
	publicDocument   = "/openapi/public.yaml"
)

// declaredRoutes returns the rows of routes.json: one for each operation of the public, the App and the operator
// document. The gateway does not read the documents themselves, because that takes 50 ms of processor time at each start.
// declaredRoutes panics if the embedded file is not JSON.
func declaredRoutes() []Route {
	var rows []Route
	text, err := documents.ReadFile("openapi/routes.json")
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	if err != nil {
		panic(fmt.Sprintf("routes.json: %v", err))
	}
	return rows
}
