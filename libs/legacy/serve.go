package legacy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// endpoint serves one resource.
type endpoint[T any] struct {
	Resource[T]
	options Options
	known   []Field // the fields for filters and ordering
}

func (r Resource[T]) name() string { return r.Name }

func (r Resource[T]) handler(options Options) gin.HandlerFunc {
	known := append([]Field{idField(findID), {Name: "resource_uri", Type: String}}, r.Fields...)
	e := endpoint[T]{Resource: r, options: options, known: known}
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause == http.ErrAbortHandler {
				panic(cause)
			} else if cause != nil {
				WriteError(c.Writer, c.Request, options.Log, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
			}
		}()
		if err := e.serve(c.Writer, c.Request); err != nil {
			WriteError(c.Writer, c.Request, options.Log, err)
		}
	}
}

// serve handles a request. The specification defines the order of its checks, which decides which error a wrong
// request gets.
func (e endpoint[T]) serve(w http.ResponseWriter, r *http.Request) error {
	path, known := ParsePath(r.URL.Path)
	if !known || path.Resource != e.Name {
		return fault.New(fault.NotFound, "There is nothing at this path.")
	}
	method := Method(r)
	if method == http.MethodOptions || !path.Allows(method) {
		WriteNotAllowed(w, r, path)
		return nil
	}
	caller := passport.From(r.Context())
	if err := admit(caller); err != nil {
		return err
	}
	switch {
	case path.Place == AtSchema:
		return e.ok(w, r, http.StatusOK, e.schema())
	case path.Place == AtSet:
		return e.set(w, r, caller, path.Set)
	case method == http.MethodPost:
		return e.write(w, r, caller, 0)
	case method == http.MethodPut:
		return e.write(w, r, caller, path.ID)
	case method == http.MethodDelete:
		return e.delete(w, r, caller, path.ID)
	case path.Place == AtList:
		return e.list(w, r, caller)
	}
	item, err := e.get(r, caller, path.ID)
	if err != nil {
		return err
	}
	return e.ok(w, r, http.StatusOK, e.View(item))
}

// admit returns an error for a caller who may not use this interface: a caller of another surface, without the
// entitlement, or without the role.
func admit(caller passport.Passport) error {
	switch {
	case caller.Surface != passport.Legacy || caller.Organization == "":
		return fault.New(fault.Denied, "The passport is for another interface.")
	case !caller.Features.API:
		return passport.ErrNoAPI
	case !caller.Has(passport.RoleAPI):
		return fault.New(fault.Forbidden, "Your role does not allow this request. Use a user with the role administrator or API.")
	}
	return nil
}

// ok writes a view. The response to a GET or HEAD also has the headers against caching.
func (e endpoint[T]) ok(w http.ResponseWriter, r *http.Request, status int, view any) error {
	body, err := Encode(view)
	if err != nil {
		return fmt.Errorf("encoding a %s: %w", e.Name, err)
	}
	if method := Method(r); method == http.MethodGet || method == http.MethodHead {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Vary", "Accept")
	}
	WriteJSON(w, r, status, body)
	return nil
}

func (e endpoint[T]) list(w http.ResponseWriter, r *http.Request, caller passport.Passport) error {
	all := parseParams(r.URL.RawQuery)
	page, err := ReadPage(r.URL.RawQuery, defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	query := find.Query{Limit: int(page.Limit), Offset: int(min(page.Offset, furthest))}
	if query.Order, err = orderBy(e.known, all); err != nil {
		return err
	}
	translate := translator{ctx: r.Context(), caller: caller}
	if query.Where, err = translate.where(e.known, all); err != nil {
		return err
	}
	query.Scan = scanIn(e.Indexes, query)
	pages, total := Pages[T](func(func([]T, error) bool) {}), int64(0)
	if !matchesNothing(query.Where) {
		if pages, total, err = e.pages(r.Context(), caller, query); err != nil {
			return err
		}
	}
	out := newObjectsWriter(w, r, listHead{new(page.Meta(ListURI(e.Name), total))})
	for items, err := range pages {
		if err == nil {
			err = e.add(out, items)
		}
		if err != nil {
			return e.broken(out, err)
		}
	}
	out.end(listHead{})
	return nil
}

// add writes the views of the items.
func (e endpoint[T]) add(out *objectsWriter, items []T) error {
	for _, item := range items {
		if err := out.add(e.View(item)); err != nil {
			return err
		}
	}
	return nil
}

// broken returns the error for the client. If a part of the response was sent, it logs the error and closes the connection.
func (e endpoint[T]) broken(out *objectsWriter, err error) error {
	if !out.begun() {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		e.options.Log.ErrorContext(out.r.Context(), "a list broke off", "resource", e.Name, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// pages returns the records that List or Pages finds.
func (e endpoint[T]) pages(ctx context.Context, caller passport.Passport, query find.Query) (Pages[T], int64, error) {
	if e.Pages != nil {
		return e.Pages(ctx, caller, query)
	}
	items, total, err := e.List(ctx, caller, query)
	return func(yield func([]T, error) bool) { yield(items, nil) }, total, err
}

type listHead struct {
	Meta *Meta `json:"meta,omitempty"`
}

func (e endpoint[T]) get(r *http.Request, caller passport.Passport, id int64) (T, error) {
	if e.Get != nil {
		return e.Get(r.Context(), caller, id)
	}
	items, _, err := e.firstPage(r.Context(), caller, []int64{id})
	if err == nil && len(items) == 0 {
		err = fault.New(fault.NotFound, "There is no %s %d.", e.Name, id)
	}
	if err != nil {
		var none T
		return none, err
	}
	return items[0], nil
}

// set writes the objects whose ids are in asked, in this order, and lists the other ids in not_found. It returns an Invalid
// fault for more than maxLimit ids.
func (e endpoint[T]) set(w http.ResponseWriter, r *http.Request, caller passport.Passport, asked []string) error {
	if len(asked) > maxLimit {
		return invalid("A set must name at most %d objects.", maxLimit)
	}
	out := newObjectsWriter(w, r, setTail{})
	var tail setTail
	for part := len(asked); len(asked) > 0; {
		part = min(part, len(asked))
		found, whole, err := e.members(r.Context(), caller, asked[:part])
		if err == nil && !whole { // the records do not fit into one page, so request fewer
			part = max(1, part/2)
			continue
		}
		for _, text := range asked[:part] {
			id, _ := parseID(text)
			if item, ok := found[id]; ok && err == nil {
				err = out.add(e.View(item))
			} else {
				tail.NotFound = append(tail.NotFound, text)
			}
		}
		if err != nil {
			return e.broken(out, err)
		}
		asked = asked[part:]
	}
	out.end(tail)
	return nil
}

type setTail struct {
	NotFound []string `json:"not_found,omitempty"`
}

// members returns the records whose ids are in asked, by id. whole is false if asked has several ids and their records
// do not fit into one page.
func (e endpoint[T]) members(ctx context.Context, caller passport.Passport, asked []string) (found map[int64]T, whole bool, err error) {
	var ids []int64
	for _, text := range asked {
		if id, ok := parseID(text); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, true, nil
	}
	items, whole, err := e.firstPage(ctx, caller, ids)
	found = make(map[int64]T, len(items))
	for _, item := range items {
		found[e.ID(item)] = item
	}
	return found, whole || len(ids) == 1, err
}

// firstPage returns the first page of the records with the ids. whole reports whether there is no other page.
func (e endpoint[T]) firstPage(ctx context.Context, caller passport.Passport, ids []int64) (items []T, whole bool, err error) {
	where := find.In(findID, ids...)
	if len(ids) == 1 {
		where = find.Eq(findID, ids[0])
	}
	query := find.Query{Where: []find.Condition{where}, Order: []find.Order{{Field: findID}}, Limit: len(ids)}
	query.Scan = scanIn(e.Indexes, query)
	pages, _, err := e.pages(ctx, caller, query)
	if err != nil {
		return nil, false, err
	}
	next, stop := iter.Pull2(pages)
	defer stop()
	items, err, _ = next()
	if err != nil {
		return nil, false, err
	}
	_, err, more := next()
	return items, !more, err
}

// write creates a record if id is 0, and otherwise updates the record with the id.
func (e endpoint[T]) write(w http.ResponseWriter, r *http.Request, caller passport.Passport, id int64) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	var item T
	in, err := (&binder{r.Context(), caller, map[string]Ref{}}).object(e.Fields, body, id == 0)
	bound := err == nil
	switch {
	case !bound:
	case id == 0:
		item, err = e.Create(r.Context(), caller, in)
	default:
		item, err = e.Update(r.Context(), caller, id, in)
	}
	if id != 0 && (!bound || fault.Is(err, fault.NotFound)) {
		// A missing record is reported before faults of the body. So the record is loaded if the body has faults, or if
		// Update returned NotFound for any reason.
		if _, missing := e.get(r, caller, id); missing != nil {
			return missing
		}
	}
	if err != nil {
		writeFault(w, r, e.options.Log, err, e.Name, e.FaultFields)
		return nil
	}
	if id != 0 {
		return e.ok(w, r, http.StatusOK, e.View(item))
	}
	w.Header().Set("Location", e.options.BaseURL+URI(e.Name, e.ID(item)))
	return e.ok(w, r, http.StatusCreated, e.View(item))
}

func (e endpoint[T]) delete(w http.ResponseWriter, r *http.Request, caller passport.Passport, id int64) error {
	if err := e.Delete(r.Context(), caller, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Check implements Declared.
func (r Resource[T]) Check() error {
	row, known := findRow(r.Name)
	if !known {
		return fmt.Errorf("legacy: %s is not in the table of resources", r.Name)
	}
	if r.ID == nil || r.View == nil || (r.List == nil) == (r.Pages == nil) {
		return fmt.Errorf("legacy: %s lacks ID, View, or one of List and Pages", r.Name)
	}
	has := map[string]bool{http.MethodPost: r.Create != nil, http.MethodPut: r.Update != nil, http.MethodDelete: r.Delete != nil}
	methods := strings.Join(append(row.List, row.Detail...), ",") + ","
	for method, operation := range has {
		if operation != strings.Contains(methods, method+",") {
			return fmt.Errorf("legacy: %s and the table of resources disagree about %s", r.Name, method)
		}
	}
	return errors.Join(checkFields(r.Name, r.Fields)...)
}
