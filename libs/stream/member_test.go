package stream

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// If the response to a fetch arrives after the partition was given back, the partition gets no lag metric.
func TestAPartitionThatWasGivenBackHasNoLag(t *testing.T) {
	registry := prometheus.NewRegistry()
	client := Connect(Options{Brokers: []string{"127.0.0.1:1"}, Registerer: registry})
	defer client.Close()
	m := newMember(t.Context(), client, Subscription{Group: "g", Topics: []string{"t"}, MaxPending: 1}, &stallDetector{}, func(*member, *partition) {})
	m.open("t", 0, 5)
	p := m.owned()[0]
	for _, want := range []int{1, 0} {
		if err := m.receive(wanted{partition: p, offset: 5}, &fetch.ResponsePartition{HighWatermark: 9}); err != nil {
			t.Error(err)
		}
		if n := testutil.CollectAndCount(registry, "bellbuoy_stream_lag"); n != want {
			t.Errorf("%d series of lag instead of %d", n, want)
		}
		m.close()
	}
}

// In turn, members join, leave, die and give partitions back. Each step is one assignment by a leader. A partition is
// never assigned to a member while another member owns it. Members keep as many partitions as their share allows. At
// the end the shares are equal.
func TestAPartitionHasOneOwnerAtATime(t *testing.T) {
	const partitions = 48
	var topic []kafka.Partition
	for id := range partitions {
		topic = append(topic, kafka.Partition{Topic: "t", ID: id})
	}
	owned := map[string][]int{} // partitions by member
	leaves := map[string]bool{}
	rebalance := func() {
		var members []kafka.GroupMember
		for id, ids := range owned {
			data, err := balancer{func() claims { return claims{Member: id, Owned: map[string][]int{"t": ids}, Leaves: leaves[id]} }}.UserData()
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, kafka.GroupMember{ID: id, Topics: []string{"t"}, UserData: data})
		}
		assigned := balancer{}.AssignGroups(members, topic)
		for id := range owned {
			for _, partition := range assigned[id]["t"] {
				for other, ids := range owned {
					if other != id && slices.Contains(ids, partition) {
						t.Errorf("%s got partition %d, which %s owns", id, partition, other)
					}
				}
			}
		}
		for id := range owned { // all members give back at once what was taken from them
			owned[id] = assigned[id]["t"]
		}
	}
	steps := []struct {
		name   string
		change func()
		moved  int // number of partitions whose owner changes
		want   []int
	}{
		{"one", func() { owned["a"] = nil }, 48, []int{48}},
		{"two more", func() { owned["b"], owned["c"] = nil, nil }, 32, []int{16, 16, 16}},
		{"one leaves", func() { leaves["b"] = true }, 16, []int{0, 24, 24}},
		{"it has left", func() { delete(owned, "b") }, 0, []int{24, 24}},
		{"three more", func() { owned["d"], owned["e"], owned["f"] = nil, nil, nil }, 28, []int{9, 9, 10, 10, 10}},
		{"one dies", func() { delete(owned, "a") }, 10, []int{12, 12, 12, 12}},
	}
	for _, step := range steps {
		step.change()
		before := map[int]string{}
		for id, ids := range owned {
			for _, partition := range ids {
				before[partition] = id
			}
		}
		rebalance()
		rebalance()
		var sizes []int
		moved := 0
		for id, ids := range owned {
			sizes = append(sizes, len(ids))
			for _, partition := range ids {
				if before[partition] != id {
					moved++
				}
			}
		}
		if slices.Sort(sizes); !slices.Equal(sizes, step.want) || moved != step.moved {
			t.Errorf("%s: the members have %v partitions instead of %v, %d moved instead of %d", step.name, sizes, step.want, moved, step.moved)
		}
	}
}

// If the group has removed a member, the member gets a new id. Other members may then own the partitions that it had
// before.
func TestClaimsUnderAnEarlierIDAreIgnored(t *testing.T) {
	stale, err := balancer{func() claims { return claims{Member: "old", Owned: map[string][]int{"t": {0}}} }}.UserData()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := balancer{func() claims { return claims{Member: "b", Owned: map[string][]int{"t": {0}}} }}.UserData()
	if err != nil {
		t.Fatal(err)
	}
	assigned := balancer{}.AssignGroups([]kafka.GroupMember{{ID: "a", Topics: []string{"t"}, UserData: stale}, {ID: "b", Topics: []string{"t"}, UserData: fresh}},
		[]kafka.Partition{{Topic: "t", ID: 0}})
	if !slices.Equal(assigned["b"]["t"], []int{0}) || len(assigned["a"]["t"]) > 0 {
		t.Errorf("assigned %v", assigned)
	}
}
