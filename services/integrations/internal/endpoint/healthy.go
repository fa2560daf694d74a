package endpoint

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const (
	// parts is the number of groups for each bucket of an organization, and maxMembers that of the members of a group.
	// It bounds the size of the record. Endpoints beside a full group have Counters only.
	parts      = 4
	maxMembers = 8192
)

// Healthy is a group of endpoints of one organization and bucket that have no consecutive failures, with their last
// successes. A success of a member changes nothing else, so one write counts the successes of a whole group.
//
// An endpoint is a member only while its Counters name the group and have no failures. So it joins after the write of
// its Counters, and leaves before its first failure is written:
//
//   - join adds an endpoint only if Generation is what it was before the write of the Counters.
//   - leave changes Generation, or deletes the group with its last member. So it also ends a join in progress.
//   - leave first copies the marks of the member into its Counters, so that a repeated success is still recognized. It
//     starts over if the member got another mark meanwhile.
//
// A kill between two of these writes leaves an endpoint whose Counters name a group without it. It then has Counters only,
// until it joins again.
type Healthy struct {
	ID         string  `json:"id"`         // healthyKey
	Generation int64   `json:"generation"` // random, not 0
	Members    members `json:"members"`
}

// membership names the Healthy that an endpoint joined, and its Generation then. No two memberships of an endpoint are
// equal.
type membership struct {
	Group      string `json:"group"`
	Generation int64  `json:"generation"`
}

func (c *Counters) membership() membership {
	if c.Healthy == nil {
		return membership{}
	}
	return *c.Healthy
}

// healthyKey returns the key of the group of an outcome's recipient, or "" if it is not the id of an endpoint.
func healthyKey(o topic.Outcome) string {
	id, err := uuid.Parse(o.Recipient)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d/%d", o.Organization, o.Bucket, id[len(id)-1]%parts)
}

func newGeneration() int64 { return 1 + rand.Int64N(1<<62) }

// countHealthy counts the successes of members, and returns the other endpoints of the batches.
func (s *Endpoints) countHealthy(ctx context.Context, batches map[string][]topic.Outcome, ids []string) (others []string, err error) {
	groups := map[string][]string{}
	var keys []string
	for _, id := range ids {
		key := groupOf(batches[id])
		if key == "" {
			continue
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], id)
	}
	counted := map[string]bool{}
	if len(keys) > 0 {
		err = s.Store.Healthy.UpdateMany(ctx, keys, func(found []*Healthy) (map[string][]topic.Message, error) {
			clear(counted) // of an earlier run
			for _, group := range found {
				list := group.Members.list()
				for _, id := range groups[group.ID] {
					if at, is := place(list, id); is {
						counted[id] = true
						list[at].succeed(batches[id])
					}
				}
				group.Members = pack(list)
			}
			return nil, nil
		})
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return counted[id] }), err
}

// groupOf returns the key of the group to which all outcomes belong. It returns "" if not all are successes of one group.
func groupOf(outcomes []topic.Outcome) string {
	key := ""
	for i, o := range outcomes {
		if o.Result != topic.Delivered {
			return ""
		}
		if of := healthyKey(o); i == 0 {
			key = of
		} else if of != key {
			return ""
		}
	}
	return key
}

// joinable returns the groups that the endpoints may join after their successes, by the endpoints' ids.
func (s *Endpoints) joinable(ctx context.Context, batches map[string][]topic.Outcome, ids []string) (map[string]membership, error) {
	keys := map[string]string{}
	for _, id := range ids {
		if last := batches[id][len(batches[id])-1]; last.Result == topic.Delivered {
			keys[id] = healthyKey(last)
		}
	}
	found, err := s.groups(ctx, distinct(slices.Collect(maps.Values(keys))))
	if err != nil {
		return nil, err
	}
	joins := map[string]membership{}
	for id, key := range keys {
		if key == "" {
			continue
		}
		group, exists := found[key]
		if !exists {
			group, err = s.Store.Healthy.Upsert(ctx, key, func(h *Healthy, exists bool) ([]topic.Message, error) {
				if exists {
					return nil, fault.ErrUnchanged
				}
				*h = Healthy{ID: key, Generation: newGeneration()}
				return nil, nil
			})
			if err != nil {
				return nil, err
			}
			found[key] = group
		}
		if group.Members.len() < maxMembers {
			joins[id] = membership{key, group.Generation}
		}
	}
	return joins, nil
}

// join adds endpoints to the groups that their Counters name. It deletes those of the groups that have no members.
func (s *Endpoints) join(ctx context.Context, groups []string, joining map[string]membership) error {
	ids, empty := byGroup(joining), []string(nil)
	err := s.Store.Healthy.UpdateMany(ctx, groups, func(found []*Healthy) (map[string][]topic.Message, error) {
		empty = nil
		for _, group := range found {
			list := group.Members.list()
			for _, id := range ids[group.ID] {
				at, is := place(list, id)
				if !is && group.Generation == joining[id].Generation {
					list = slices.Insert(list, at, member{id: uuid.MustParse(id)})
				}
			}
			group.Members = pack(list)
			if len(list) == 0 {
				empty = append(empty, group.ID)
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	return s.deleteGroups(ctx, empty)
}

// leave makes endpoints leave their groups. It returns the memberships that it ended. Their Counters still name them.
func (s *Endpoints) leave(ctx context.Context, ids []string) (map[string]membership, error) {
	for {
		left, err := s.leaveOnce(ctx, ids)
		if err != nil || left != nil {
			return left, err
		}
	}
}

// leaveOnce returns nil if an endpoint got another mark meanwhile.
func (s *Endpoints) leaveOnce(ctx context.Context, ids []string) (map[string]membership, error) {
	counters, err := s.countersOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	leaving := map[string]membership{}
	for id, c := range counters {
		if c.Healthy != nil {
			leaving[id] = *c.Healthy
		}
	}
	groups := byGroup(leaving)
	copied, err := s.marksOf(ctx, groups)
	if err != nil {
		return nil, err
	}
	err = s.Store.Counters.UpdateMany(ctx, keysOf(copied), func(counters []*Counters) (map[string][]topic.Message, error) {
		for _, c := range counters {
			if c.membership() == leaving[c.ID] {
				c.absorb(copied[c.ID])
			}
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	again, empty := false, []string(nil)
	err = s.Store.Healthy.UpdateMany(ctx, keysOf(groups), func(found []*Healthy) (map[string][]topic.Message, error) {
		again, empty = false, nil
		for _, group := range found {
			list := group.Members.list()
			for _, id := range groups[group.ID] {
				at, is := place(list, id)
				switch {
				case is && slices.Equal(list[at].marks, copied[id]):
					list = slices.Delete(list, at, at+1)
				case is:
					again = true
				}
			}
			group.Members, group.Generation = pack(list), newGeneration()
			if len(list) == 0 {
				empty = append(empty, group.ID)
			}
		}
		return nil, nil
	})
	if err == nil {
		err = s.deleteGroups(ctx, empty)
	}
	if err != nil || again {
		return nil, err
	}
	return leaving, nil
}

// marksOf returns the marks of the endpoints that are members of the groups, by their ids.
func (s *Endpoints) marksOf(ctx context.Context, groups map[string][]string) (map[string]marks, error) {
	found, err := s.groups(ctx, keysOf(groups))
	of := map[string]marks{}
	for key, group := range found {
		list := group.Members.list()
		for _, id := range groups[key] {
			if at, is := place(list, id); is {
				of[id] = list[at].marks
			}
		}
	}
	return of, err
}

// deleteGroups deletes those of the groups that have no members.
func (s *Endpoints) deleteGroups(ctx context.Context, keys []string) error {
	for _, key := range keys {
		err := s.Store.Healthy.Delete(ctx, key, func(h *Healthy) ([]topic.Message, error) {
			if h.Members.len() > 0 {
				return nil, fault.ErrUnchanged
			}
			return nil, nil
		})
		if unlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// lastSuccesses sets LastSuccessAt of the counters to the last success of the endpoint in its group, if it is a member.
func (s *Endpoints) lastSuccesses(ctx context.Context, counters map[string]Counters) error {
	memberships := map[string]membership{}
	for id, c := range counters {
		if c.Healthy != nil {
			memberships[id] = *c.Healthy
		}
	}
	found, err := s.marksOf(ctx, byGroup(memberships))
	for id, successes := range found {
		if n := successes.len(); n > 0 {
			c := counters[id]
			c.succeededAt(successes.ended(n - 1))
			counters[id] = c
		}
	}
	return err
}

func (s *Endpoints) groups(ctx context.Context, keys []string) (map[string]Healthy, error) {
	return byKey(ctx, s.Store.Healthy, keys, func(h Healthy) string { return h.ID })
}

func keysOf[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }

// byGroup returns the ids of memberships by their groups.
func byGroup(memberships map[string]membership) map[string][]string {
	groups := map[string][]string{}
	for id, m := range memberships {
		groups[m.Group] = append(groups[m.Group], id)
	}
	return groups
}
