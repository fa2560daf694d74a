package backup

import (
	"archive/zip"
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

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
)

// maxManifest bounds the size of the manifest, in bytes. The entry of a file takes about 150 bytes.
const maxManifest = 256 << 20

// errDamaged is the cause of an error if the content of a backup has changed since it was written.
var errDamaged = errors.New("the backup is damaged")

// Restore verifies the file and then writes its files to the data folder. The folder must be missing or empty, and no
// platform may use it. If Restore fails or is killed while it writes, the platform and the next Restore refuse the
// folder.
func Restore(ctx context.Context, file, data string) (m Manifest, err error) {
	if m, err = Verify(ctx, file); err != nil {
		return m, err
	}
	data = filepath.Clean(data)
	if err := checkEmpty(data, false); err != nil { // checked before Lock creates a file in the folder
		return m, err
	}
	lock, err := datafolder.Lock(data)
	if err != nil {
		return m, err
	}
	defer lock.Close()
	if err := checkEmpty(data, true); err != nil {
		return m, err
	}
	mark := filepath.Join(data, datafolder.Restoring)
	if err := errors.Join(os.WriteFile(mark, nil, 0o600), datafolder.Sync(data)); err != nil {
		return m, err
	}
	if err := m.fill(ctx, file, data); err != nil {
		return m, fmt.Errorf("the restore failed; delete the folder %s and restore again: %w", data, err)
	}
	return m, errors.Join(os.Remove(mark), datafolder.Sync(data))
}

// fill writes the files to the data folder, syncs them and their folders, and checks the databases.
func (m Manifest) fill(ctx context.Context, file, data string) error {
	folders := map[string]bool{data: true, filepath.Dir(data): true}
	if _, err := each(ctx, file, func(f File, content io.Reader) error { return extract(data, f, content, folders) }); err != nil {
		return err
	}
	for folder := range folders {
		if err := datafolder.Sync(folder); err != nil {
			return err
		}
	}
	for _, f := range m.Files {
		if path.Ext(f.Name) == ".db" {
			if err := checkFile(ctx, filepath.Join(data, filepath.FromSlash(f.Name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEmpty returns an error if the folder contains files other than datafolder.LockFile and datafolder.LostAndFound. If
// locked is false and the folder has a lock file, checkEmpty returns nil: the caller locks this file and then calls
// checkEmpty again.
func checkEmpty(data string, locked bool) error {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	used := false
	for _, entry := range entries {
		if entry.Name() == datafolder.LockFile && !locked {
			return nil
		}
		used = used || entry.Name() != datafolder.LockFile && entry.Name() != datafolder.LostAndFound
	}
	if used {
		return fmt.Errorf("BELLBUOY_DATA: the folder %s is not empty; restore into an empty one", data)
	}
	return nil
}

// extract writes and syncs a file. It adds each folder in which it created a file or a folder to the map folders.
func extract(data string, f File, content io.Reader, folders map[string]bool) error {
	target := filepath.Join(data, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	for folder := filepath.Dir(target); !folders[folder]; folder = filepath.Dir(folder) {
		folders[folder] = true
	}
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, content); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Verify returns the manifest of a backup. It returns an error unless the file is a whole backup that this program can
// restore.
func Verify(ctx context.Context, file string) (Manifest, error) {
	return each(ctx, file, func(_ File, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	})
}

// isBackup reports whether the manifest of the file shows that the file is a backup that this program can restore.
func isBackup(file string) bool {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return false
	}
	defer archive.Close()
	for _, member := range archive.File {
		if member.Name == manifestName {
			_, err := readManifest(member)
			return err == nil
		}
	}
	return false
}

// each calls do with each file of the manifest and its content, which do must read to the end. each returns an error if
// a content has another size or sum than in the manifest.
func each(ctx context.Context, file string, do func(File, io.Reader) error) (m Manifest, err error) {
	archive, err := zip.OpenReader(file)
	if errors.Is(err, zip.ErrFormat) {
		return m, fmt.Errorf("%s is not a backup, or it is cut", file)
	}
	if err != nil {
		return m, err
	}
	defer archive.Close()
	members := map[string]*zip.File{}
	for _, member := range archive.File {
		members[member.Name] = member
	}
	if m, err = readManifest(members[manifestName]); err != nil {
		return m, fmt.Errorf("%s is not a backup: %w", file, err)
	}
	if len(archive.File) != len(m.Files)+1 {
		return m, fmt.Errorf("%s: %w: it does not have the files of its manifest", file, errDamaged)
	}
	for _, f := range m.Files {
		if err := f.pass(ctx, members[f.Name], do); err != nil {
			return m, fmt.Errorf("%s: %s: %w", file, f.Name, err)
		}
	}
	return m, nil
}

func readManifest(member *zip.File) (m Manifest, err error) {
	if member == nil {
		return m, errors.New("it has no manifest")
	}
	content, err := member.Open()
	if err != nil {
		return m, err
	}
	defer content.Close()
	if err := json.NewDecoder(io.LimitReader(content, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.Format != format {
		return m, errors.New("its manifest is of another format")
	}
	if m.Version < 1 || m.Version > version {
		return m, fmt.Errorf("it has version %d of the format; this program reads up to version %d", m.Version, version)
	}
	return m, nil
}

// pass calls do with the content of the archive's member and returns its error. It returns errDamaged if the member is missing
// or cannot be read, if the name or the size in f is not valid, or if the content has another size or sum than in f.
func (f File) pass(ctx context.Context, member *zip.File, do func(File, io.Reader) error) error {
	if member == nil {
		return fmt.Errorf("%w: it is missing", errDamaged)
	}
	if !filepath.IsLocal(filepath.FromSlash(f.Name)) || f.Size < 0 {
		return fmt.Errorf("%w: its name or size is not valid", errDamaged)
	}
	content, err := member.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer content.Close()
	sum := sha256.New()
	limited := &io.LimitedReader{R: packed{content}, N: f.Size + 1}
	if err := do(f, io.TeeReader(untilEnd{ctx, limited}, sum)); err != nil {
		return err
	}
	if limited.N != 1 || hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: its content has another size or sum than in the manifest", errDamaged)
	}
	return nil
}

// packed reads a member of an archive. It returns errDamaged if the archive cannot be read.
type packed struct{ io.Reader }

// Read implements io.Reader.
func (p packed) Read(data []byte) (int, error) {
	n, err := p.Reader.Read(data)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return n, err
}
