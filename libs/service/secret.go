package service

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// secretMark is a record with a value that is derived from the platform secret. It shows whether the other records
// were sealed with the same secret.
type secretMark struct {
	ID   string `json:"id"`
	Mark string `json:"mark"`
}

var errOtherSecret = errors.New("BELLBUOY_SECRET is not the secret with which the records in the database are sealed; use that secret or another database")

// sealedWith returns a function that compares secret with the mark in the database. The function returns
// errOtherSecret if the mark is derived from another secret. If there is no mark, the function stores one. If several processes
// start at once, one of them stores the mark, and the others compare their secret with it.
func sealedWith(database *document.Database, secret string) func(context.Context) error {
	marks := document.Declare(database, document.Schema[secretMark]{Name: "secret_marks", Shard: document.Whole("It has one record."), Key: func(m *secretMark) string { return m.ID }})
	mark := secretMark{"secret", seal.Sign(secret, "secret mark", "")}
	return func(ctx context.Context) error {
		_, err := marks.Upsert(ctx, mark.ID, func(stored *secretMark, exists bool) ([]topic.Message, error) {
			if exists && *stored != mark {
				return nil, errOtherSecret
			}
			if exists {
				return nil, fault.ErrUnchanged
			}
			*stored = mark
			return nil, nil
		})
		return err
	}
}
