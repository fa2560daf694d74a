package deliverylog

import (
	"hash/fnv"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Hash returns the FNV-1a hash of the parts. It is the same in every process and build, because stored records contain it.
func Hash(parts ...string) int64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for _, part := range parts {
		for i := range len(part) {
			hash = (hash ^ uint64(part[i])) * prime
		}
		hash *= prime // the parts are separated by a byte 0
	}
	return int64(hash) //nolint:gosec // keeps all 64 bits
}

// BucketOf returns the bucket of a destination.
func BucketOf(destination string) int {
	hash := fnv.New32a()
	hash.Write([]byte(destination))
	return int(hash.Sum32() % topic.Buckets)
}
