package gateway

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
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/redis/go-redis/v9"
)

const (
	// backupTime is the time for which Redis keeps the files of a dashboard.
	backupTime = 24 * time.Hour
	// renewTime is the time after which unchanged files are saved again.
	renewTime = 12 * time.Hour
	// checkTime is the time after which a visitor makes the gateway check what Redis keeps: a save may have failed, and
	// Redis may have lost its data.
	checkTime = 10 * time.Second
	// saveTimeout bounds the time to read and save the files of an edition.
	saveTimeout = 30 * time.Second
	// savesAtOnce bounds the editions that are saved at the same time.
	savesAtOnce = 4
	// othersRoom bounds the other files of a dashboard in Redis, in bytes. A page is 5 to 15 KB in brotli.
	othersRoom = 2 << 20
	// othersAtOnce bounds the other files that are saved at the same time.
	othersAtOnce = 256
	// evictedTime is the time after which an edition that other dashboards have evicted is saved again. If the dashboards
	// with visitors need more room than there is, most visits save nothing.
	evictedTime = 10 * time.Minute
)

//go:embed keep_room.lua
var keepRoomScript string

//go:embed keep.lua
var keepScript string

//go:embed keep_other.lua
var keepOtherScript string

//go:embed keep_check.lua
var keepCheckScript string

// backup keeps the newest edition of each dashboard in Redis, with the files that are
// named by the edition, the 404 page and the password form, so that a gateway that starts
// while the events service is down can serve them. Of these files Redis has the brotli only,
// from which load makes the plain text. It also keeps the other files that
// visitors ask for, in the content coding that they ask for, within othersRoom. There is a
// hash for each dashboard, one for its other files, and one for each address, with the id
// of the dashboard and the legacy list. All hashes of all gateways together have at most room bytes:
// the scripts evict the least recently used ones, and a dashboard's other files before the files
// of any dashboard. Pages are sealed: some are of private dashboards.
type backup struct {
	redis  *redisClient
	room   int64 // in bytes
	script *redis.Script
	box    seal.Box
	now    func() time.Time
	other  *redis.Script
	check  *redis.Script
	places chan struct{} // a place for each save at the same time
	others chan struct{} // the same for the other files
	mu     sync.Mutex    // of writes to addresses: a save under way must not undo forget
}

func newBackup(client *redisClient, room int64, secret string, now func() time.Time) *backup {
	script := func(text string) *redis.Script { return redis.NewScript(keepRoomScript + text) }
	return &backup{
		redis: client, room: room, script: script(keepScript), other: script(keepOtherScript), check: script(keepCheckScript),
		box: seal.NewBox(secret, "pages"), now: now,
		places: make(chan struct{}, savesAtOnce), others: make(chan struct{}, othersAtOnce),
	}
}

// unusable reports whether nothing can be saved or loaded: Redis is down, or there is no room for copies.
func (b *backup) unusable() bool { return b.room == 0 || b.redis.down.Load() }

// run runs one of the scripts for the hashes. It marks Redis as down after an error.
func (b *backup) run(ctx context.Context, script *redis.Script, hashes []string, values ...any) *redis.Cmd {
	keys := append([]string{"pages-used", "pages-asked-used", "pages-size"}, hashes...)
	reply := script.Run(ctx, b.redis.client, keys, append([]any{b.room, backupTime.Milliseconds()}, values...)...)
	if err := reply.Err(); err != nil {
		b.redis.fail(err)
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

// savedFiles returns the names of the files that are saved. They include those that a visitor
// may get in place of another file.
func (e *edition) savedFiles() []string {
	names := append(slices.Clone(e.Files), peer.MissingFile)
	if e.entry != "" {
		names = append(names, peer.EnterFile, peer.EnterBelowFile)
	}
	return names
}

// saves reports whether the file is one of savedFiles.
func (e *edition) saves(name string) bool { return slices.Contains(e.savedFiles(), name) }

// savedHead is a saved page without its body.
type savedHead struct {
	At     int64       `json:"at"` // ns, when the events service returned or confirmed the page
	Header http.Header `json:"header"`
	// Edition is that of a file.
	Edition string `json:"edition,omitempty"`
}

// load returns the saved page for a question, or nil.
func (b *backup) load(ctx context.Context, q question) *page {
	if b.unusable() {
		return nil
	}
	key, field := filesKey(q.key.uri), fileField(q.key.file, codingBrotli)
	switch {
	case q.edition != nil && !q.edition.saves(q.key.file):
		key, field = othersKey(q.key.uri), fileField(q.key.file, q.key.coding)
	case q.edition != nil:
	case q.list && q.query != "":
		return nil
	case q.list:
		key, field = addressKey(q.base), listField
	default:
		key, field = filesKey(b.read(b.redis.client.HGet(ctx, addressKey(q.base), dashboardField))), editionField
	}
	sealed := b.read(b.redis.client.HGet(ctx, key, field))
	if _, other, numbered := strings.Cut(sealed, " "); numbered {
		sealed = other
	}
	text, err := b.box.Open(sealed, key+" "+field)
	head, body, _ := strings.Cut(text, "\n")
	var saved savedHead
	if err != nil || json.Unmarshal([]byte(head), &saved) != nil {
		return nil
	}
	if q.edition != nil && q.key.coding != codingBrotli && saved.Header.Get("Content-Encoding") == codingBrotli {
		plain, err := io.ReadAll(brotli.NewReader(strings.NewReader(body)))
		if err != nil {
			return nil
		}
		saved.Header.Del("Content-Encoding")
		saved.Header.Del("Etag") // newPage returns the one that the events service returns with the plain text
		body = string(plain)
	}
	out := newPage(&http.Response{StatusCode: http.StatusOK, Header: saved.Header}, []byte(body))
	out.confirmed.Store(saved.At)
	switch {
	case q.edition != nil && saved.Edition != q.edition.ID:
		older := *q.edition
		older.ID = saved.Edition
		out.edition = &older
	case q.edition != nil:
		out.edition = q.edition
	case !q.list:
		out.edition, err = parseEdition(out.body)
	}
	if err != nil {
		return nil
	}
	return out
}

// read returns the value, or an empty string if there is none or Redis is down.
func (b *backup) read(reply *redis.StringCmd) string {
	value, err := reply.Result()
	if err != nil && !errors.Is(err, redis.Nil) && !errors.Is(err, context.Canceled) {
		b.redis.fail(err)
	}
	return value
}

// save saves the edition of a dashboard with its files, unless that was checked within
// checkTime. It returns at once, because visitors wait.
func (p *pages) save(base string, current *page) {
	now, due := p.now(), current.saveAt.Load()
	if now.UnixNano() < due || p.backup.unusable() || !current.saveAt.CompareAndSwap(due, now.Add(saveTimeout).UnixNano()) {
		return
	}
	select {
	case p.backup.places <- struct{}{}:
	default:
		current.saveAt.Store(now.Add(restTime).UnixNano())
		return
	}
	go func() {
		defer func() { <-p.backup.places }()
		ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
		defer cancel()
		_ = p.saveEdition(ctx, base, current) // an error: the next check saves it
		current.saveAt.Store(p.now().Add(checkTime).UnixNano())
	}()
}

// saveEdition saves the address and the files of an edition, unless this gateway has saved the address and any gateway has saved the
// files. It marks what is saved as used.
func (p *pages) saveEdition(ctx context.Context, base string, current *page) error {
	b, of := p.backup, current.edition
	check, err := b.run(ctx, b.check, []string{filesKey(of.DashboardID), othersKey(of.DashboardID), addressKey(base)}).Int64Slice()
	if err != nil {
		return err
	}
	number, files, address, scarce := check[0], check[1], check[2], check[3] == 1
	last := current.savedAt.Load()
	if scarce && last > 0 && (files <= 0 || address <= 0) && p.now().Sub(time.Unix(0, last)) < evictedTime {
		return nil
	}
	const enough = int64((backupTime - renewTime) / time.Millisecond)
	if last == 0 || address < enough {
		err = p.saveAddress(ctx, base, current)
	}
	if err == nil && (number < of.Number || number == of.Number && files < enough) {
		err = p.saveFiles(ctx, of, current)
	}
	if err == nil {
		current.savedAt.Store(p.now().UnixNano())
	}
	return err
}

// saveFiles reads the files of an edition and saves them.
func (p *pages) saveFiles(ctx context.Context, of *edition, current *page) error {
	b, key := p.backup, filesKey(of.DashboardID)
	values := []any{of.Number, editionField, b.seal(key, editionField, current, "")}
	for _, name := range of.savedFiles() {
		file, err := p.unkept(ctx, fileQuestion(of, name, codingBrotli, "save-"+of.ID))
		if err != nil {
			return err // a file of a newer edition is current, too
		}
		values = append(values, fileField(name, codingBrotli), b.seal(key, fileField(name, codingBrotli), file, of.ID))
	}
	return b.run(ctx, b.script, []string{key}, values...).Err()
}

// unkept returns the page of a question that the gateway asks for itself. It does not keep the page, because maybe no visitor asks for it.
func (p *pages) unkept(ctx context.Context, q question) (*page, error) {
	kept, _ := p.kept.Peek(q.key)
	if kept != nil && q.current(kept) {
		return kept, nil
	}
	out, err := p.request(ctx, q, kept)
	if err == nil && out.status != http.StatusOK {
		err = errNoPage
	}
	return out, err
}

// saveOther saves a file that a visitor asked for, unless saveFiles does. It deletes a file that the edition does not have
// any more. It returns at once, because visitors wait. A file that is not saved, because Redis is down or too many are being saved,
// is saved when a visitor asks for it in the next edition.
func (b *backup) saveOther(q question, fresh *page) {
	if q.edition == nil || q.edition.saves(q.key.file) || b.unusable() {
		return
	}
	select {
	case b.others <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-b.others }()
		ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
		defer cancel()
		key, field, text := othersKey(q.key.uri), fileField(q.key.file, q.key.coding), ""
		if fresh.status == http.StatusOK {
			text = b.seal(key, field, fresh, q.edition.ID)
		}
		b.run(ctx, b.other, []string{key}, field, q.edition.Number, text, othersRoom)
	}()
}

// seal returns the sealed page. edition is that of a file.
func (b *backup) seal(key, field string, saved *page, edition string) string {
	head, _ := json.Marshal(savedHead{saved.confirmed.Load(), saved.header, edition}) // a number and strings: cannot fail
	return b.box.Seal(string(head)+"\n"+string(saved.body), key+" "+field)
}

// saveAddress saves the dashboard's id and the list for an address if the edition is still current.
func (p *pages) saveAddress(ctx context.Context, base string, current *page) error {
	b := p.backup
	list, err := p.unkept(ctx, listOf(base, "", current.edition, "save-"+current.edition.ID))
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept, _ := p.kept.Peek(editionOf(base, "").key); kept != current {
		return errNoPage
	}
	key := addressKey(base)
	return b.run(ctx, b.script, []string{key}, "", dashboardField, current.edition.DashboardID, listField, b.seal(key, listField, list, "")).Err()
}

// forget deletes the address of a dashboard that the events service does not have any more.
func (b *backup) forget(ctx context.Context, base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unusable() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.redis.timeout)
	defer cancel()
	if err := b.redis.client.Del(ctx, addressKey(base)).Err(); err != nil {
		b.redis.fail(err)
	}
}
