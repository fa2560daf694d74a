package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Claim reads the outbox from its beginning. Only this process uses the file, so Claim does not mark the messages as
// claimed.
func (e *Engine) Claim(ctx context.Context, shapes []*plan.Shape, limit int, skip func(collection, key string) bool) ([]engine.Claim, error) {
	byName := find.Index(shapes, func(s *plan.Shape) string { return s.Name })
	var claims []engine.Claim
	const skipped = -1
	at := make(map[string]int) // position in claims by the name of the document, or skipped
	taken := 0
	// Read batches until there are enough documents or messages. One batch is not enough, because all of its messages
	// may belong to a few documents.
	for last, rows := int64(0), engine.RelayBatch; rows == engine.RelayBatch && len(claims) < limit && taken < engine.RelayMessages; {
		rows = 0
		q := clause{`SELECT seq, collection, key, entry FROM "~outbox" WHERE seq > ? ORDER BY seq LIMIT 0 + ?`, []any{last, engine.RelayBatch}} // see ordered
		err := e.read(ctx, q, func(r *sql.Rows) error {
			var collection, key string
			var raw []byte
			if err := r.Scan(&last, &collection, &key, &raw); err != nil {
				return err
			}
			rows++
			name := collection + "/" + key
			i, decided := at[name]
			if !decided {
				// Claim all messages of a document that are read here, or none, because they are published in their
				// order.
				i = skipped
				if s := byName[collection]; s != nil && len(claims) < limit && !skip(collection, key) {
					i = len(claims)
					claims = append(claims, engine.Claim{Shape: s, Key: key})
				}
				at[name] = i
			}
			if i == skipped {
				return nil
			}
			var waiting engine.Entry
			if err := bson.Unmarshal(raw, &waiting); err != nil {
				return err
			}
			claims[i].Entries = append(claims[i].Entries, waiting)
			claims[i].Rows = append(claims[i].Rows, last)
			taken++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return claims, nil
}

func (e *Engine) Clear(ctx context.Context, claims []engine.Claim) (bool, error) {
	var rows []int64
	for i := range claims {
		rows = append(rows, claims[i].Rows[:len(claims[i].Entries)]...)
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return false, err
	}
	return false, e.write(ctx, nil, func(w *writer) error {
		return w.exec(`DELETE FROM "~outbox" WHERE seq IN (SELECT value FROM json_each(?))`, string(list))
	})
}

// Waiting implements the interface of package document.
func (e *Engine) Waiting(ctx context.Context, _ []*plan.Shape, most int) (w engine.Waiting, err error) {
	err = e.read(ctx, clause{`SELECT entry FROM "~outbox" ORDER BY seq LIMIT 1`, nil}, func(r *sql.Rows) error {
		var raw []byte
		var first engine.Entry
		if err := r.Scan(&raw); err != nil {
			return err
		}
		err := bson.Unmarshal(raw, &first)
		w.Oldest = first.ID
		return err
	})
	if err != nil {
		return w, err
	}
	n, err := e.number(ctx, clause{`SELECT COUNT(*) FROM (SELECT 1 FROM "~outbox" LIMIT ?)`, []any{most}})
	w.Messages = int(n)
	return w, err
}
