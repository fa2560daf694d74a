// Package backup copies the data folder of the platform as one process into one file while the platform runs, and
// restores the folder from the file.
//
// A backup is what kill -9 would leave. It has the state of one moment of the five databases and of the files beside
// them, above all those of the embedded Kafka broker. So the restored platform starts as after a kill: a change that was
// acknowledged before the backup began is in the backup with its messages and deliveries, no record names a record that
// is missing, and a delivery is repeated only if its result was not stored at that moment.
//
// The moment is made in these steps:
//
//  1. All writers of all databases are stopped (takeSnapshot). A consumer stores the effect of a message and
//     then commits its offset; a relay publishes a message and then deletes it from the outbox. From here on, each
//     message is in an outbox, or it is in Kafka.
//  2. The files are opened and their sizes noted. The broker goes on. Its log of groups comes first: each offset in it
//     was committed when its effect was in a database or in another partition, which is opened later. Its list of topics
//     comes after the partitions: the broker would not know a partition without a topic, and would append to the file
//     when the topic is created again. All files grow at their end or are replaced by a rename, so the noted beginning
//     of an open file does not change. A file that is deleted before it is opened has only records that the broker no longer
//     keeps: every group has committed them, or they are a week old.
//  3. Reading transactions begin in the databases, and the writers go on. Steps 1 to 3 take some milliseconds.
//
// The command works on the folder and not through the platform. So a backup can be made while the platform is down, the
// platform has no address that returns all secrets, and the rights on the folder decide who may make one.
//
// The file is a ZIP archive. Its last member, the manifest, has the size and the SHA-256 sum of the others.
package backup

import (
	"archive/zip"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
)

const (
	format       = "bellbuoy-backup"
	version      = 1 // version of the format; Restore refuses a higher one
	manifestName = "manifest.json"
	documents    = "documents"
	// holdTime bounds the time to stop the writers. It is below the time that a write waits (10 s), so no write fails.
	holdTime = 5 * time.Second
)

// The broker's log of groups must be opened before its partitions, and its list of topics after them.
const (
	groupsFile = "kafka/groups.log"
	topicsFile = "kafka/topics.json"
)

// letters are folders of files that never change: mails and texts. There may be many, so they are opened late.
var letters = []string{"mail", "sms"}

// Manifest describes a backup.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Taken   time.Time `json:"taken"`   // the moment of the state, in UTC
	Program string    `json:"program"` // version of the program that wrote the backup
	Files   []File    `json:"files"`
}

// File is a file of a backup.
type File struct {
	Name   string `json:"name"`   // relative to the data folder, with slashes
	Size   int64  `json:"size"`   // in bytes
	SHA256 string `json:"sha256"` // sum of the content, in hexadecimal digits
}

// Has reports whether the backup has the file.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// Bytes returns the size of the files, in bytes.
func (m Manifest) Bytes() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// kept is a file of the data folder that belongs to the state of the moment.
type kept struct {
	name string  // relative to the data folder, with slashes
	file fs.File // nil for letters
	size int64   // size of file at the moment, in bytes
}

// Write copies the data folder into file, which it creates or replaces. program names the version of the program. The
// file appears only when it is whole, synced and verified. Only the owner can read it: it has the secrets of the
// platform.
func Write(ctx context.Context, data, file, program string) (m Manifest, err error) {
	if err := checkPlaces(data, file); err != nil {
		return m, err
	}
	temporary, unlock, err := workFolder(filepath.Dir(file))
	if err != nil {
		return m, fmt.Errorf("%s cannot be written: %w", file, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary), unlock()) }()
	m = Manifest{Format: format, Version: version, Program: program}
	archive := filepath.Join(temporary, "backup.zip")
	if err := m.write(ctx, data, archive, temporary); err != nil {
		return m, err
	}
	if _, err := Verify(ctx, archive); err != nil {
		return m, fmt.Errorf("the new backup is not whole: %w", err)
	}
	if err := os.Rename(archive, file); err != nil {
		return m, err
	}
	return m, datafolder.Sync(filepath.Dir(file))
}

// workPrefix begins the name of a work folder. staleAfter is the age from which a work folder is deleted if it is not
// locked: a younger one may not be locked yet.
const (
	workPrefix = ".bellbuoy-backup-"
	staleAfter = time.Minute
)

// workFolder creates a folder beside the backup, which only the owner can read, and locks it. It deletes the work folders
// of backups that were killed: they have copies of the databases.
func workFolder(beside string) (path string, unlock func() error, err error) {
	entries, err := os.ReadDir(beside)
	if err != nil {
		return "", nil, err
	}
	for _, entry := range entries {
		folder := filepath.Join(beside, entry.Name())
		info, err := entry.Info()
		if !strings.HasPrefix(entry.Name(), workPrefix) || err != nil || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if lock, err := datafolder.LockFolder(folder); err == nil {
			if err := errors.Join(os.RemoveAll(folder), lock.Close()); err != nil {
				return "", nil, fmt.Errorf("delete what an unfinished backup left: %w", err)
			}
		}
	}
	if path, err = os.MkdirTemp(beside, workPrefix+"*"); err != nil {
		return "", nil, err
	}
	lock, err := datafolder.LockFolder(path)
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(path))
	}
	return path, lock.Close, nil
}

// checkPlaces refuses a data folder that is none, a file within the folder, because the next backup would contain it, and
// an existing file that is no backup.
func checkPlaces(data, file string) error {
	if err := datafolder.CheckRestored(data); err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file; choose another place", file)
		}
		if info.Size() > 0 && !isBackup(file) {
			return fmt.Errorf("%s exists and is not a whole backup; delete it or choose another file", file)
		}
	}
	for _, name := range []string{documents, "kafka"} {
		if _, err := os.Stat(filepath.Join(data, name)); err != nil {
			return fmt.Errorf("BELLBUOY_DATA: %s is not the data folder of a platform on embedded engines: %w", data, err)
		}
	}
	inside, err := realPath(data)
	if err != nil {
		return err
	}
	outside, err := realPath(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, err)
	}
	if relative, err := filepath.Rel(inside, outside); err == nil && filepath.IsLocal(relative) {
		return fmt.Errorf("%s is inside of the data folder; choose another place", file)
	}
	return nil
}

// realPath returns the absolute path of a folder, without symbolic links.
func realPath(folder string) (string, error) {
	path, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// write writes the archive. It puts copies of the databases into the folder temporary, one at a time.
func (m *Manifest) write(ctx context.Context, data, archive, temporary string) error {
	var files []kept
	defer func() { closeAll(files) }()
	holding, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	snapshot, err := takeSnapshot(holding, filepath.Join(data, documents), func() (err error) {
		m.Taken = time.Now().UTC().Truncate(time.Millisecond)
		files, err = list(os.DirFS(data))
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the writers of %s could not be stopped within %v; try again: %w", data, holdTime, err)
	}
	if err != nil {
		return fmt.Errorf("take the state of %s: %w", data, err)
	}
	defer snapshot.close()
	return writeArchive(archive, m, func(w *archiveWriter) error {
		if err := w.addKept(ctx, data, files); err != nil {
			return err
		}
		for _, name := range snapshot.names {
			copied := filepath.Join(temporary, name)
			if err := snapshot.copy(ctx, name, copied); err != nil {
				return err
			}
			if err := w.addFile(ctx, documents+"/"+name, copied); err != nil {
				return err
			}
			if err := os.Remove(copied); err != nil {
				return err
			}
		}
		return nil
	})
}

// list opens the files of the data folder, except the databases, and notes their sizes. The caller closes the files, also
// after an error.
func list(data fs.FS) (files []kept, err error) {
	add := func(name string) error {
		k, err := open(data, name)
		if errors.Is(err, fs.ErrNotExist) { // the broker has deleted or renamed it
			return nil
		}
		if err == nil {
			files = append(files, k)
		}
		return err
	}
	if err := add(groupsFile); err != nil {
		return files, err
	}
	err = fs.WalkDir(data, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, which a backup does not follow; only the data folder itself may be one", name)
		case name == documents:
			return fs.SkipDir
		case name == datafolder.LostAndFound:
			return fs.SkipDir
		case !entry.Type().IsRegular() || name == groupsFile || name == topicsFile || name == datafolder.LockFile || unfinished(entry.Name()):
			return nil
		}
		return add(name)
	})
	if err != nil {
		return files, err
	}
	return files, add(topicsFile)
}

// unfinished reports whether a file has the name under which delivery, the broker or Redis writes a file before a rename.
func unfinished(name string) bool {
	return strings.HasSuffix(name, ".draft") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".new")
}

func open(data fs.FS, name string) (kept, error) {
	if slices.Contains(letters, path.Dir(name)) {
		return kept{name: name}, nil
	}
	file, err := data.Open(name)
	if err != nil {
		return kept{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return kept{}, errors.Join(err, file.Close())
	}
	return kept{name, file, info.Size()}, nil
}

func closeAll(files []kept) {
	for _, k := range files {
		if k.file != nil {
			_ = k.file.Close() // it was only read
		}
	}
}

// archiveWriter writes the members of an archive and notes them in a manifest.
type archiveWriter struct {
	zip      *zip.Writer
	manifest *Manifest
}

// writeArchive writes and syncs an archive with the members that fill adds, and the manifest.
func writeArchive(path string, m *Manifest, fill func(*archiveWriter) error) (err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := &archiveWriter{zip.NewWriter(out), m}
	w.zip.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	if err := fill(w); err != nil {
		return err
	}
	member, err := w.zip.Create(manifestName)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(member)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(m); err != nil {
		return err
	}
	if err := w.zip.Close(); err != nil {
		return err
	}
	return out.Sync()
}

// addKept adds the files as they were at the moment. A letter that was deleted since is left out.
func (w *archiveWriter) addKept(ctx context.Context, data string, files []kept) error {
	for _, k := range files {
		var err error
		if k.file != nil {
			err = w.add(ctx, k.name, io.LimitReader(k.file, k.size), k.size)
		} else if err = w.addFile(ctx, k.name, filepath.Join(data, filepath.FromSlash(k.name))); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *archiveWriter) addFile(ctx context.Context, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return w.add(ctx, name, file, info.Size())
}

func (w *archiveWriter) add(ctx context.Context, name string, from io.Reader, size int64) error {
	member, err := w.zip.Create(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	copied, err := io.Copy(io.MultiWriter(member, sum), untilEnd{ctx, from})
	if err == nil && copied != size {
		err = fmt.Errorf("it has %d bytes instead of %d", copied, size)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	w.manifest.Files = append(w.manifest.Files, File{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// untilEnd is a reader that returns an error when ctx has ended.
type untilEnd struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r untilEnd) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
