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
	// probeBytes is what the check of the disk writes. A write of the platform needs less.
	probeBytes = 256 << 10
	// probeInterval is the time for which the result of a check is used again.
	probeInterval = time.Second
	// probeFile has a suffix that backups leave out.
	probeFile = "probe.tmp"
)

// disk checks that the folders of the embedded engines can be written. While they cannot, each write gets 503, and the
// platform is not ready.
type disk struct {
	folders []string
	outages *failurelog.Log

	mu      sync.Mutex
	checked time.Time
	err     error
}

// check returns the error of writing a file to each folder, at most once per probeInterval.
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

// probe writes the file and removes it.
func probe(path string) error {
	err := os.WriteFile(path, make([]byte, probeBytes), 0o600)
	return errors.Join(err, os.Remove(path))
}
