package catalog

import (
	"context"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

func TestFewPasswordsAreHashedAtOnce(t *testing.T) {
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	for range hashesAtOnce {
		go func() { ended <- Hashing(t.Context(), func() { begun <- struct{}{}; <-end }) }()
		<-begun
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if hash, err := hashPassword(late, "a good password"); err == nil || hash != "" {
		t.Error("one more password was hashed")
	}
	close(end)
	for range hashesAtOnce {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if hash, err := hashPassword(t.Context(), "a good password"); err != nil || !seal.CheckPassword(hash, "a good password") {
		t.Errorf("%q, %v", hash, err)
	}
}
