package endpoint

import (
	"fmt"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

const (
	// rotation is how long a replaced secret still signs in addition to the new secret.
	rotation = 24 * time.Hour
	// maxRotations is the maximum number of rotations within 24 h. It limits the number of signatures of a delivery.
	maxRotations = 10
)

// rotate adds a new sealed secret. The replaced secrets still sign until they expire. If maxRotations secrets were replaced
// within the last 24 h already, rotate changes nothing and returns a Conflict.
func (e *Endpoint) rotate(sealed string, now time.Time) error {
	secrets := []Secret{{Sealed: sealed, CreatedAt: now}}
	expires := now.Add(rotation)
	for _, old := range e.Secrets {
		if old.ExpiresAt == nil {
			old.ExpiresAt = &expires
		}
		if old.ExpiresAt.After(now) {
			secrets = append(secrets, old)
		}
	}
	if len(secrets) > maxRotations+1 {
		return fault.New(fault.Conflict, "The secret was rotated %d times within 24 h. Rotate it again after %s.",
			maxRotations, secrets[len(secrets)-1].ExpiresAt.Format("2006-01-02T15:04:05.000Z"))
	}
	e.Secrets = secrets
	return nil
}

// signing returns the secrets that sign at the time now, newest first.
func (e *Endpoint) signing(box seal.Box, now time.Time) ([]string, error) {
	var open []string
	for _, secret := range e.Secrets {
		if secret.ExpiresAt != nil && !secret.ExpiresAt.After(now) {
			continue
		}
		plain, err := box.Open(secret.Sealed, e.ID)
		if err != nil {
			return nil, fmt.Errorf("open a signing secret of endpoint %s: %w", e.ID, err)
		}
		open = append(open, plain)
	}
	return open, nil
}
