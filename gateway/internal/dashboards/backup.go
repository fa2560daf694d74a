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
	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/redis/go-redis/v9"
)

// backupTime is the time after which Redis deletes the saved hashes of a dashboard that nobody has visited.
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
	Client() redis.UniversalClient
	// Tag returns the first part of the names of all keys.
	Tag() string
	// Timeout returns the limit of a round trip.
	Timeout() time.Duration
	// IsDown reports whether Redis has failed and has not responded since.
	IsDown() bool
	// Fail marks Redis as down because of an error.
	Fail(err error)
}

// backup saves the newest edition of each dashboard in Redis, so that a gateway that starts while the events service
// is down can serve the dashboard. With each edition it saves the files of savedFiles: those that the edition lists,
// the 404 page and the usual password forms. It saves these files in brotli only, and load decompresses them. It also saves
// the other files that visitors request, in the requested content coding, up to othersRoom bytes per dashboard. A
// dashboard has one Redis hash for the edition and the files of savedFiles, one for the other files, and one for its
// aliases, if it has any. Each address has one hash, with the id of the dashboard and the legacy list. The hashes of all gateways together
// have at most room bytes. When the room is used up, the scripts evict the least recently used hashes, first those with
// other files. Saved responses are sealed, because some belong to private dashboards.
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
	mu          sync.Mutex    // guards the hashes of addresses, so that a running save does not undo deleteAddress
}

func newBackup(client Redis, room int64, secret string, now func() time.Time) *backup {
	script := func(text string) *redis.Script { return redis.NewScript(saveRoomScript + text) }
	return &backup{
		redis: client, room: room, box: seal.NewBox(secret, "pages"), now: now,
		saveEdition: script(saveEditionScript), saveOther: script(saveFileScript), check: script(checkSavedScript),
		editions: make(chan struct{}, editionsAtOnce), others: make(chan struct{}, othersAtOnce),
	}
}

// isUnusable reports whether nothing can be saved or loaded, because Redis is down or copies are turned off.
func (b *backup) isUnusable() bool { return b.room == 0 || b.redis.IsDown() }

// run runs one of the scripts with the hashes as keys. After an error it marks Redis as down.
func (b *backup) run(ctx context.Context, script *redis.Script, hashes []string, values ...any) *redis.Cmd {
	reply := script.Run(ctx, b.redis.Client(), scriptKeys(b.redis.Tag(), hashes), append([]any{b.room, backupTime.Milliseconds()}, values...)...)
	if err := reply.Err(); err != nil {
		b.redis.Fail(err)
	}
	return reply
}

// scriptKeys returns the keys of a script for the hashes.
func scriptKeys(tag string, hashes []string) []string {
	keys := []string{tag + "pages-used", tag + "pages-asked-used", tag + "pages-size"}
	for _, hash := range hashes {
		keys = append(keys, tag+hash)
	}
	return keys
}

const (
	editionField   = "edition"   // name of a field in the hash of a dashboard: the edition
	dashboardField = "dashboard" // name of a field in the hash of an address: the dashboard's id
	listField      = "list"      // name of a field in the hash of an address: the legacy list without a query
	aliasesField   = "aliases"   // name of the field in the hash of an alias table
)

func fileField(name, coding string) string { return coding + " " + name }

func filesKey(dashboard string) string { return "pages:" + dashboard }

func othersKey(dashboard string) string { return "pages-asked:" + dashboard }

func aliasesKey(dashboard string) string { return "pages-aliases:" + dashboard }

func addressKey(base string) string { return "page-at:" + base }

// savedFiles returns the names of the files that are saved together with the edition: the files that the edition lists,
// the 404 page, and if the dashboard has a password the password forms for addresses with at most one slash.
func (e *edition) savedFiles() []string {
	names := append(slices.Clone(e.Files), peer.MissingFile)
	if e.ticketOwner != "" {
		names = append(names, peer.EnterFile, peer.EnterBelowFile)
	}
	return names
}

func (e *edition) isSaved(name string) bool { return slices.Contains(e.savedFiles(), name) }

// savedHead is a saved response without the body.
type savedHead struct {
	At      int64       `json:"at"` // time in ns at which the events service returned or last confirmed the response
	Header  http.Header `json:"header"`
	Edition string      `json:"edition,omitempty"` // for a file: id of its edition; for an alias table: its version
}

// seal returns the sealed text of a response. For a file, edition is the id of its edition, for an alias table the version.
func (b *backup) seal(key, field string, response *cached, edition string) string {
	head, _ := json.Marshal(savedHead{response.confirmed.Load(), response.Header, edition}) // a number and strings: cannot fail
	return b.box.Seal(string(head)+"\n"+string(response.Body), key+" "+field)
}

// load returns the saved response for a question. It returns nil if there is none or if nothing can be loaded.
func (b *backup) load(ctx context.Context, q question) *cached {
	if b.isUnusable() {
		return nil
	}
	key, field := q.place(ctx, b)
	if key == "" {
		return nil
	}
	sealed := b.read(b.redis.Client().HGet(ctx, b.redis.Tag()+key, field))
	if _, other, numbered := strings.Cut(sealed, " "); numbered {
		sealed = other
	}
	text, err := b.box.Open(sealed, key+" "+field)
	head, body, _ := strings.Cut(text, "\n")
	var saved savedHead
	if err != nil || json.Unmarshal([]byte(head), &saved) != nil {
		return nil
	}
	if q.about().key.coding != coding.Brotli && saved.Header.Get("Content-Encoding") == coding.Brotli {
		plain, err := io.ReadAll(brotli.NewReader(strings.NewReader(body)))
		if err != nil {
			return nil
		}
		saved.Header.Del("Content-Encoding")
		saved.Header.Del("Etag") // the ETag of the compressed body; NewResponse computes the ETag of the plain body
		body = string(plain)
	}
	out, err := q.received(message.NewResponse(http.StatusOK, saved.Header, []byte(body)), "")
	if err != nil {
		return nil
	}
	out.confirmed.Store(saved.At)
	switch {
	case saved.Edition == "":
	case out.edition == nil:
		out.state = saved.Edition
	case saved.Edition != out.edition.ID:
		older := *out.edition
		older.ID = saved.Edition
		out.edition = &older
	}
	return out
}

// read returns the value of a reply. It returns "" if there is no value or the call failed, and marks Redis as down
// after a failure.
func (b *backup) read(reply *redis.StringCmd) string {
	value, err := reply.Result()
	if err != nil && !errors.Is(err, redis.Nil) && !errors.Is(err, context.Canceled) {
		b.redis.Fail(err)
	}
	return value
}

// deleteAddress deletes the hash of an address that no dashboard has any more.
func (b *backup) deleteAddress(ctx context.Context, base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isUnusable() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.redis.Timeout())
	defer cancel()
	if err := b.redis.Client().Del(ctx, b.redis.Tag()+addressKey(base)).Err(); err != nil {
		b.redis.Fail(err)
	}
}
