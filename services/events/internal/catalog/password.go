package catalog

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// hashesAtOnce is the maximum number of passwords that a process hashes or compares at the same time. Each
// hash or comparison needs 19 MiB of memory.
const hashesAtOnce = 4

var hashing = make(chan struct{}, hashesAtOnce)

// Hashing calls work, which hashes or compares a password, as soon as fewer than hashesAtOnce other calls of work run. If
// ctx ends first, Hashing returns an error and does not call work.
func Hashing(ctx context.Context, work func()) error {
	select {
	case hashing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-hashing }()
	work()
	return nil
}

// hashPassword returns the hash of a password for Access.PasswordHash, or an error if ctx ends first.
func hashPassword(ctx context.Context, password string) (hash string, err error) {
	err = Hashing(ctx, func() { hash = seal.HashPassword(password) })
	return hash, err
}
