package sqlite

import (
	"context"
	"database/sql"

	"modernc.org/sqlite"
)

const (
	// checkpointEvery is the number of pages that are written to the log between two checkpoints.
	checkpointEvery = 1000
	// mostLogged is the number of pages of the log at which the writing connection itself makes a checkpoint. That
	// happens if writes follow each other so fast that no checkpoint copies the whole log.
	mostLogged = 16 << 10
	// passes is the largest number of passes of a checkpoint. A further pass copies the pages that were written during
	// the pass before it. SQLite uses the log from its beginning again once all of its pages are in the file.
	passes = 3
)

// checkpoints copies the pages of the log into the file, over a connection of its own. SQLite would do this when a write
// has filled the log: this write and the next ones would also wait until pages from everywhere in the file are synced.
// The larger the file is, the longer that takes.
type checkpoints struct {
	db     *sql.DB
	logged int           // the number of pages written since the last checkpoint was started
	wanted chan struct{} // capacity 1
	done   chan struct{}
}

func newCheckpoints(db *sql.DB) *checkpoints {
	c := &checkpoints{db: db, wanted: make(chan struct{}, 1), done: make(chan struct{})}
	go c.loop()
	return c
}

// committed starts a checkpoint if conn has written enough pages. It does not wait for the checkpoint.
func (c *checkpoints) committed(conn *sql.Conn) {
	written := 0
	err := conn.Raw(func(driver any) (err error) {
		written, _, err = driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	if c.logged += written; err != nil || c.logged < checkpointEvery {
		return
	}
	c.logged = 0
	select {
	case c.wanted <- struct{}{}:
	default: // a checkpoint is about to start
	}
}

func (c *checkpoints) loop() {
	defer close(c.done)
	for range c.wanted {
		for range passes {
			var busy, logged, copied int
			err := c.db.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &logged, &copied)
			if err != nil || copied == logged {
				break // after an error the next checkpoint or the next start of the process copies the pages
			}
		}
	}
}

func (c *checkpoints) Close() error {
	close(c.wanted)
	<-c.done
	return c.db.Close()
}
