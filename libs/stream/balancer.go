package stream

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/segmentio/kafka-go"
)

// balancer assigns the partitions of a topic to the members of a group. Each partition has at most one owner at any
// time, and a rebalance takes a partition from its owner only if it must move. When members join the group, they
// state which partitions they own. One member, the leader, computes the assignment. It never assigns an owned
// partition directly to another member. To move a partition, it first assigns the partition to nobody. The owner ends
// its work on the partition and joins the group again without the partition. In that second join the leader can
// assign the partition to another member. So a rebalance interrupts no partition that does not move.
type balancer struct{ claims func() claims }

// claims is what a member states when it joins the group.
type claims struct {
	// Member is the id of the member when it got the partitions. If the group has removed a member, the member gets a
	// new id. Claims with an old id are ignored, because other members may own the partitions now.
	Member string           `json:"member"`
	Owned  map[string][]int `json:"owned"` // partitions by topic, in order
	Leaves bool             `json:"leaves,omitempty"`
}

// ProtocolName implements kafka.GroupBalancer. A member with another protocol cannot join the group.
func (balancer) ProtocolName() string { return "bellbuoy-handover" }

// UserData implements kafka.GroupBalancer.
func (b balancer) UserData() ([]byte, error) { return json.Marshal(b.claims()) }

// AssignGroups implements kafka.GroupBalancer.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	topics, out := make(map[string][]int), make(kafka.GroupMemberAssignments, len(members))
	for _, each := range partitions {
		topics[each.Topic] = append(topics[each.Topic], each.ID)
	}
	stated := make(map[string]claims, len(members))
	for _, m := range members {
		out[m.ID] = make(map[string][]int)
		var c claims
		if json.Unmarshal(m.UserData, &c) != nil || c.Member != m.ID {
			c.Owned = nil
		}
		stated[m.ID] = c
	}
	for topic, ids := range topics {
		slices.Sort(ids)
		var sharers []sharer
		for _, m := range members {
			if slices.Contains(m.Topics, topic) {
				owned := slices.DeleteFunc(slices.Clone(stated[m.ID].Owned[topic]), func(id int) bool { return !slices.Contains(ids, id) })
				sharers = append(sharers, sharer{m.ID, owned, stated[m.ID].Leaves})
			}
		}
		for id, share := range shares(sharers, ids) {
			out[id][topic] = share
		}
	}
	return out
}

// sharer is a member that takes part in the assignment of a topic.
type sharer struct {
	id     string
	owned  []int
	leaves bool
}

// shares returns the partitions of each member that does not leave the group. The share of a member consists of
// partitions that it owns and partitions that nobody owns.
func shares(members []sharer, partitions []int) map[string][]int {
	free := slices.Clone(partitions)
	for _, m := range members {
		free = slices.DeleteFunc(free, func(id int) bool { return slices.Contains(m.owned, id) })
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m sharer) bool { return m.leaves })
	// If the partitions cannot be divided evenly, the members that own the most partitions get one more than the
	// others, so that fewer partitions move.
	slices.SortFunc(members, func(a, b sharer) int { return cmp.Or(len(b.owned)-len(a.owned), cmp.Compare(a.id, b.id)) })
	out := make(map[string][]int, len(members))
	for i, m := range members {
		quota := len(partitions) / len(members)
		if i < len(partitions)%len(members) {
			quota++
		}
		kept := m.owned[:min(quota, len(m.owned))]
		taken := min(quota-len(kept), len(free))
		out[m.id] = append(slices.Clone(kept), free[:taken]...)
		free = free[taken:]
	}
	return out
}
