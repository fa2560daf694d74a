package dashboards

import (
	"context"
	"github.com/bellbuoy/bellbuoy/libs/coding"
	"net/http"
	"time"
)

const (
	// renewTime is the time after which unchanged files are saved again.
	renewTime = 12 * time.Hour
	// checkTime is the minimum time between two checks of an edition's copies in Redis. A visit starts a check. Checks
	// are needed because a save may have failed, or Redis may have lost its data.
	checkTime = 10 * time.Second
	// saveTimeout is the time limit for reading and saving the files of an edition.
	saveTimeout = 30 * time.Second
	// editionsAtOnce is the maximum number of editions that are saved at the same time.
	editionsAtOnce = 4
	// othersRoom is the maximum number of bytes in Redis for the other files of a dashboard, which are not saved with
	// its edition. A page has 5 to 15 KB in brotli.
	othersRoom = 2 << 20
	// othersAtOnce is the maximum number of these other files that are saved at the same time.
	othersAtOnce = 256
	// evictedTime is the time after which an edition is saved again if Redis has evicted it to make room for other
	// dashboards. It is long: if the dashboards do not all fit, each visit would otherwise evict another dashboard.
	evictedTime = 10 * time.Minute
)

// inBackground starts save in a goroutine with the time limit saveTimeout. It returns false if places is full,
// because then too many saves are running.
func inBackground(places chan struct{}, save func(context.Context)) bool {
	select {
	case places <- struct{}{}:
	default:
		return false
	}
	go func() {
		defer func() { <-places }()
		ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
		defer cancel()
		save(ctx)
	}()
	return true
}

// save saves the edition of a dashboard with its files in Redis. It works in the background, so that visitors do not wait.
// It does nothing if the copies in Redis were checked less than checkTime ago, or if nothing can be saved (isUnusable).
func (c *cache) save(base string, current *cached) {
	now, due := c.now(), current.saveAt.Load()
	if now.UnixNano() < due || c.backup.isUnusable() || !current.saveAt.CompareAndSwap(due, now.Add(saveTimeout).UnixNano()) {
		return
	}
	if !inBackground(c.backup.editions, func(ctx context.Context) {
		_ = c.saveEdition(ctx, base, current) // after an error, the next check saves the edition
		current.saveAt.Store(c.now().Add(checkTime).UnixNano())
	}) {
		current.saveAt.Store(now.Add(restTime).UnixNano())
	}
}

// saveEdition saves the address, the files and the aliases of an edition. It skips the address if this gateway has saved
// it, and the files and the aliases if any gateway has saved them, unless the copies are older than renewTime. It saves
// nothing if Redis has evicted the edition and the last save is less than evictedTime ago. It also marks the saved hashes
// as recently used.
func (c *cache) saveEdition(ctx context.Context, base string, current *cached) error {
	b, of := c.backup, current.edition
	check, err := b.run(ctx, b.check, []string{filesKey(of.DashboardID), othersKey(of.DashboardID), addressKey(base), aliasesKey(of.DashboardID)}).Int64Slice()
	if err != nil {
		return err
	}
	number, files, address, scarce, version, aliases := check[0], check[1], check[2], check[3] == 1, check[4], check[5]
	last := current.savedAt.Load()
	if scarce && last > 0 && (files <= 0 || address <= 0 || of.Aliases > 0 && aliases <= 0) && c.now().Sub(time.Unix(0, last)) < evictedTime {
		return nil
	}
	const enough = int64((backupTime - renewTime) / time.Millisecond)
	if last == 0 || address < enough {
		err = c.saveAddress(ctx, base, current)
	}
	if err == nil && (number < of.Number || number == of.Number && files < enough) {
		err = c.saveFiles(ctx, of, current)
	}
	if err == nil && of.Aliases > 0 && (version < of.Aliases || version == of.Aliases && aliases < enough) {
		err = c.saveAliases(ctx, of)
	}
	if err == nil {
		current.savedAt.Store(c.now().UnixNano())
	}
	return err
}

func (c *cache) saveFiles(ctx context.Context, of *edition, current *cached) error {
	b, key := c.backup, filesKey(of.DashboardID)
	values := []any{of.Number, editionField, b.seal(key, editionField, current, "")}
	for _, name := range of.savedFiles() {
		file, err := c.fresh(ctx, newFileQuestion(of, false, name, coding.Brotli, "save-"+of.ID))
		if err != nil {
			return err // perhaps a newer edition is current, which is saved separately
		}
		field := fileField(name, coding.Brotli)
		values = append(values, field, b.seal(key, field, file, of.ID))
	}
	return b.run(ctx, b.saveEdition, []string{key}, values...).Err()
}

// saveAddress saves the dashboard's id and the legacy list for an address. It returns an error if the edition is not
// current any more.
func (c *cache) saveAddress(ctx context.Context, base string, current *cached) error {
	b := c.backup
	list, err := c.fresh(ctx, newListQuestion(base, "", current.edition, "save-"+current.edition.ID))
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if newest, _ := c.responses.Peek(newEditionQuestion(base, "").key); newest != current {
		return errNoResponse
	}
	key := addressKey(base)
	return b.run(ctx, b.saveEdition, []string{key}, "", dashboardField, current.edition.DashboardID, listField, b.seal(key, listField, list, "")).Err()
}

// saveFile saves a file that a visitor requested, unless saveFiles saves it. It deletes the copy of a file that the
// edition does not contain. It works in the background, so that visitors do not wait. If Redis is down or too many
// files are being saved, it does nothing, and the file is not saved before a visitor requests it in a later edition.
func (b *backup) saveFile(q *fileQuestion, response *cached) {
	if q.edition.isSaved(q.key.file) || b.isUnusable() {
		return
	}
	inBackground(b.others, func(ctx context.Context) {
		key, field, text := othersKey(q.key.uri), fileField(q.key.file, q.key.coding), ""
		if response.Status == http.StatusOK {
			text = b.seal(key, field, response, q.edition.ID)
		}
		b.run(ctx, b.saveOther, []string{key}, field, q.edition.Number, text, othersRoom)
	})
}
