package delivery_test

import (
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// forgetMembers removes the members of the service's groups, as the broker does when the session of a killed process
// expires. So a test that kills many times does not wait for that each time.
func (w *world) forgetMembers() {
	w.t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(w.broker.Addr())}
	answer, err := client.DescribeGroups(w.t.Context(), &kafka.DescribeGroupsRequest{GroupIDs: []string{"delivery-plan", "delivery-send", "delivery-notices"}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, group := range answer.Groups {
		for _, member := range group.Members {
			_, err := client.LeaveGroup(w.t.Context(), &kafka.LeaveGroupRequest{
				GroupID: group.GroupID, Members: []kafka.LeaveGroupRequestMember{{ID: member.MemberID}}})
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// joined returns the number of members of a stable group, with or without partitions.
func (w *world) joined(group string) int {
	w.t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(w.broker.Addr())}
	answer, err := client.DescribeGroups(w.t.Context(), &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(answer.Groups) != 1 || answer.Groups[0].GroupState != "Stable" {
		return 0
	}
	return len(answer.Groups[0].Members)
}

// settled waits until the service has committed the offsets of all changes and shards.
func (w *world) settled() {
	w.t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(w.broker.Addr())}
	for group, read := range map[string]string{"delivery-plan": topic.EventChanges, "delivery-send": topic.Deliveries} {
		apitest.Eventually(w.t, group+" to commit everything", func() bool { return behind(w.t, client, group, read) == 0 })
	}
}

// behind returns the number of records of the topic that the group has not committed.
func behind(t testing.TB, client *kafka.Client, group, read string) (records int64) {
	t.Helper()
	partitions := 12
	if read == topic.Deliveries {
		partitions = topic.Buckets
	}
	numbers := make([]int, partitions)
	last := make([]kafka.OffsetRequest, partitions)
	for i := range partitions {
		numbers[i], last[i] = i, kafka.LastOffsetOf(i)
	}
	ends, err := client.ListOffsets(t.Context(), &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{read: last}})
	if err != nil {
		t.Fatal(err)
	}
	committed, err := client.OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{read: numbers}})
	if err != nil {
		t.Fatal(err)
	}
	done := map[int]int64{}
	for _, partition := range committed.Topics[read] {
		done[partition.Partition] = max(0, partition.CommittedOffset)
	}
	for _, partition := range ends.Topics[read] {
		records += partition.LastOffset - done[partition.Partition]
	}
	return records
}
