package boot

import (
	"io"
	"sync"
	"time"
)

const (
	// batchDelay is the time after which a line of the access log is written, at the latest.
	batchDelay = 100 * time.Millisecond
	// batchSize is the number of bytes that are written at once, about.
	batchSize = 32 << 10
)

// batchWriter writes lines in batches, because a system call for each request costs as much as reading it. A process
// that is killed loses the lines of the last batchDelay.
type batchWriter struct {
	to   io.Writer
	mu   sync.Mutex
	held []byte
	late *time.Timer
}

func newBatchWriter(to io.Writer) *batchWriter {
	b := &batchWriter{to: to}
	b.late = time.AfterFunc(batchDelay, b.flush)
	return b
}

// Write implements io.Writer. Each call has whole lines.
func (b *batchWriter) Write(lines []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.held) == 0 {
		b.late.Reset(batchDelay)
	}
	b.held = append(b.held, lines...)
	if len(b.held) >= batchSize {
		b.write()
	}
	return len(lines), nil
}

func (b *batchWriter) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

func (b *batchWriter) write() {
	if len(b.held) > 0 {
		_, _ = b.to.Write(b.held) // as of every line of the log, a failure has no place to be reported
		b.held = b.held[:0]
	}
}
