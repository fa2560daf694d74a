package stream

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// A fetch whose response arrives after the partition was given back leaves no lag metric of the partition.
func TestMember_givesBackWithoutLag(t *testing.T) {
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

// Members join, leave, die and give back in turn. Each step is one assignment of a leader. No partition is ever assigned
// to a member while another owns it, members keep what they may, and in the end the shares are equal.
func TestBalancer_oneOwnerAtATime(t *testing.T) {
	const partitions = 48
	var topic []kafka.Partition
	for id := range partitions {
		topic = append(topic, kafka.Partition{Topic: "t", ID: id})
	}
	owned := map[string][]int{} // by member
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
		for id := range owned { // all give back at once what they lost
			owned[id] = assigned[id]["t"]
		}
	}
	steps := []struct {
		name   string
		change func()
		moved  int // partitions that change their owner
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

// The group gives a member that it has missed a new id. The partitions that the member got before may belong to others.
func TestBalancer_claimsOfAnEarlierID(t *testing.T) {
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
