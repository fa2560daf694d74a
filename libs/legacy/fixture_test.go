package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// The resources of these tests are declared as a service declares them, over the real document engine: services, events
// with children, updates (filters of two hops), subscriptions (find or create), users, and numbers, whose operations fail.

type service struct {
	ID             string `json:"id"`
	OrganizationID string `json:"organizationId"`
	LegacyID       int64  `json:"legacyId"`
	Name           string `json:"name"`
	Description    string `json:"description"`
	Group          string `json:"group"`
	Hidden         bool   `json:"hidden"`
}

type link struct {
	LegacyID int64  `json:"legacyId"`
	Service  string `json:"service"`
}

type event struct {
	ID             string     `json:"id"`
	OrganizationID string     `json:"organizationId"`
	LegacyID       int64      `json:"legacyId"`
	Type           string     `json:"type"`
	Status         string     `json:"status"`
	Severity       string     `json:"severity"`
	Description    string     `json:"description"`
	Start          time.Time  `json:"start"`
	End            *time.Time `json:"end"`
	Auto           bool       `json:"auto"`
	Links          []link     `json:"links"`
	Notified       string     `json:"notified"`
}

type update struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	LegacyID       int64     `json:"legacyId"`
	Event          string    `json:"event"`
	EventID        int64     `json:"eventId"`
	Text           string    `json:"text"`
	Date           time.Time `json:"date"`
}

type subscription struct {
	ID             string `json:"id"`
	OrganizationID string `json:"organizationId"`
	LegacyID       int64  `json:"legacyId"`
	Email          string `json:"email"`
	Service        string `json:"service"`
	Confirmed      bool   `json:"confirmed"`
}

// world has the database and the collections of a test.
type world struct {
	db            *document.Database
	services      *document.Collection[service]
	events        *document.Collection[event]
	updates       *document.Collection[update]
	subscriptions *document.Collection[subscription]
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db, err := document.Open("sqlite:"+t.TempDir(), "legacy", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{db: db}
	base := document.Index{Name: "org_legacy", Fields: []string{"organization", "legacyId"}, Unique: true}
	w.services = document.Declare(db, document.Schema[service]{
		Name: "services", Shard: document.Whole("a test"), Key: func(s *service) string { return s.ID },
		Fields: []document.Field[service]{
			{Name: "organization", Value: func(s *service) any { return s.OrganizationID }},
			{Name: "legacyId", Value: func(s *service) any { return s.LegacyID }},
			{Name: "name", Value: func(s *service) any { return s.Name }},
			{Name: "description", Value: func(s *service) any { return s.Description }},
			{Name: "group", Value: func(s *service) any { return s.Group }},
			{Name: "hidden", Value: func(s *service) any { return s.Hidden }},
		},
		Indexes: []document.Index{base, {Name: "org_group", Fields: []string{"organization", "group", "legacyId"}}},
	})
	w.events = document.Declare(db, document.Schema[event]{
		Name: "events", Shard: document.Whole("a test"), Key: func(e *event) string { return e.ID },
		Fields: []document.Field[event]{
			{Name: "organization", Value: func(e *event) any { return e.OrganizationID }},
			{Name: "legacyId", Value: func(e *event) any { return e.LegacyID }},
			{Name: "type", Value: func(e *event) any { return e.Type }},
			{Name: "status", Value: func(e *event) any { return e.Status }},
			{Name: "severity", Value: func(e *event) any { return optional(e.Severity) }},
			{Name: "description", Value: func(e *event) any { return e.Description }},
			{Name: "start", Value: func(e *event) any { return e.Start }},
			{Name: "end", Value: func(e *event) any { return e.End }},
			{Name: "services", Value: func(e *event) any { return e.serviceKeys() }},
			{Name: "links", Value: func(e *event) any { return e.linkIDs() }},
		},
		Indexes: []document.Index{base,
			{Name: "org_type", Fields: []string{"organization", "type", "legacyId"}},
			{Name: "org_services", Fields: []string{"organization", "services", "legacyId"}}},
	})
	w.updates = document.Declare(db, document.Schema[update]{
		Name: "updates", Shard: document.Whole("a test"), Key: func(u *update) string { return u.ID },
		Fields: []document.Field[update]{
			{Name: "organization", Value: func(u *update) any { return u.OrganizationID }},
			{Name: "legacyId", Value: func(u *update) any { return u.LegacyID }},
			{Name: "event", Value: func(u *update) any { return u.Event }},
			{Name: "text", Value: func(u *update) any { return u.Text }},
			{Name: "date", Value: func(u *update) any { return u.Date }},
		},
		Indexes: []document.Index{base},
	})
	w.subscriptions = document.Declare(db, document.Schema[subscription]{
		Name: "subscriptions", Shard: document.Whole("a test"), Key: func(s *subscription) string { return s.ID },
		Fields: []document.Field[subscription]{
			{Name: "organization", Value: func(s *subscription) any { return s.OrganizationID }},
			{Name: "legacyId", Value: func(s *subscription) any { return s.LegacyID }},
			{Name: "email", Value: func(s *subscription) any { return s.Email }},
			{Name: "service", Value: func(s *subscription) any { return s.Service }},
			{Name: "confirmed", Value: func(s *subscription) any { return s.Confirmed }},
		},
		Indexes: []document.Index{base},
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (e *event) serviceKeys() []string {
	keys := []string{}
	for _, l := range e.Links {
		keys = append(keys, l.Service)
	}
	return keys
}

func (e *event) linkIDs() []int64 {
	ids := []int64{}
	for _, l := range e.Links {
		ids = append(ids, l.LegacyID)
	}
	return ids
}

func key(organization, resource string, id int64) string {
	return organization + "/" + resource + "/" + strconv.FormatInt(id, 10)
}

// next returns the next integer id of a resource within an organization.
func (w *world) next(ctx context.Context, organization, resource string) (id int64, recordKey string, err error) {
	id, err = w.db.Next(ctx, organization+" "+resource)
	return id, key(organization, resource, id), err
}

// listOf is the List operation over a collection.
func listOf[T any](c *document.Collection[T]) func(context.Context, passport.Passport, find.Query) ([]T, int64, error) {
	return func(ctx context.Context, caller passport.Passport, q find.Query) ([]T, int64, error) {
		q.Where = append([]find.Condition{find.Eq("organization", caller.Organization)}, q.Where...)
		total, err := c.Count(ctx, find.Query{Where: q.Where, Scan: q.Scan})
		if err != nil {
			return nil, 0, err
		}
		page, err := c.Find(ctx, q)
		return page.Items, total, err
	}
}

// matchIn is the Match of a relation to a collection.
func matchIn[T any](c *document.Collection[T], keyOf func(T) string) func(context.Context, passport.Passport, []find.Condition) ([]string, error) {
	return func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) {
		items, _, err := listOf(c)(ctx, caller, find.Query{Where: where, Scan: "org_legacy"})
		var keys []string
		for _, item := range items {
			keys = append(keys, keyOf(item))
		}
		return keys, err
	}
}

func resolveIn[T any](c *document.Collection[T], resource string) func(context.Context, passport.Passport, int64) (string, error) {
	return func(ctx context.Context, caller passport.Passport, id int64) (string, error) {
		recordKey := key(caller.Organization, resource, id)
		_, err := c.Get(ctx, recordKey)
		return recordKey, err
	}
}

// newHandler serves the test's resources as a service does. Headers describe the caller instead of a signed passport.
func newHandler(w *world, log *slog.Logger) http.Handler {
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.UseRawPath = true
	engine.Use(func(c *gin.Context) {
		caller := passport.Passport{
			Surface: passport.Legacy, Organization: "org-1", LegacyUser: 7,
			Roles: []string{"api"}, Features: passport.Features{API: true},
		}
		if organization := c.GetHeader("Test-Organization"); organization != "" {
			caller.Organization = organization
		}
		switch c.GetHeader("Test-Caller") {
		case "nobody":
			caller = passport.Passport{}
		case "app":
			caller.Surface = passport.App
		case "no-api":
			caller.Features.API = false
		case "subscriber":
			caller.Roles = []string{"subscriber"}
		case "admin":
			caller.Roles = []string{"admin"}
		}
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, 1<<20)
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), caller))
	})
	engine.POST("/seed/:count", w.seed)
	legacy.Mount(engine, legacy.Options{Log: log, BaseURL: "https://api.status.example.com/"},
		append(legacy.Lookups(), w.serviceResource(), w.eventResource(), w.updateResource(), w.subscriptionResource(), userResource(),
			failingResource())...)
	return engine
}

// seed adds services with the names 01, 02, ... to the caller's organization.
func (w *world) seed(c *gin.Context) {
	count, err := strconv.Atoi(c.Param("count"))
	for range count {
		var s service
		s.OrganizationID = passport.From(c.Request.Context()).Organization
		s.LegacyID, s.ID, err = w.next(c, s.OrganizationID, "service")
		s.Name, s.Group = fmt.Sprintf("%02d", s.LegacyID), "default"
		if err == nil {
			err = w.services.Insert(c, s)
		}
	}
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
	}
}

func set[V any](target *V, value *V) {
	if value != nil {
		*target = *value
	}
}

func invalidWhen(condition bool, field, message string) error {
	if condition {
		return fault.Field(field, "%s", message)
	}
	return nil
}

// failingResource returns the resource number. The number of the request selects the failure.
func failingResource() legacy.Declared {
	type number struct{ ID int64 }
	failures := map[string]error{
		"1": fault.Wrap(fault.Internal, errors.New("secret cause"), "secret words"),
		"2": errors.New("secret cause"),
		"3": fault.New(fault.Unavailable, "The database cannot be reached."),
		"4": fault.New(fault.Denied, "no"),
		"5": fault.New(fault.Forbidden, "Your plan does not allow this."),
		"6": fault.New(fault.Conflict, "There are too many numbers."),
		"7": errors.Join(fault.Field("digits", "Too short."), fault.Field("blocked", "Not now.")),
		"8": fmt.Errorf("waiting: %w", context.DeadlineExceeded),
		"9": fault.Field("numbers[1].digits", "There is such a number."),
	}
	fail := func(text string) (number, error) {
		if err, known := failures[text]; known {
			return number{}, err
		}
		panic("secret panic at " + text)
	}
	return legacy.Resource[number]{
		Name: "number", FaultFields: map[string]string{"digits": "number"},
		Fields: []legacy.Field{{Name: "number", Type: legacy.String, Required: true, Unique: true}, {Name: "blocked", Type: legacy.Boolean, Readonly: true}},
		ID:     func(n number) int64 { return n.ID },
		View:   func(n number) any { return map[string]any{"resource_uri": legacy.URI("number", n.ID)} },
		List: func(context.Context, passport.Passport, find.Query) ([]number, int64, error) {
			return nil, 0, failures["2"]
		},
		Get: func(_ context.Context, _ passport.Passport, id int64) (number, error) {
			if id == 100 {
				return number{ID: id}, nil
			}
			return fail(strconv.FormatInt(id, 10))
		},
		Create: func(_ context.Context, _ passport.Passport, in legacy.Input) (number, error) {
			return fail(*in.Text("number"))
		},
		Update: func(_ context.Context, _ passport.Passport, _ int64, in legacy.Input) (number, error) {
			return fail(*in.Text("number"))
		},
		Delete: func(_ context.Context, _ passport.Passport, id int64) error {
			_, err := fail(strconv.FormatInt(id, 10))
			return err
		},
	}
}

func userResource() legacy.Declared {
	type user struct{ ID int64 }
	type view struct {
		DateJoined  legacy.Time  `json:"date_joined"`
		LastLogin   *legacy.Time `json:"last_login"`
		ResourceURI string       `json:"resource_uri"`
		Username    string       `json:"username"`
	}
	return legacy.Resource[user]{
		Name: "user",
		Fields: []legacy.Field{
			{Name: "username", Type: legacy.String, Readonly: true, Find: "username"},
			{Name: "date_joined", Type: legacy.Datetime, Readonly: true},
			{Name: "last_login", Type: legacy.Datetime, Readonly: true, Nullable: true},
		},
		ID: func(u user) int64 { return u.ID },
		View: func(u user) any {
			joined := time.Date(2026, 1, 2, 3, 4, 5, int(u.ID)*6_000_000, time.UTC)
			return view{DateJoined: legacy.Time(joined), LastLogin: legacy.TimeOf(nil), ResourceURI: legacy.URI("user", u.ID), Username: "<ü&" + strings.Repeat("u", int(u.ID))}
		},
		List: func(context.Context, passport.Passport, find.Query) ([]user, int64, error) {
			return []user{{ID: 0}, {ID: 7}}, 2, nil
		},
	}
}
