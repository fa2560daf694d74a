// Package backup copies the data folder of the platform as one process into one file while the platform runs, and
// restores the folder from the file.
//
// A backup has the state that kill -9 would leave. It contains the five databases and the files beside them, mainly those of the
// embedded Kafka broker, as they were at one moment. So the restored platform starts as after a kill: a change that was
// acknowledged before the backup began is in the backup with its messages and deliveries, no record refers to a missing
// record, and a delivery is repeated only if its result was not stored at that moment.
//
// Write copies the state of one moment in these steps:
//
//  1. All writers of all databases are stopped (takeSnapshot). A consumer stores the effect of a message and then
//     commits its offset; a relay publishes a message and then deletes it from the outbox. From here on, each message
//     is in an outbox or in Kafka.
//  2. The files are opened and their sizes noted. The broker continues to write. Its log of committed offsets is opened
//     first: the effect of each offset in this log is already in a database or in a partition, and both are opened
//     later. Its list of topics is opened after the partitions, so that no partition lacks its topic. (The broker
//     ignores a partition file without a topic, and would append to this file when the topic is created again.) All
//     files grow at their end or are replaced by a rename, so the bytes up to the noted size never change. A file that
//     is deleted before it is opened has only records that the broker no longer keeps: every group has committed them,
//     or they are a week old.
//  3. A read transaction begins in each database, and the writers continue. Steps 1 to 3 take some milliseconds.
//
// The command reads the folder and does not call the platform. So it works while the platform is down, no HTTP address
// returns all secrets, and the file permissions of the folder decide who may make a backup.
//
// The file is a ZIP archive. Its last member is the manifest, with the size and the SHA-256 sum of each other member.
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
	version      = 1 // version of the format; Restore refuses a higher version
	manifestName = "manifest.json"
	documents    = "documents"
	// holdTime bounds the time that stopping the writers may take. A blocked write fails after 10 s, so no write fails.
	holdTime = 5 * time.Second
)

// The broker's log of committed offsets must be opened before its partitions, and its list of topics after them.
const (
	groupsFile = "kafka/groups.log"
	topicsFile = "kafka/topics.json"
)

// letters are the folders of mails and texts. Their files never change, and there may be many. So each of these files is
// opened only when it is copied.
var letters = []string{"mail", "sms"}

// Manifest describes a backup.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Taken   time.Time `json:"taken"`   // time of the copied state, in UTC
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

// kept is a file of the data folder that the backup copies as it was when the writers were stopped.
type kept struct {
	name string  // relative to the data folder, with slashes
	file fs.File // open file; nil for letters
	size int64   // size when the writers were stopped, in bytes; 0 for letters
}

// Write copies the data folder into file, which it creates or replaces. program is the version of the program. The file
// gets its name only when it is complete, synced and verified. Only its owner can read the file, because it contains
// the secrets of the platform.
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

// workPrefix is the prefix of the names of work folders. workFolder deletes an unlocked work folder that is older than
// staleAfter. A younger work folder may belong to a process that has not locked it yet.
const (
	workPrefix = ".bellbuoy-backup-"
	staleAfter = time.Minute
)

// workFolder creates and locks a work folder in the folder beside. Only the owner can read the work folder. workFolder
// deletes the work folders of backups that were killed, because they contain copies of the databases.
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

// checkPlaces returns an error if data is not a data folder, if a restore into data did not finish, if file is inside data
// (the next backup would contain the file), or if file exists and is neither a backup nor an empty regular file.
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

// write writes the archive. It copies the databases into the folder temporary, one after the other.
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

// list opens the files of the data folder that belong to a backup, except databases, and notes their sizes. It returns the
// files of mails and texts (letters) without opening them. The caller closes the files, also after an error.
func list(data fs.FS) (files []kept, err error) {
	add := func(name string) error {
		k, err := open(data, name)
		if errors.Is(err, fs.ErrNotExist) { // the broker has deleted or renamed the file
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
		case !entry.Type().IsRegular() || name == groupsFile || name == topicsFile || name == datafolder.LockFile || name == datafolder.BackupFile || unfinished(entry.Name()):
			return nil
		}
		return add(name)
	})
	if err != nil {
		return files, err
	}
	return files, add(topicsFile)
}

// unfinished reports whether the name is that of a temporary file. Delivery (.draft), the broker (.tmp) and the embedded
// Redis (.new) rename such a file when it is complete.
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
			_ = k.file.Close() // the file was only read
		}
	}
}

// archiveWriter writes files to an archive and records each of them in a manifest.
type archiveWriter struct {
	zip      *zip.Writer
	manifest *Manifest
}

// writeArchive writes and syncs an archive. The archive contains the files that fill adds, and then the manifest.
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

// addKept adds the files as they were when the writers were stopped. It leaves out a letter that was deleted since.
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

// untilEnd is a reader that returns an error once ctx has ended.
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
