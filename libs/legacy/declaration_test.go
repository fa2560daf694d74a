package legacy_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// specification is the specification's table of methods, word for word.
const specification = `
event/list        GET,POST DELETE,GET,PUT
event/service     GET,POST DELETE,GET
event/update      GET,POST DELETE,GET
service           GET,POST DELETE,GET,PUT
severity          GET      GET
status            GET      GET
type              GET      GET
user              GET      GET
email             GET,POST DELETE,GET,PUT
number            GET,POST DELETE,GET,PUT
subscribers/email GET,POST DELETE,GET,PUT
subscribers/sms   GET,POST DELETE,GET,PUT`

func TestResourcesAreThoseOfTheSpecification(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(specification), "\n")
	if len(legacy.Resources()) != len(lines) {
		t.Errorf("%d resources, the specification has %d", len(legacy.Resources()), len(lines))
	}
	for _, line := range lines {
		words := strings.Fields(line)
		for suffix, allow := range map[string]string{"": words[1], "/": words[1], "/1": words[2], "/1/": words[2], "/schema/": "GET", "/schema": "GET", "/set/1;2/": "GET"} {
			path, known := legacy.ParsePath("/api/v1/" + words[0] + suffix)
			if !known || path.Resource != words[0] || path.Allow() != allow {
				t.Errorf("%s%s: %+v, %t; Allow should be %s", words[0], suffix, path, known, allow)
			}
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", ""} {
				want := strings.Contains(","+allow+",", ","+method+",") || method == "HEAD" || method == "OPTIONS"
				if path.Allows(method) != want {
					t.Errorf("%s %s%s: allowed %t", method, words[0], suffix, !want)
				}
			}
		}
	}
}

func TestParsePathRefusesWhatIsNoPath(t *testing.T) {
	for _, path := range []string{
		"", "/", "/api/v1", "/api/v1/", "/api/v1//", "/api/v1/event", "/api/v1/event/", "/api/v1/event/1/", "/api/v1/dashboard/",
		"/api/v1/services/", "/api/v1/Service/", "/api/v2/service/", "api/v1/service/", "/api/v1/subscribers/", "/api/v1/event/lists/",
		"/api/v1/service//", "/api/v1/event/list//", "/api/v1/service///", "/api/v1/service/schema//", "/api/v1/service/1//", "/api/v1/service/1/2/", "/api/v1/service/0/", "/api/v1/service/-1/", "/api/v1/service/x/",
		"/api/v1/service/9223372036854775808/", "/api/v1/service/set/", "/api/v1/service/set/1/2/", "/api/v1/service/schema/x/",
	} {
		if got, known := legacy.ParsePath(path); known {
			t.Errorf("%s is taken for %+v", path, got)
		}
	}
	if path, known := legacy.ParsePath("/api/v1/service/9223372036854775807/"); !known || path.ID != 9223372036854775807 {
		t.Errorf("the largest id: %+v, %t", path, known)
	}
}

func TestDiscoveryListsTheTwelveResources(t *testing.T) {
	var entries map[string]map[string]string
	if err := json.Unmarshal(legacy.Discovery(), &entries); err != nil {
		t.Fatal(err)
	}
	for _, row := range legacy.Resources() {
		want := map[string]string{"list_endpoint": "/api/v1/" + row.Name + "/", "schema": "/api/v1/" + row.Name + "/schema/"}
		if !reflect.DeepEqual(entries[row.Name], want) {
			t.Errorf("%s: %v", row.Name, entries[row.Name])
		}
	}
	if len(entries) != 12 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestMethodAppliesTheOverrideToPostsOnly(t *testing.T) {
	for _, test := range []struct{ method, override, want string }{
		{"POST", "", "POST"}, {"POST", "PUT", "PUT"}, {"POST", " delete ", "DELETE"}, {"POST", "Patch", "PATCH"},
		{"GET", "DELETE", "GET"}, {"PUT", "DELETE", "PUT"}, {"POST", "POST", "POST"},
	} {
		r := httptest.NewRequest(test.method, "/api/v1/service/1/", nil)
		r.Header.Set(legacy.OverrideHeader, test.override)
		if got := legacy.Method(r); got != test.want {
			t.Errorf("%s with %q is %s, not %s", test.method, test.override, got, test.want)
		}
	}
}

type thing struct{ ID int64 }

// sound returns a declaration without faults.
func sound() legacy.Resource[thing] {
	return legacy.Resource[thing]{
		Name: "event/update",
		ID:   func(t thing) int64 { return t.ID },
		View: func(t thing) any { return map[string]string{"resource_uri": legacy.URI("event/update", t.ID)} },
		List: func(context.Context, passport.Passport, find.Query) ([]thing, int64, error) { return nil, 0, nil },
		Create: func(context.Context, passport.Passport, legacy.Input) (thing, error) {
			return thing{}, nil
		},
		Delete: func(context.Context, passport.Passport, int64) error { return nil },
	}
}

func TestCheckFindsWhatIsWrongWithADeclaration(t *testing.T) {
	if err := sound().Check(); err != nil {
		t.Fatal(err)
	}
	with := func(fields ...legacy.Field) func(*legacy.Resource[thing]) {
		return func(r *legacy.Resource[thing]) { r.Fields = fields }
	}
	to := func(relation legacy.Relation) func(*legacy.Resource[thing]) {
		return with(legacy.Field{Name: "a", Type: legacy.Related, Relation: &relation})
	}
	text := legacy.Field{Name: "a", Type: legacy.String}
	for name, test := range map[string]struct {
		change func(*legacy.Resource[thing])
		says   string
	}{
		"unknown name":           {func(r *legacy.Resource[thing]) { r.Name = "event/updates" }, "not in the table"},
		"no list":                {func(r *legacy.Resource[thing]) { r.List = nil }, "lacks"},
		"no view":                {func(r *legacy.Resource[thing]) { r.View = nil }, "lacks"},
		"no id":                  {func(r *legacy.Resource[thing]) { r.ID = nil }, "lacks"},
		"misses an operation":    {func(r *legacy.Resource[thing]) { r.Create = nil }, "about POST"},
		"misses delete":          {func(r *legacy.Resource[thing]) { r.Delete = nil }, "about DELETE"},
		"has too many":           {func(r *legacy.Resource[thing]) { r.Update = noUpdate }, "about PUT"},
		"field id":               {with(legacy.Field{Name: "id", Type: legacy.Integer}), "cannot be named"},
		"field without name":     {with(legacy.Field{Type: legacy.Integer}), "cannot be named"},
		"field twice":            {with(text, text), "two fields"},
		"field like a parameter": {with(legacy.Field{Name: "limit", Type: legacy.Integer}), "cannot be named"},
		"field with a lookup":    {with(legacy.Field{Name: "a__b", Type: legacy.Integer}), "cannot be named"},
		"unknown type":           {with(legacy.Field{Name: "a", Type: "float"}), "no type"},
		"relation without":       {with(legacy.Field{Name: "a", Type: legacy.Related}), "Relation goes with"},
		"relation of a text":     {with(legacy.Field{Name: "a", Type: legacy.String, Relation: legacy.TypeLookup.Relation()}), "Relation goes with"},
		"default of a type":      {with(legacy.Field{Name: "a", Type: legacy.String, Default: false}), "the default"},
		"default of an int":      {with(legacy.Field{Name: "a", Type: legacy.Integer, Default: 1}), "the default"},
		"input only, filtered":   {with(legacy.Field{Name: "a", Type: legacy.String, InputOnly: true, Find: "a"}), "InputOnly"},
		"related to nothing":     {to(legacy.Relation{To: "events"}), "no resource"},
		"match without find":     {to(*legacy.TypeLookup.Relation()), "needs a Find"},
		"bare without item":      {to(legacy.Relation{To: "service", Many: true, Bare: "x"}), "no item field"},
		"an item":                {to(legacy.Relation{To: "service", Many: true, Items: []legacy.Field{{Name: "a"}}}), "no type"},
		"in an object":           {with(legacy.Field{Name: "a", Type: legacy.Object, Fields: []legacy.Field{text, text}}), "two fields"},
	} {
		t.Run(name, func(t *testing.T) {
			resource := sound()
			test.change(&resource)
			err := resource.Check()
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("expected an error that says %q, got %v", test.says, err)
			}
			defer func() {
				if recover() == nil {
					t.Error("Mount took it")
				}
			}()
			legacy.Mount(gin.New(), legacy.Options{}, resource)
		})
	}
}

func noUpdate(context.Context, passport.Passport, int64, legacy.Input) (thing, error) {
	return thing{}, nil
}

// The query that List gets for each kind of filter: no Scan if an index serves the query, else the index that excludes
// most records.
func TestListIsAskedWithTheIndexThatServes(t *testing.T) {
	var asked *find.Query
	resource := sound()
	resource.Fields = []legacy.Field{
		{Name: "status", Type: legacy.Related, Find: "status", Relation: legacy.StatusLookup.Relation()},
		{Name: "update", Type: legacy.String, Find: "text"},
		{Name: "type", Type: legacy.Related, Find: "type", Relation: legacy.TypeLookup.Relation()},
	}
	resource.Indexes = []legacy.Index{{Name: "base"}, {Name: "by_type", Equal: []string{"type"}}, {Name: "by_both", Equal: []string{"type", "status"}}, {Name: "in_order", Order: "text"}}
	resource.List = func(_ context.Context, _ passport.Passport, q find.Query) ([]thing, int64, error) {
		asked = &q
		return nil, 0, nil
	}
	engine := gin.New()
	engine.Use(func(c *gin.Context) {
		caller := passport.Passport{Surface: passport.Legacy, Organization: "o", Roles: []string{"api"}, Features: passport.Features{API: true}}
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), caller))
	})
	legacy.Mount(engine, legacy.Options{Log: slog.New(slog.DiscardHandler)}, resource)
	id := []find.Order{{Field: "legacyId"}}
	for query, want := range map[string]find.Query{
		"":                                   {Order: id, Limit: 20},
		"limit=1001&offset=3":                {Order: id, Limit: 1000, Offset: 3},
		"offset=9223372036854775807":         {Order: id, Limit: 20, Offset: 1 << 40},
		"type=1":                             {Order: id, Limit: 20, Where: []find.Condition{find.Eq("type", "incident")}},
		"type__type=incident&order_by=-id":   {Order: []find.Order{{Field: "legacyId", Descending: true}}, Limit: 20, Where: []find.Condition{find.Eq("type", "incident")}},
		"status=2&type=1":                    {Order: id, Limit: 20, Where: []find.Condition{find.Eq("status", "investigating"), find.Eq("type", "incident")}},
		"status=2":                           {Order: id, Limit: 20, Scan: "base", Where: []find.Condition{find.Eq("status", "investigating")}},
		"update__contains=x":                 {Order: id, Limit: 20, Scan: "base", Where: []find.Condition{find.Text("text", find.Substring, "x", false)}},
		"update__contains=x&type=1":          {Order: id, Limit: 20, Scan: "by_type", Where: []find.Condition{find.Text("text", find.Substring, "x", false), find.Eq("type", "incident")}},
		"type=1&type__type=maintenance":      {Order: id, Limit: 20, Scan: "by_type", Where: []find.Condition{find.Eq("type", "incident"), find.Eq("type", "maintenance")}},
		"type__in=1,2":                       {Order: id, Limit: 20, Scan: "base", Where: []find.Condition{find.In("type", "incident", "maintenance")}},
		"order_by=update":                    {Order: []find.Order{{Field: "text"}, {Field: "legacyId"}}, Limit: 20, Scan: "in_order"},
		"type=1&order_by=update&order_by=id": {Order: []find.Order{{Field: "text"}, {Field: "legacyId"}}, Limit: 20, Scan: "by_type", Where: []find.Condition{find.Eq("type", "incident")}},
		"id=4":                               {Order: id, Limit: 20, Scan: "base", Where: []find.Condition{find.Eq("legacyId", int64(4))}},
	} {
		asked = nil
		response := httptest.NewRecorder()
		engine.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/api/v1/event/update/?"+query, nil))
		if response.Code != http.StatusOK || asked == nil || !reflect.DeepEqual(*asked, want) {
			t.Errorf("%q: %d\nasked    %+v\nexpected %+v", query, response.Code, asked, want)
		}
	}
	asked = nil
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/api/v1/event/update/?type=77", nil))
	if response.Code != http.StatusOK || asked != nil {
		t.Errorf("what nothing can match was asked for: %d %+v", response.Code, asked)
	}
}
