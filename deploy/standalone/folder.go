package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/version"
)

type folder struct {
	path string
	lock *os.File
}

// openFolder creates the folder if it does not exist, locks it and marks it. It returns an error
// if another process uses the folder, if a restore into the folder did not finish, or if a newer
// program has used the folder.
func openFolder(path string) (*folder, error) {
	lock, err := datafolder.Lock(path)
	if err != nil {
		return nil, err
	}
	if err := datafolder.Mark(path, version.Number()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &folder{path, lock}, nil
}

func (f *folder) close() error { return f.lock.Close() }

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// secret returns setting. If setting is empty, secret returns the content of the file name, or an error if the content is
// shorter than seal.MinSecret. If the file does not exist, secret writes a new secret to it and returns the new secret.
func (f *folder) secret(setting, name string) (string, error) {
	if setting != "" {
		return setting, nil
	}
	kept, err := os.ReadFile(f.file(name))
	if errors.Is(err, os.ErrNotExist) {
		secret := seal.Random()
		return secret, f.write(name, []byte(secret+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	secret := strings.TrimSpace(string(kept))
	if len(secret) < seal.MinSecret {
		return "", fmt.Errorf("BELLBUOY_DATA: %s has fewer than %d characters; restore it", f.file(name), seal.MinSecret)
	}
	return secret, nil
}

// sealSecret returns the secret of the platform. A new secret is durable before the first record is created. If the folder
// has records, only the secret that sealed them can open them. In this case sealSecret returns an error if the secret is
// missing, or if it does not match the file secret-mark, which was derived from the secret of the records. In a folder of an
// older version without this file, the secret must match the file secret.
func (f *folder) sealSecret(setting string) (string, error) {
	const name, markName, records = "secret", "secret-mark", "documents"
	sealed, err := os.ReadDir(f.file(records))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	kept, err := f.read(name)
	if err != nil {
		return "", err
	}
	written, err := f.read(markName)
	if err != nil {
		return "", err
	}
	if len(sealed) > 0 && kept == "" && setting == "" {
		return "", fmt.Errorf("BELLBUOY_DATA: %s is missing or empty, and the records in %s are sealed with it; restore it, set BELLBUOY_SECRET, or use another data folder",
			f.file(name), f.file(records))
	}
	secret, err := f.secret(setting, name)
	if err != nil {
		return "", err
	}
	mark := written
	if mark == "" && kept != "" { // a folder of an older version has no mark
		mark = secretMark(kept)
	}
	if len(sealed) > 0 && mark != "" && mark != secretMark(secret) {
		source := "BELLBUOY_SECRET"
		if setting == "" {
			source = f.file(name)
		}
		return "", fmt.Errorf("%s is not the secret with which the records in %s are sealed; use that secret or another data folder", source, f.file(records))
	}
	if written == secretMark(secret) {
		return secret, nil
	}
	return secret, f.write(markName, []byte(secretMark(secret)+"\n"))
}

func secretMark(secret string) string { return seal.Sign(secret, "secret mark", "") }

// read returns the content of the file without white space around it. It returns "" if the file does not exist.
func (f *folder) read(name string) (string, error) {
	content, err := os.ReadFile(f.file(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

func (f *folder) write(name string, content []byte) error {
	return datafolder.Write(f.path, name, content)
}
