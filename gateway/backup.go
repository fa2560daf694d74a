package gateway

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

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
)

//go:embed keep.lua
var keepScript string

//go:embed keep_other.lua
var keepOtherScript string

// backup keeps the newest edition of each dashboard in Redis, with the files that are
// named by the edition, the 404 page and the password form, so that a gateway that starts
// while the events service is down can serve them. It also keeps the other files that
// visitors ask for, in the content coding that they ask for, within othersRoom. There is a
// hash for each dashboard, one for its other files, and one for each address, with the id
// of the dashboard and the legacy list. Pages are sealed: some are of private dashboards.
type backup struct {
	redis  *redisClient
	script *redis.Script
	box    seal.Box
	now    func() time.Time
	other  *redis.Script
	places chan struct{} // a place for each save at the same time
	others chan struct{} // the same for the other files
	mu     sync.Mutex    // of writes to addresses: a save under way must not undo forget
}

func newBackup(client *redisClient, secret string, now func() time.Time) *backup {
	return &backup{
		redis: client, script: redis.NewScript(keepScript), box: seal.NewBox(secret, "pages"), now: now,
		other: redis.NewScript(keepOtherScript), places: make(chan struct{}, savesAtOnce), others: make(chan struct{}, othersAtOnce),
	}
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
	if b.redis.down.Load() {
		return nil
	}
	key, field := filesKey(q.key.uri), fileField(q.key.file, q.key.coding)
	switch {
	case q.edition != nil && !q.edition.saves(q.key.file):
		key = othersKey(q.key.uri)
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
	if now.UnixNano() < due || p.backup.redis.down.Load() || !current.saveAt.CompareAndSwap(due, now.Add(saveTimeout).UnixNano()) {
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
		_ = p.saveFiles(ctx, base, current) // an error: the next check saves them
		current.saveAt.Store(p.now().Add(checkTime).UnixNano())
	}()
}

// saveFiles reads the files of an edition and saves them, unless another gateway has.
func (p *pages) saveFiles(ctx context.Context, base string, current *page) error {
	b, of := p.backup, current.edition
	key := filesKey(of.DashboardID)
	list, stale, err := p.get(ctx, listOf(base, "", of, "save-"+of.ID))
	if err != nil {
		return err
	}
	if stale || list.status != http.StatusOK {
		return errNoPage
	}
	if err := p.saveAddress(ctx, base, current, list); err != nil {
		return err
	}
	pipe := b.redis.client.Pipeline()
	number, left := pipe.HGet(ctx, key, "number"), pipe.PTTL(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		b.redis.fail(err)
		return err
	}
	if saved, err := number.Int64(); err == nil && (saved > of.Number || saved == of.Number && left.Val() > backupTime-renewTime) {
		return nil
	}
	values := []any{of.Number, backupTime.Milliseconds()}
	values = append(values, editionField, b.seal(key, editionField, current, ""))
	for _, name := range of.savedFiles() {
		for _, coding := range []string{codingBrotli, codingGzip, codingPlain} {
			file, stale, err := p.fileOf(ctx, of, false, name, coding, "save-"+of.ID)
			switch {
			case err != nil:
				return err
			case stale || file.status != http.StatusOK:
				return errNoPage // a newer edition is current
			}
			values = append(values, fileField(name, coding), b.seal(key, fileField(name, coding), file, of.ID))
		}
	}
	err = b.script.Run(ctx, b.redis.client, []string{key}, values...).Err()
	if err != nil {
		b.redis.fail(err)
	}
	return err
}

// saveOther saves a file that a visitor asked for, unless saveFiles does. It deletes a file that the edition does not have
// any more. It returns at once, because visitors wait. A file that is not saved, because Redis is down or too many are being saved,
// is saved when a visitor asks for it in the next edition.
func (b *backup) saveOther(q question, fresh *page) {
	if q.edition == nil || q.edition.saves(q.key.file) || b.redis.down.Load() {
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
		if err := b.other.Run(ctx, b.redis.client, []string{key}, field, q.edition.Number, text, othersRoom, backupTime.Milliseconds()).Err(); err != nil {
			b.redis.fail(err)
		}
	}()
}

// seal returns the sealed page. edition is that of a file.
func (b *backup) seal(key, field string, saved *page, edition string) string {
	head, _ := json.Marshal(savedHead{saved.confirmed.Load(), saved.header, edition}) // a number and strings: cannot fail
	return b.box.Seal(string(head)+"\n"+string(saved.body), key+" "+field)
}

// saveAddress saves the dashboard's id and the list for an address if the edition is still current.
func (p *pages) saveAddress(ctx context.Context, base string, current, list *page) error {
	b := p.backup
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept, _ := p.kept.Peek(editionOf(base, "").key); kept != current {
		return errNoPage
	}
	key := addressKey(base)
	_, err := b.redis.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HSet(ctx, key, dashboardField, current.edition.DashboardID, listField, b.seal(key, listField, list, ""))
		pipe.PExpire(ctx, key, backupTime)
		return nil
	})
	if err != nil {
		b.redis.fail(err)
	}
	return err
}

// forget deletes the address of a dashboard that the events service does not have any more.
func (b *backup) forget(ctx context.Context, base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.redis.down.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.redis.timeout)
	defer cancel()
	if err := b.redis.client.Del(ctx, addressKey(base)).Err(); err != nil {
		b.redis.fail(err)
	}
}
