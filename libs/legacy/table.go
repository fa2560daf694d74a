package legacy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Row is what the specification says of a resource: its name and its methods, in the
// order of the Allow header.
type Row struct {
	Name   string
	List   []string
	Detail []string
}

// Resources is the one table of the twelve authenticated resources. The gateway
// routes by it, services are checked against it, discovery lists it.
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

// Find returns the row of a resource.
func findRow(name string) (Row, bool) {
	rows := Resources()
	i := slices.IndexFunc(rows, func(row Row) bool { return row.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Place is what kind of path a request is for.
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
	Set      []string // AtSet: the ids as asked for
	Methods  []string // allowed, in the order of Allow; HEAD comes with GET
}

// ParsePath reads a decoded URL path, with or without the trailing slash. It reports
// false for what is not a path of this interface (404), an id that is no positive
// 64-bit integer included. Base itself, the discovery document, is not one.
func ParsePath(path string) (Path, bool) {
	rest, under := strings.CutPrefix(path, Base)
	if !under {
		return Path{}, false
	}
	for _, row := range Resources() {
		if rest == row.Name {
			return row.parse("")
		}
		if tail, found := strings.CutPrefix(rest, row.Name+"/"); found {
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
		path.Place, path.Set = AtSet, splitSet(ids)
		return path, len(path.Set) > 0
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

func splitSet(ids string) []string {
	if strings.Contains(ids, "/") {
		return nil
	}
	return slices.DeleteFunc(strings.Split(ids, ";"), func(id string) bool { return id == "" })
}

// Allows reports whether the method may be used here. HEAD may where GET may; OPTIONS
// is answered everywhere, with Allow.
func (p Path) Allows(method string) bool {
	switch method {
	case http.MethodOptions:
		return true
	case http.MethodHead:
		method = http.MethodGet
	}
	return slices.Contains(p.Methods, method)
}

// Allow is the value of the Allow header.
func (p Path) Allow() string { return strings.Join(p.Methods, ",") }

// OverrideHeader names the method that a POST really is, for clients that can only
// GET and POST.
const OverrideHeader = "X-HTTP-Method-Override"

// Method is the method of the request once the override is applied.
func Method(r *http.Request) string {
	if override := strings.TrimSpace(r.Header.Get(OverrideHeader)); r.Method == http.MethodPost && override != "" {
		return strings.ToUpper(override)
	}
	return r.Method
}

// URI is the resource_uri of a record: /api/v1/service/4/.
func URI(resource string, id int64) string {
	return Base + resource + "/" + strconv.FormatInt(id, 10) + "/"
}

// ListURI is the path of a collection: /api/v1/service/.
func ListURI(resource string) string { return Base + resource + "/" }

// Discovery is the answer to GET /api/v1/, as JSON.
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

// parseID reads a positive 64-bit integer without sign.
func parseID(text string) (int64, bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0
}
