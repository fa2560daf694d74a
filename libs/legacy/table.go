package legacy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Row is a resource of the specification: its name and its methods, in the order of the Allow header.
type Row struct {
	Name   string
	List   []string
	Detail []string
}

// Resources returns the table of the twelve authenticated resources. The gateway routes requests by it, the
// declarations of services are checked against it, and discovery lists it.
func Resources() []Row {
	var (
		read   = []string{http.MethodGet}
		add    = []string{http.MethodGet, http.MethodPost}
		remove = []string{http.MethodDelete, http.MethodGet}
		change = []string{http.MethodDelete, http.MethodGet, http.MethodPut}
	)
	return []Row{
		{Name: "email", List: add, Detail: change},
		{Name: "event/list", List: add, Detail: change},
		{Name: "event/service", List: add, Detail: remove},
		{Name: "event/update", List: add, Detail: remove},
		{Name: "number", List: add, Detail: change},
		{Name: "service", List: add, Detail: change},
		{Name: "severity", List: read, Detail: read},
		{Name: "status", List: read, Detail: read},
		{Name: "subscribers/email", List: add, Detail: change},
		{Name: "subscribers/sms", List: add, Detail: change},
		{Name: "type", List: read, Detail: read},
		{Name: "user", List: read, Detail: read},
	}
}

// findRow returns the row of a resource, and false if Resources has no such row.
func findRow(name string) (Row, bool) {
	for _, row := range Resources() {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}

// Place is the kind of a path.
type Place string

const (
	AtList   Place = "list"   // service/
	AtDetail Place = "detail" // service/4/
	AtSchema Place = "schema" // service/schema/
	AtSet    Place = "set"    // service/set/1;3/
)

// Path is a known path under Base.
type Path struct {
	Resource string
	Place    Place
	ID       int64    // AtDetail
	Set      []string // AtSet: the ids of the request
	Methods  []string // in the order of Allow; HEAD is allowed where GET is
}

// ParsePath parses a decoded URL path, with or without the trailing slash. It returns false for a path that this
// interface does not have (404), such as a path with an id that is not a positive 64-bit integer. It also returns false
// for Base itself (discovery).
func ParsePath(path string) (Path, bool) {
	rest, under := strings.CutPrefix(path, Base)
	if !under {
		return Path{}, false
	}
	for _, row := range Resources() {
		if tail, found := strings.CutPrefix(strings.TrimSuffix(rest, "/")+"/", row.Name+"/"); found {
			return row.parse(tail)
		}
	}
	return Path{}, false
}

func (row Row) parse(tail string) (Path, bool) {
	if tail == "/" { // service//
		return Path{}, false
	}
	tail = strings.TrimSuffix(tail, "/")
	path := Path{Resource: row.Name, Methods: []string{http.MethodGet}}
	if ids, found := strings.CutPrefix(tail, "set/"); found {
		path.Place = AtSet
		path.Set = slices.DeleteFunc(strings.Split(ids, ";"), func(id string) bool { return id == "" })
		return path, len(path.Set) > 0 && !strings.Contains(ids, "/")
	}
	switch tail {
	case "":
		path.Place, path.Methods = AtList, row.List
		return path, true
	case "schema":
		path.Place = AtSchema
		return path, true
	}
	id, ok := parseID(tail)
	path.Place, path.ID, path.Methods = AtDetail, id, row.Detail
	return path, ok
}

// Allows reports whether the path allows the method. It allows HEAD where GET is allowed, and OPTIONS everywhere.
func (p Path) Allows(method string) bool {
	switch method {
	case http.MethodOptions:
		return true
	case http.MethodHead:
		method = http.MethodGet
	}
	return slices.Contains(p.Methods, method)
}

// Allow returns the value of the Allow header.
func (p Path) Allow() string { return strings.Join(p.Methods, ",") }

// OverrideHeader names the method that replaces the POST of a client that can send only GET and POST.
const OverrideHeader = "X-HTTP-Method-Override"

// Method returns the method of the request after the override.
func Method(r *http.Request) string {
	if override := strings.TrimSpace(r.Header.Get(OverrideHeader)); r.Method == http.MethodPost && override != "" {
		return strings.ToUpper(override)
	}
	return r.Method
}

// URI returns the resource_uri of a record: /api/v1/service/4/.
func URI(resource string, id int64) string {
	return ListURI(resource) + strconv.FormatInt(id, 10) + "/"
}

// ListURI returns the path of a list: /api/v1/service/.
func ListURI(resource string) string { return Base + resource + "/" }

// Discovery returns the response to GET /api/v1/, as JSON.
func Discovery() []byte {
	type entry struct {
		ListEndpoint string `json:"list_endpoint"`
		Schema       string `json:"schema"`
	}
	entries := map[string]entry{} // encoded in the order of the keys
	for _, row := range Resources() {
		entries[row.Name] = entry{ListEndpoint: ListURI(row.Name), Schema: ListURI(row.Name) + "schema/"}
	}
	return encode(entries)
}

// parseID parses a positive 64-bit integer without a sign.
func parseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && text[0] != '+'
}
