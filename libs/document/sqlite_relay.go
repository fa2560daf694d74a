package document

import (
	"context"
	"database/sql"
	"encoding/json"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// claim reads the outbox from its beginning. Only this process uses the file, so nothing is marked as claimed.
func (e *sqliteEngine) claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]claim, error) {
	byName := make(map[string]*shape, len(shapes))
	for _, s := range shapes {
		byName[s.name] = s
	}
	var claims []claim
	const skipped = -1
	at := make(map[string]int) // positions in claims by name, or skipped
	taken := 0
	// It reads on only until there is enough, because a backlog may be of a few documents.
	for last, rows := int64(0), relayBatch; rows == relayBatch && len(claims) < limit && taken < relayMessages; {
		rows = 0
		q := clause{`SELECT seq, collection, key, entry FROM "~outbox" WHERE seq > ? ORDER BY seq LIMIT ?`, []any{last, relayBatch}}
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
				// All messages of a document are claimed or none, because they are published in their order.
				i = skipped
				if s := byName[collection]; s != nil && len(claims) < limit && !skip(collection, key) {
					i = len(claims)
					claims = append(claims, claim{shape: s, key: key})
				}
				at[name] = i
			}
			if i == skipped {
				return nil
			}
			var waiting entry
			if err := bson.Unmarshal(raw, &waiting); err != nil {
				return err
			}
			claims[i].entries = append(claims[i].entries, waiting)
			claims[i].rows = append(claims[i].rows, last)
			taken++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return claims, nil
}

func (e *sqliteEngine) clear(ctx context.Context, claims []claim) (bool, error) {
	var rows []int64
	for i := range claims {
		rows = append(rows, claims[i].rows[:len(claims[i].entries)]...)
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return false, err
	}
	return false, e.write(ctx, nil, func(w *sqliteWriter) error {
		return w.exec(`DELETE FROM "~outbox" WHERE seq IN (SELECT value FROM json_each(?))`, string(list))
	})
}
