package outcome

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// parts is the number of LastSuccesses for each bucket of an organization. There are several, so that a record is not
// too large.
const parts = 4

// LastSuccesses are the times of the last successes of the endpoints in a group.
type LastSuccesses struct {
	ID    string `json:"id"` // group
	Times times  `json:"times"`
}

// group returns the key of the LastSuccesses of an outcome's recipient: the organization, the bucket, and a part.
func group(o topic.Outcome) string {
	id := uuid.MustParse(o.Recipient)
	return groupKey(o.Organization, o.Bucket, int(id[len(id)-1]%parts))
}

func groupKey(organization string, bucket, part int) string {
	return fmt.Sprintf("%s/%d/%d", organization, bucket, part)
}

// times are the ids of endpoints in ascending order, each with the time of its last success in milliseconds. They are
// bytes, so that they are read and written fast.
type times []byte

const placeSize = len(uuid.UUID{}) + 8

// place returns the offset of an endpoint in the times. If the endpoint is not in the times, found is false, and at is the
// offset at which to insert it.
func (t times) place(id string) (at int, found bool) {
	wanted := uuid.MustParse(id)
	at, found = sort.Find(len(t)/placeSize, func(i int) int { return bytes.Compare(wanted[:], t[i*placeSize:][:len(wanted)]) })
	return at * placeSize, found
}

// of returns the last success of an endpoint.
func (t times) of(id string) (time.Time, bool) {
	at, found := t.place(id)
	if !found {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(t[at+placeSize-8:]))).UTC(), true
}

// merge sets the time of an endpoint to the time of its success if the success is later. It returns the successes of
// endpoints that are not in the times.
func (t times) merge(successes []topic.Outcome) (absent []topic.Outcome) {
	for _, o := range successes {
		at, found := t.place(o.Recipient)
		if !found {
			absent = append(absent, o)
			continue
		}
		if millis := t[at+placeSize-8:]; o.At.UnixMilli() > int64(binary.BigEndian.Uint64(millis)) {
			binary.BigEndian.PutUint64(millis, uint64(o.At.UnixMilli()))
		}
	}
	return absent
}

// insert updates the times with the successes, and adds the endpoints that are not in the times.
func (t times) insert(successes []topic.Outcome) times {
	for _, o := range t.merge(successes) {
		at, found := t.place(o.Recipient)
		if !found {
			id := uuid.MustParse(o.Recipient)
			t = slices.Insert(t, at, binary.BigEndian.AppendUint64(id[:], uint64(o.At.UnixMilli()))...)
		}
		t.merge([]topic.Outcome{o})
	}
	return t
}

// CountSuccesses counts the successes of endpoints that are in LastSuccesses. It returns the ids of the endpoints whose
// Counters the outcomes change. absent are the successes of endpoints that are not in LastSuccesses, by group.
func (s Store) CountSuccesses(ctx context.Context, outcomes map[string][]topic.Outcome) (ids []string, absent map[string][]topic.Outcome, err error) {
	groups, changing := map[string][]topic.Outcome{}, map[string]bool{}
	for id, list := range outcomes {
		for _, o := range list {
			if o.Result == topic.Delivered {
				groups[group(o)] = append(groups[group(o)], o)
			} else {
				changing[id] = true
			}
		}
	}
	keys := slices.Sorted(maps.Keys(groups))
	err = s.Successes.UpdateMany(ctx, keys, func(found []*LastSuccesses) (map[string][]topic.Message, error) {
		absent = maps.Clone(groups)
		for _, g := range found {
			absent[g.ID] = g.Times.merge(groups[g.ID])
		}
		return nil, nil
	})
	if err != nil {
		return nil, nil, err
	}
	failing, err := s.Counters.Keys(ctx, find.Query{Where: []find.Condition{find.Has(FieldFailing, keys...)}})
	for _, row := range failing {
		if outcomes[row.Key] != nil {
			changing[row.Key] = true
		}
	}
	for id := range recipients(absent) {
		changing[id] = true
	}
	return slices.Sorted(maps.Keys(changing)), absent, err
}

func recipients(groups map[string][]topic.Outcome) map[string]bool {
	ids := map[string]bool{}
	for _, list := range groups {
		for _, o := range list {
			ids[o.Recipient] = true
		}
	}
	return ids
}

// Place adds the endpoints of absent to LastSuccesses. counters are their stored Counters. An endpoint whose Counters
// do not have the group is not added.
func (s Store) Place(ctx context.Context, absent map[string][]topic.Outcome, counters []*Counters) error {
	placed := map[string][]topic.Outcome{}
	groups := map[string][]string{}
	for _, c := range counters {
		groups[c.ID] = c.Groups
	}
	for key, list := range absent {
		for _, o := range list {
			if slices.Contains(groups[o.Recipient], key) {
				placed[key] = append(placed[key], o)
			}
		}
	}
	var missing map[string][]topic.Outcome
	err := s.Successes.UpdateMany(ctx, slices.Sorted(maps.Keys(placed)), func(found []*LastSuccesses) (map[string][]topic.Message, error) {
		missing = maps.Clone(placed)
		for _, g := range found {
			g.Times = g.Times.insert(placed[g.ID])
			delete(missing, g.ID)
		}
		return nil, nil
	})
	for key, list := range missing {
		if err == nil {
			_, err = s.Successes.Upsert(ctx, key, func(g *LastSuccesses, _ bool) ([]topic.Message, error) {
				g.ID, g.Times = key, g.Times.insert(list)
				return nil, nil
			})
		}
	}
	if err != nil || len(placed) == 0 {
		return err
	}
	ids := recipients(placed)
	left, err := s.countersOf(ctx, slices.Sorted(maps.Keys(ids)))
	for id := range ids {
		if _, found := left[id]; !found && err == nil { // the endpoint was deleted meanwhile
			err = s.leave(ctx, id, groups[id])
		}
	}
	return err
}

// leave removes an endpoint from the LastSuccesses of the groups, and deletes a record that is empty afterwards.
func (s Store) leave(ctx context.Context, id string, groups []string) error {
	for _, key := range groups {
		g, err := s.Successes.Change(ctx, key, func(g *LastSuccesses) error {
			at, found := g.Times.place(id)
			if !found {
				return fault.ErrUnchanged
			}
			g.Times = slices.Delete(g.Times, at, at+placeSize)
			return nil
		})
		if err == nil && len(g.Times) == 0 {
			err = s.Successes.Delete(ctx, key, func(g *LastSuccesses) ([]topic.Message, error) {
				if len(g.Times) > 0 {
					return nil, fault.ErrUnchanged
				}
				return nil, nil
			})
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}
