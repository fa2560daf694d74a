package legacy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// pagedServer serves things with the ids from 1 to the total. Each has a text of the size. Their pages have at most two
// things. failAt is the id whose page cannot be read.
func pagedServer(t *testing.T, total, size int, failAt int64, read func(id int64)) *httptest.Server {
	t.Helper()
	text := strings.Repeat("x", size)
	resource := sound()
	resource.View = func(thing thing) any {
		return map[string]string{"resource_uri": legacy.URI("event/update", thing.ID), "update": text}
	}
	resource.List = nil
	resource.Pages = func(_ context.Context, _ passport.Passport, q find.Query) (legacy.Pages[thing], int64, error) {
		var ids []int64
		for id := int64(q.Offset + 1); id <= int64(total) && len(ids) < q.Limit; id++ {
			if len(q.Where) == 0 || q.Where[0].Value == id || slices.Contains(q.Where[0].Values, any(id)) {
				ids = append(ids, id)
			}
		}
		return func(yield func([]thing, error) bool) {
			for page := range slices.Chunk(ids, 2) {
				var things []thing
				for _, id := range page {
					if id == failAt {
						yield(nil, errors.New("the database is gone"))
						return
					}
					read(id)
					things = append(things, thing{id})
				}
				if !yield(things, nil) {
					return
				}
			}
		}, int64(total), nil
	}
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.Use(func(c *gin.Context) {
		caller := passport.Passport{Surface: passport.Legacy, Organization: "o", Roles: []string{"api"}, Features: passport.Features{API: true}}
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), caller))
	})
	legacy.Mount(engine, legacy.Options{Log: slog.New(slog.DiscardHandler)}, resource)
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	return server
}

// firstWrite notes how far the records were read when the response began.
type firstWrite struct {
	*httptest.ResponseRecorder
	read  *int64
	began int64
}

func (w *firstWrite) Write(data []byte) (int, error) {
	if w.began == 0 {
		w.began = *w.read
	}
	return w.ResponseRecorder.Write(data)
}

// A large list is written while it is read, and is whole. HEAD has its length.
func TestLargeListIsWrittenPageByPage(t *testing.T) {
	const total, size = 12, 512 << 10
	furthest := int64(0)
	server := pagedServer(t, total, size, 0, func(id int64) { furthest = id })
	w := &firstWrite{ResponseRecorder: httptest.NewRecorder(), read: &furthest}
	server.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/event/update/?limit=1000", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Length") != "" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	if w.began > total/2 {
		t.Errorf("when the response began, %d of %d objects were read", w.began, total)
	}
	var list struct {
		Meta    legacy.Meta
		Objects []map[string]string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if list.Meta.TotalCount != total || len(list.Objects) != total || list.Objects[total-1]["resource_uri"] != legacy.URI("event/update", total) {
		t.Errorf("%+v, %d objects", list.Meta, len(list.Objects))
	}
	const short = "/api/v1/event/update/?limit=3"
	response, err := http.Get(server.URL + short)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	head, err := http.Head(server.URL + short)
	if err != nil {
		t.Fatal(err)
	}
	head.Body.Close()
	if head.ContentLength != int64(len(whole)) {
		t.Errorf("HEAD has the length %d, want %d", head.ContentLength, len(whole))
	}
}

// If a page cannot be read, a client never takes the list for complete: a small one is a 500, a large one breaks off.
func TestBrokenListIsNotComplete(t *testing.T) {
	for size, status := range map[int]int{100: http.StatusInternalServerError, 1 << 20: http.StatusOK} {
		server := pagedServer(t, 8, size, 7, func(int64) {})
		response, err := http.Get(server.URL + "/api/v1/event/update/")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != status || (err == nil) != (status != http.StatusOK) {
			t.Errorf("objects of %d bytes: %d, %v", size, response.StatusCode, err)
		}
	}
}

// A set whose records are too large for one page is read in parts, and keeps the order of the request.
func TestSetOfLargeRecordsIsReadInParts(t *testing.T) {
	server := pagedServer(t, 9, 10, 0, func(int64) {})
	response, err := http.Get(server.URL + "/api/v1/event/update/set/9;3;x;77;1;2;8;3;5/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var set struct {
		Objects  []map[string]string
		NotFound []string `json:"not_found"`
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, object := range set.Objects {
		ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(object["resource_uri"], "/api/v1/event/update/"), "/"))
	}
	if strings.Join(ids, ";") != "9;3;1;2;8;3;5" || strings.Join(set.NotFound, ";") != "x;77" {
		t.Errorf("objects %v, not found %v", ids, set.NotFound)
	}
	one, err := http.Get(server.URL + "/api/v1/event/update/set/" + strconv.Itoa(4) + "/")
	if err != nil || one.StatusCode != http.StatusOK {
		t.Error(one, err)
	}
	one.Body.Close()
}
