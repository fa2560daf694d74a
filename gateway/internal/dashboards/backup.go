package dashboards

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/redis/go-redis/v9"
)

// backupTime is the time for which Redis has the files of a dashboard.
const backupTime = 24 * time.Hour

//go:embed save_room.lua
var saveRoomScript string

//go:embed save_edition.lua
var saveEditionScript string

//go:embed save_file.lua
var saveFileScript string

//go:embed check_saved.lua
var checkSavedScript string

// Redis is the gateway's connection to Redis.
type Redis interface {
	Client() *redis.Client
	// IsDown reports whether Redis failed and has not responded since.
	IsDown() bool
	// Fail marks Redis as down because of an error.
	Fail(err error)
}

// backup saves the newest edition of each dashboard in Redis, with the files that are
// named by the edition, the 404 page and the password form, so that a gateway that starts
// while the events service is down can serve them. Of these files Redis has the brotli only,
// from which load makes the plain text. The backup also saves the other files that
// visitors ask for, in the content coding that they ask for, within othersRoom. There is a
// hash for each dashboard, one for its other files, and one for each address, with the id
// of the dashboard and the legacy list. All hashes of all gateways together have at most room bytes:
// the scripts evict the least recently used ones, and a dashboard's other files before the files
// of any dashboard. Responses are sealed: some are of private dashboards.
type backup struct {
	redis       Redis
	room        int64 // in bytes
	saveEdition *redis.Script
	saveOther   *redis.Script
	check       *redis.Script
	box         seal.Box
	now         func() time.Time
	editions    chan struct{} // one element for each edition that is being saved
	others      chan struct{} // one element for each other file that is being saved
	mu          sync.Mutex    // guards writes to addresses: a save under way must not undo deleteAddress
}

func newBackup(client Redis, room int64, secret string, now func() time.Time) *backup {
	script := func(text string) *redis.Script { return redis.NewScript(saveRoomScript + text) }
	return &backup{
		redis: client, room: room, box: seal.NewBox(secret, "pages"), now: now,
		saveEdition: script(saveEditionScript), saveOther: script(saveFileScript), check: script(checkSavedScript),
		editions: make(chan struct{}, editionsAtOnce), others: make(chan struct{}, othersAtOnce),
	}
}

// isUnusable reports whether nothing can be saved or loaded: Redis is down, or there is no room for copies.
func (b *backup) isUnusable() bool { return b.room == 0 || b.redis.IsDown() }

// run runs one of the scripts for the hashes. It marks Redis as down after an error.
func (b *backup) run(ctx context.Context, script *redis.Script, hashes []string, values ...any) *redis.Cmd {
	keys := append([]string{"pages-used", "pages-asked-used", "pages-size"}, hashes...)
	reply := script.Run(ctx, b.redis.Client(), keys, append([]any{b.room, backupTime.Milliseconds()}, values...)...)
	if err := reply.Err(); err != nil {
		b.redis.Fail(err)
	}
	return reply
}

const (
	editionField   = "edition"   // in the hash of a dashboard
	dashboardField = "dashboard" // in the hash of an address
	listField      = "list"      // in the hash of an address: the legacy list without a query
)

func fileField(name, coding string) string { return coding + " " + name }

func filesKey(dashboard string) string { return "pages:" + dashboard }

func othersKey(dashboard string) string { return "pages-asked:" + dashboard }

func addressKey(base string) string { return "page-at:" + base }

// savedFiles returns the names of the files that are saved with the edition. They include those that a visitor
// may get in place of another file.
func (e *edition) savedFiles() []string {
	names := append(slices.Clone(e.Files), peer.MissingFile)
	if e.ticketOwner != "" {
		names = append(names, peer.EnterFile, peer.EnterBelowFile)
	}
	return names
}

// isSaved reports whether the file is one of savedFiles.
func (e *edition) isSaved(name string) bool { return slices.Contains(e.savedFiles(), name) }

// savedHead is a saved response without its body.
type savedHead struct {
	At      int64       `json:"at"` // ns, when the events service returned or confirmed the response
	Header  http.Header `json:"header"`
	Edition string      `json:"edition,omitempty"` // id of the edition of a file
}

// seal returns the sealed response. edition is the id of the edition of a file.
func (b *backup) seal(key, field string, response *cached, edition string) string {
	head, _ := json.Marshal(savedHead{response.confirmed.Load(), response.Header, edition}) // a number and strings: cannot fail
	return b.box.Seal(string(head)+"\n"+string(response.Body), key+" "+field)
}

// load returns the saved response for a question, or nil.
func (b *backup) load(ctx context.Context, q question) *cached {
	if b.isUnusable() {
		return nil
	}
	key, field := q.place(ctx, b)
	if key == "" {
		return nil
	}
	sealed := b.read(b.redis.Client().HGet(ctx, key, field))
	if _, other, numbered := strings.Cut(sealed, " "); numbered {
		sealed = other
	}
	text, err := b.box.Open(sealed, key+" "+field)
	head, body, _ := strings.Cut(text, "\n")
	var saved savedHead
	if err != nil || json.Unmarshal([]byte(head), &saved) != nil {
		return nil
	}
	if q.about().key.coding != codingBrotli && saved.Header.Get("Content-Encoding") == codingBrotli {
		plain, err := io.ReadAll(brotli.NewReader(strings.NewReader(body)))
		if err != nil {
			return nil
		}
		saved.Header.Del("Content-Encoding")
		saved.Header.Del("Etag") // received sets the one that the events service returns with the plain text
		body = string(plain)
	}
	out, err := q.received(message.NewResponse(http.StatusOK, saved.Header, []byte(body)), "")
	if err != nil {
		return nil
	}
	out.confirmed.Store(saved.At)
	if saved.Edition != "" && saved.Edition != out.edition.ID {
		older := *out.edition
		older.ID = saved.Edition
		out.edition = &older
	}
	return out
}

// read returns the value, or an empty string if there is none or Redis is down.
func (b *backup) read(reply *redis.StringCmd) string {
	value, err := reply.Result()
	if err != nil && !errors.Is(err, redis.Nil) && !errors.Is(err, context.Canceled) {
		b.redis.Fail(err)
	}
	return value
}

// deleteAddress deletes the address of a dashboard that the events service does not have any more.
func (b *backup) deleteAddress(ctx context.Context, base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isUnusable() {
		return
	}
	client := b.redis.Client()
	ctx, cancel := context.WithTimeout(ctx, client.Options().ReadTimeout)
	defer cancel()
	if err := client.Del(ctx, addressKey(base)).Err(); err != nil {
		b.redis.Fail(err)
	}
}
