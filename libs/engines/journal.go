package engines

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

const (
	// The file is replaced when it exceeds twice its size after the last replacement by journalSpare bytes, or when a
	// replay would need more than journalWork operations. A replay needs one operation for each key in each step of aging.
	journalSpare = 4 << 20
	journalWork  = 2_000_000
	// journalSync is the time between two syncs of the file.
	journalSync = time.Second
	// tornBytes is the maximum number of bytes at the end of the file that a loss of power usually cuts off or replaces by
	// zeros.
	tornBytes = 64 << 10
)

// journal stores the keys that have certain prefixes in a file.
//
// The journal writes each command that changes such a key to the file before the command runs. So a kill of the process
// loses no change that a client has seen. For a Lua script, the journal writes the single commands that the script
// calls, and not the script, because the result of a script may depend on the time. A loss of power can lose the last
// second, as with "appendfsync everysec" in Redis.
//
// Keys age in steps. Every ageInterval, age advances the expiry of all keys by the time that has passed. Each command is
// stored with the time of the last step before it. A replay runs the same steps, so each key expires between the same
// commands as before. At each start, and when the file has grown, the file is replaced by a file that contains only the
// commands that restore the present keys.
type journal struct {
	log      *slog.Logger
	path     string
	prefixes []string
	server   *miniredis.Miniredis

	clients sync.Map // *server.Peer to *client; does not contain the peers of scripts

	mu     sync.Mutex // locked while a command of a client, age or close runs
	aged   time.Time  // time until which the keys have aged
	file   *journalFile
	broken bool      // the last entry in the file may be incomplete, so the file must be replaced
	tried  time.Time // time of the last attempt to replace a broken file
	base   int       // size of the file when it was last replaced, in bytes
	steps  int       // number of different times in the entries that were written since the file was last replaced
	last   time.Time // time of the last entry
	dirty  bool      // entries were written since the last sync
	synced time.Time
}

type journalFile struct {
	*os.File
	encoder *gob.Encoder
	size    int // in bytes
}

// Write implements io.Writer for the encoder.
func (f *journalFile) Write(data []byte) (int, error) {
	n, err := f.File.Write(data)
	f.size += n
	return n, err
}

// client is the state of a client's connection. Only the goroutine of the connection uses it.
type client struct{ running, transaction bool }

// entry is a command in the file.
type entry struct {
	Aged    time.Time
	Command []string
	Sum     uint32 // checksum of the other fields
}

func newEntry(aged time.Time, command []string) entry {
	e := entry{Aged: aged, Command: command}
	e.Sum = e.sum()
	return e
}

// sum returns a checksum of the entry.
func (e *entry) sum() uint32 {
	sum := crc32.NewIEEE()
	fmt.Fprint(sum, e.Aged.UnixNano())
	for _, part := range e.Command {
		sum.Write([]byte(part + "\x00")) // never fails
	}
	return sum.Sum32()
}

// damage returns an error if the entry differs from the entry that was written.
func (e *entry) damage() error {
	if len(e.Command) == 0 || e.Sum != e.sum() {
		return errors.New("the check sum of an entry is wrong")
	}
	return nil
}

// changes lists the commands that may change a stored key. Their first argument is a key. All arguments of DEL are keys.
var changes = []string{"SET", "SETNX", "INCR", "DECR", "DEL", "RPUSH", "LPOP", "LSET", "EXPIRE", "PEXPIRE"}

// open restores the keys from the file and then begins to write commands.
func (j *journal) open(s *miniredis.Miniredis) error {
	j.server, j.aged = s, time.Now()
	if err := j.replay(); err != nil {
		return fmt.Errorf("%s cannot be read: %w; it has rate limits and Idempotency-Keys and no record: move it away", j.path, err)
	}
	if err := j.replace(); err != nil {
		return fmt.Errorf("%s cannot be written: %w", j.path, err)
	}
	s.Server().SetPreHook(j.run)
	return nil
}

// replay runs the commands in the file up to the first entry that cannot be read, and logs the cause. If the file is
// missing or empty, there are no commands.
func (j *journal) replay() error {
	info, err := os.Stat(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return errors.New("it is not a regular file")
	}
	file, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer file.Close()
	read := &countingReader{Reader: file}
	buffered := bufio.NewReader(read)
	decoder, peer := gob.NewDecoder(buffered), server.NewPeer(bufio.NewWriter(io.Discard))
	var aged time.Time
	for entries, end := 0, int64(0); ; entries++ {
		var e entry
		if err = decoder.Decode(&e); err == nil {
			err = e.damage()
		}
		if err != nil {
			if err = j.explain(err, file, entries, end); err != nil {
				return err
			}
			break
		}
		end = read.n - int64(buffered.Buffered())
		if !aged.IsZero() && e.Aged.After(aged) {
			j.server.FastForward(e.Aged.Sub(aged))
		}
		aged = e.Aged
		j.server.Server().Dispatch(peer, e.Command)
		peer.Flush()
	}
	if !aged.IsZero() {
		j.server.FastForward(max(0, j.aged.Sub(aged)))
	}
	return nil
}

type countingReader struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// explain logs why a replay ended before the end of the file. entries is the number of restored entries, and end is the
// position after the last of them. If the operating system could not read the file, explain returns cause.
func (j *journal) explain(cause error, file *os.File, entries int, end int64) error {
	if _, failed := errors.AsType[*fs.PathError](cause); failed {
		return cause
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	lost := info.Size() - end
	if lost == 0 {
		return nil
	}
	level, message := slog.LevelWarn, "The file of the embedded Redis is damaged. Rate limits and Idempotency-Keys behind the damage are lost; no record is."
	rest := make([]byte, min(lost, tornBytes))
	if _, err := file.ReadAt(rest, end); err != nil {
		return err
	}
	zeros := len(bytes.Trim(rest, "\x00")) == 0
	if lost <= tornBytes && (zeros || errors.Is(cause, io.ErrUnexpectedEOF)) {
		level, message = slog.LevelInfo, "The file of the embedded Redis ends in the middle of an entry, as after a loss of power. The entries before it are restored."
	}
	j.log.Log(context.Background(), level, message, "file", j.path, "restored_entries", entries, "restored_bytes", end, "lost_bytes", lost, "cause", cause)
	return nil
}

// run is called before each command of a client or a script. It returns true if it has run the command or responded
// with an error. The server must then not run the command.
func (j *journal) run(peer *server.Peer, command string, args ...string) (done bool) {
	if _, known := j.clients.Load(peer); !known && peer.Ctx == nil { // the first command of a client; a script has a Ctx
		j.clients.Store(peer, &client{})
		peer.OnDisconnect(func() { j.clients.Delete(peer) })
	}
	known, isClient := j.clients.Load(peer)
	if !isClient {
		return j.refused(peer, false, command, args)
	}
	c := known.(*client)
	if c.running {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refused(peer, c.transaction, command, args) {
		return true
	}
	c.transaction = command == "MULTI" || c.transaction && command != "EXEC" && command != "DISCARD"
	c.running = true
	j.server.Server().Dispatch(peer, append([]string{command}, args...))
	c.running = false
	return true
}

// refused writes the command to the file if it changes a stored key. It responds with an error and returns true if the
// write fails, or if a replay could not repeat the command.
func (j *journal) refused(peer *server.Peer, transaction bool, command string, args []string) bool {
	keys := args[:min(1, len(args))]
	if command == "DEL" {
		keys = args
	}
	if !slices.ContainsFunc(keys, j.kept) || j.server.Server().IsReadOnlyCommand(command) {
		return false
	}
	err := errors.New("a transaction cannot change a kept key")
	switch {
	case !slices.Contains(changes, command):
		err = fmt.Errorf("%s cannot change a kept key", command)
	case !transaction:
		err = j.write(append([]string{command}, args...)...)
	}
	if err != nil {
		peer.WriteError("ERR " + err.Error())
	}
	return err != nil
}

func (j *journal) kept(key string) bool {
	return slices.ContainsFunc(j.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// write appends a command to the file. After an error, all calls fail until age has replaced the file. write cannot
// replace the file itself, because a running script may have locked the keys.
func (j *journal) write(command ...string) error {
	if j.broken {
		return errors.New("the file of the embedded Redis cannot be written")
	}
	if !j.aged.Equal(j.last) {
		j.last = j.aged
		j.steps++
	}
	j.dirty = true
	err := j.file.encoder.Encode(newEntry(j.aged, command))
	j.broken = err != nil
	return err
}

// age advances the expiry of all keys to now, syncs the file, and replaces the file when it has grown.
func (j *journal) age(_ context.Context, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.server.FastForward(max(0, now.Sub(j.aged)))
	j.aged = now
	if j.broken && now.Sub(j.tried) >= journalSync {
		j.tried = now
		_ = j.replace() // after an error, such as a full disk, age tries again after journalSync
	}
	if !j.dirty || now.Sub(j.synced) < journalSync {
		return
	}
	if j.file.size > 2*j.base+journalSpare || j.steps*len(j.server.Keys()) > journalWork {
		_ = j.replace() // after an error the present file continues to grow, and a later call tries again
	}
	if j.file.Sync() == nil {
		j.dirty, j.synced = false, now
	}
}

// replace replaces the file by a file with the commands that restore the stored keys. If it fails before the rename, the
// old file is still in use.
func (j *journal) replace() error {
	next, err := j.rewrite(j.path + ".new")
	if err != nil {
		return err
	}
	if err := os.Rename(next.Name(), j.path); err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	if j.file != nil {
		_ = j.file.Close() // the new file replaces all of its content
	}
	j.file, j.base, j.steps, j.last, j.broken = next, next.size, 0, j.aged, false
	return syncFolder(filepath.Dir(j.path))
}

// rewrite writes the commands that restore the stored keys to a new file, and syncs the file.
func (j *journal) rewrite(path string) (*journalFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	next := &journalFile{File: file}
	next.encoder = gob.NewEncoder(next)
	for _, key := range slices.DeleteFunc(j.server.Keys(), func(key string) bool { return !j.kept(key) }) {
		for _, command := range j.restoring(key) {
			if err == nil {
				err = next.encoder.Encode(newEntry(j.aged, command))
			}
		}
	}
	if err == nil {
		err = next.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(path))
	}
	return next, nil
}

// syncFolder syncs a folder, so that the names of its files are durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// restoring returns the commands that create the key with its value and expiry.
func (j *journal) restoring(key string) [][]string {
	var commands [][]string
	if text, err := j.server.Get(key); err == nil {
		commands = [][]string{{"SET", key, text}}
	} else if list, err := j.server.List(key); err == nil {
		commands = [][]string{append([]string{"RPUSH", key}, list...)}
	}
	if left := j.server.TTL(key); left > 0 {
		commands = append(commands, []string{"PEXPIRE", key, strconv.FormatInt(left.Milliseconds(), 10)})
	}
	return commands
}

// close stops writing and closes the file. A later command that changes a stored key would fail.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.file.Sync(), j.file.Close())
}
