package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

const (
	fetchWait      = 250 * time.Millisecond // a broker's long poll
	fetchWaitShort = 50 * time.Millisecond  // while some lanes are full and may want more soon
	fetchBytes     = 8 << 20
	partitionBytes = 1 << 20
)

// locate asks who leads the lanes' partitions and sees to it that each leader has a
// fetcher.
func (a *assignment) locate() {
	pace := reconnecting()
	for a.intake.Err() == nil {
		leaders, err := a.leaders()
		if err == nil {
			for _, lane := range a.lanes {
				lane.move(leaders[lane.topic][lane.partition])
			}
			a.startFetchers()
			a.room.ring()
			return
		}
		a.client.log.WarnContext(a.intake, "waiting for partition leaders", "group", a.subscription.Group, "error", err)
		if !pace.wait(a.intake) {
			return
		}
	}
}

func (a *assignment) leaders() (map[string]map[int]int, error) {
	ctx, cancel := context.WithTimeout(a.intake, requestTimeout)
	defer cancel()
	answer, err := a.client.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: a.subscription.Topics})
	if err != nil {
		return nil, err
	}
	leaders := make(map[string]map[int]int)
	for _, topic := range answer.Topics {
		leaders[topic.Name] = make(map[int]int)
		for _, partition := range topic.Partitions {
			leaders[topic.Name][partition.ID] = partition.Leader.ID
		}
	}
	for _, lane := range a.lanes {
		if _, known := leaders[lane.topic][lane.partition]; !known {
			return nil, fmt.Errorf("partition %d of %s has no leader", lane.partition, lane.topic)
		}
	}
	return leaders, nil
}

func (a *assignment) startFetchers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, lane := range a.lanes {
		if leader := lane.at(); !a.fetching[leader] {
			a.fetching[leader] = true
			a.fetchers.Go(func() { a.fetchFrom(leader) })
		}
	}
}

// ask is what one fetch asks for: lanes and the offsets they want.
type ask struct {
	lane   *lane
	offset int64
}

// fetchFrom fills the lanes of one leader while the assignment lasts.
func (a *assignment) fetchFrom(leader int) {
	pace := reconnecting()
	for turn := 0; a.intake.Err() == nil; turn++ {
		room := a.room.heard()
		asks, full := a.asks(leader, turn)
		if len(asks) == 0 {
			select {
			case <-a.intake.Done():
			case <-room:
			}
			continue
		}
		wait := fetchWait
		if full {
			wait = fetchWaitShort
		}
		err := a.fetch(asks, wait)
		if err == nil {
			pace.reset()
			continue
		}
		if a.intake.Err() != nil {
			return
		}
		a.client.log.WarnContext(a.intake, "fetching failed, trying again", "group", a.subscription.Group, "error", err)
		if pace.wait(a.intake) {
			a.locate()
		}
	}
}

// asks lists what the leader's lanes want, beginning with another one each turn,
// because an answer is cut off when it is large enough.
func (a *assignment) asks(leader, turn int) (asks []ask, full bool) {
	for i := range a.lanes {
		lane := a.lanes[(i+turn)%len(a.lanes)]
		if lane.at() != leader {
			continue
		}
		if offset, wants := lane.wants(); wants {
			asks = append(asks, ask{lane: lane, offset: offset})
		} else {
			full = true
		}
	}
	return asks, full
}

// fetch is one round trip for all asks. Its error says that some of them got no
// answer they can use.
func (a *assignment) fetch(asks []ask, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(a.intake, wait+requestTimeout)
	defer cancel()
	answer, err := a.client.transport.RoundTrip(ctx, a.client.kafka.Addr, fetchRequest(asks, wait))
	if err != nil {
		return err
	}
	response := answer.(*fetch.Response)
	if response.ErrorCode != 0 {
		return kafka.Error(response.ErrorCode)
	}
	byName := make(map[string]ask, len(asks))
	for _, each := range asks {
		byName[partitionName(each.lane.topic, each.lane.partition)] = each
	}
	var failure error
	for i := range response.Topics {
		topic := &response.Topics[i]
		for j := range topic.Partitions {
			each, asked := byName[partitionName(topic.Topic, int(topic.Partitions[j].Partition))]
			if !asked {
				continue
			}
			if err := a.receive(each, &topic.Partitions[j]); err != nil {
				failure = fmt.Errorf("partition %d of %s: %w", each.lane.partition, each.lane.topic, err)
			}
		}
	}
	return failure
}

func partitionName(topic string, partition int) string { return topic + "/" + strconv.Itoa(partition) }

func fetchRequest(asks []ask, wait time.Duration) *fetch.Request {
	request := &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(wait.Milliseconds()), MinBytes: 1, MaxBytes: fetchBytes,
		SessionEpoch: -1, // no incremental session
	}
	topics := make(map[string]int)
	for _, each := range asks {
		i, seen := topics[each.lane.topic]
		if !seen {
			i = len(request.Topics)
			topics[each.lane.topic] = i
			request.Topics = append(request.Topics, fetch.RequestTopic{Topic: each.lane.topic})
		}
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, fetch.RequestPartition{
			Partition: int32(each.lane.partition), CurrentLeaderEpoch: -1,
			FetchOffset: each.offset, LogStartOffset: -1, PartitionMaxBytes: partitionBytes,
		})
	}
	return request
}

// receive hands one partition's answer to its lane.
func (a *assignment) receive(each ask, answer *fetch.ResponsePartition) error {
	if answer.ErrorCode != 0 {
		err := kafka.Error(answer.ErrorCode)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			return a.startOver(each)
		}
		return err
	}
	records, err := readRecords(each, answer.RecordSet.Records)
	each.lane.push(each.offset, records)
	if committed := each.lane.known(); committed >= 0 {
		a.client.metrics.lag.WithLabelValues(a.subscription.Group, each.lane.topic, strconv.Itoa(each.lane.partition)).
			Set(float64(answer.HighWatermark - committed))
	}
	return err
}

// readRecords copies what is at or behind the asked offset; a broker answers with
// whole batches, which may begin before it.
func readRecords(each ask, reader protocol.RecordReader) ([]fetched, error) {
	if reader == nil {
		return nil, nil
	}
	var records []fetched
	for {
		found, err := reader.ReadRecord()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		record, err := copyRecord(each.lane.topic, found)
		if err != nil {
			return records, err
		}
		if found.Offset >= each.offset {
			records = append(records, fetched{record: record, offset: found.Offset})
		}
	}
}

func copyRecord(topic string, found *protocol.Record) (Record, error) {
	record := Record{Topic: topic}
	key, err := readBytes(found.Key)
	if err != nil {
		return record, err
	}
	if record.Value, err = readBytes(found.Value); err != nil {
		return record, err
	}
	record.Key = string(key)
	if len(found.Headers) > 0 {
		record.Headers = make(map[string]string, len(found.Headers))
		for _, header := range found.Headers {
			record.Headers[header.Key] = string(header.Value)
		}
	}
	return record, nil
}

// readBytes copies from the library's reused memory and gives it back.
func readBytes(bytes protocol.Bytes) ([]byte, error) {
	if bytes == nil {
		return nil, nil
	}
	defer bytes.Close()
	return protocol.ReadAll(bytes)
}

// startOver goes on at the partition's first record, because the log does not hold
// the one that is next: it expired, or the log lost its end.
func (a *assignment) startOver(each ask) error {
	first, err := a.firstOffset(each.lane)
	if err != nil {
		return err
	}
	a.client.log.WarnContext(a.intake, "the next record is not in the log, starting at the first one",
		"group", a.subscription.Group, "topic", each.lane.topic, "partition", each.lane.partition,
		"wanted", each.offset, "first", first)
	each.lane.reset(first)
	return nil
}

func (a *assignment) firstOffset(lane *lane) (int64, error) {
	ctx, cancel := context.WithTimeout(a.intake, requestTimeout)
	defer cancel()
	answer, err := a.client.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{lane.topic: {kafka.FirstOffsetOf(lane.partition)}},
	})
	if err != nil {
		return 0, err
	}
	for _, partition := range answer.Topics[lane.topic] {
		if partition.Partition == lane.partition {
			return partition.FirstOffset, partition.Error
		}
	}
	return 0, kafka.UnknownTopicOrPartition
}
