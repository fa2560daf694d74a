package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

const (
	// probeBytes is the size of the file that a check writes, in bytes.
	probeBytes = 256 << 10
	// probeInterval is the time for which check returns the result of an earlier check again.
	probeInterval = time.Second
	// probeFile is the name of the file that a check writes. Backups leave out files with the suffix .tmp.
	probeFile = "probe.tmp"
)

// disk checks that files can be written to the folders of the embedded engines. While the check fails, the platform is not
// ready. Requests that write to an embedded database then get 503.
type disk struct {
	folders []string
	outages *failurelog.Log

	mu      sync.Mutex
	checked time.Time
	err     error
}

// check writes a file to each folder, at most once per probeInterval, and returns the error of the last attempt.
func (d *disk) check(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.checked) < probeInterval {
		return d.err
	}
	d.err = nil
	for _, folder := range d.folders {
		cause := failurelog.Cause{Message: "The folder cannot be written. Writes get 503 until it can.", Of: folder}
		if err := probe(filepath.Join(folder, probeFile)); err != nil {
			d.err = errors.Join(d.err, err)
			d.outages.Failed(ctx, cause, err)
		} else {
			d.outages.Over(ctx, cause)
		}
	}
	d.checked = time.Now()
	return d.err
}

// probe writes a file of probeBytes to path and removes the file.
func probe(path string) error {
	err := os.WriteFile(path, make([]byte, probeBytes), 0o600)
	return errors.Join(err, os.Remove(path))
}
