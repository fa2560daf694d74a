package document

import (
	"os"
	"syscall"
	"time"
)

// turnstile lets the processes that share a file begin their transactions in turn. SQLite alone does not: one that waits
// looks up now and then, and another that writes all the time has begun anew at nearly every such moment. Whoever wants to
// begin holds the turnstile until he has begun, so the one before cannot go again ahead of him. It is about fairness only;
// what keeps writers apart is SQLite's lock.
type turnstile struct{ file *os.File }

const turnLook = time.Millisecond

func newTurnstile(path string) (turnstile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	return turnstile{file}, err
}

// pass runs begin in its turn. Should somebody hold the turnstile for longer than SQLite waits, it goes without.
func (t turnstile) pass(begin func() error) error {
	for patience := time.Now().Add(sqliteBusyMillis * time.Millisecond); ; time.Sleep(turnLook) {
		err := syscall.Flock(int(t.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(patience) {
			return begin()
		}
	}
	err := begin()
	if failed := syscall.Flock(int(t.file.Fd()), syscall.LOCK_UN); err == nil {
		err = failed
	}
	return err
}
