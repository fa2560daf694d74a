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
	fetchWait      = 250 * time.Millisecond // the longest time that a broker waits for records
	fetchWaitShort = 50 * time.Millisecond  // while a buffer is full, which may have room soon
	fetchBytes     = 8 << 20
	partitionBytes = 1 << 20
)

// locate finds the leader of each partition and starts a fetcher for each leader without one.
func (a *assignment) locate() {
	if a.client.retry(a.intake, a.setLeaders, "waiting for partition leaders", "group", a.subscription.Group) {
		a.startFetchers()
		a.room.send()
	}
}

func (a *assignment) setLeaders() error {
	ctx, cancel := context.WithTimeout(a.intake, requestTimeout)
	defer cancel()
	response, err := a.client.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: a.subscription.Topics})
	if err != nil {
		return err
	}
	leaders := make(map[string]int64)
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			leaders[partitionName(topic.Name, each.ID)] = int64(each.Leader.ID)
		}
	}
	for _, p := range a.partitions {
		leader, known := leaders[partitionName(p.topic, p.id)]
		if !known {
			return fmt.Errorf("partition %d of %s has no leader", p.id, p.topic)
		}
		p.leader.Store(leader)
	}
	return nil
}

func (a *assignment) startFetchers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.partitions {
		if leader := p.leader.Load(); !a.fetching[leader] {
			a.fetching[leader] = true
			a.fetchers.Go(func() { a.fetchFrom(leader) })
		}
	}
}

// wanted is a partition of a fetch request and the offset to fetch from.
type wanted struct {
	partition *partition
	offset    int64
}

// fetchFrom fetches from one leader into the buffers of its partitions until the assignment ends.
func (a *assignment) fetchFrom(leader int64) {
	pause := reconnecting()
	for turn := 0; a.intake.Err() == nil; turn++ {
		room := a.room.next()
		wants, full := a.wants(leader, turn)
		if len(wants) == 0 {
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
		err := a.fetch(wants, wait)
		if err == nil {
			pause.reset()
			continue
		}
		if a.intake.Err() != nil {
			return
		}
		a.client.log.WarnContext(a.intake, "a fetch failed and is retried", "group", a.subscription.Group, "error", err)
		if pause.wait(a.intake) {
			a.locate()
		}
	}
}

// wants lists the leader's partitions with room and their offsets, and reports whether another
// buffer is full. Each turn begins with another partition, because the response is cut off at
// fetchBytes.
func (a *assignment) wants(leader int64, turn int) (wants []wanted, full bool) {
	for i := range a.partitions {
		p := a.partitions[(i+turn)%len(a.partitions)]
		if p.leader.Load() != leader {
			continue
		}
		if offset, room := p.wants(); room {
			wants = append(wants, wanted{partition: p, offset: offset})
		} else {
			full = true
		}
	}
	return wants, full
}

// fetch sends one request for all wanted partitions. It returns an error if one of them got
// no usable response.
func (a *assignment) fetch(wants []wanted, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(a.intake, wait+requestTimeout)
	defer cancel()
	message, err := a.client.transport.RoundTrip(ctx, a.client.kafka.Addr, fetchRequest(wants, wait))
	if err != nil {
		return err
	}
	response := message.(*fetch.Response)
	if response.ErrorCode != 0 {
		return kafka.Error(response.ErrorCode)
	}
	byName := make(map[string]wanted, len(wants))
	for _, each := range wants {
		byName[partitionName(each.partition.topic, each.partition.id)] = each
	}
	var failure error
	for i := range response.Topics {
		topic := &response.Topics[i]
		for j := range topic.Partitions {
			each, found := byName[partitionName(topic.Topic, int(topic.Partitions[j].Partition))]
			if !found {
				continue
			}
			if err := a.receive(each, &topic.Partitions[j]); err != nil {
				failure = fmt.Errorf("partition %d of %s: %w", each.partition.id, each.partition.topic, err)
			}
		}
	}
	return failure
}

func partitionName(topic string, id int) string { return topic + "/" + strconv.Itoa(id) }

func fetchRequest(wants []wanted, wait time.Duration) *fetch.Request {
	request := &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(wait.Milliseconds()), MinBytes: 1, MaxBytes: fetchBytes,
		SessionEpoch: -1, // no incremental session
	}
	topics := make(map[string]int)
	for _, each := range wants {
		topic := each.partition.topic
		i, seen := topics[topic]
		if !seen {
			i = len(request.Topics)
			topics[topic] = i
			request.Topics = append(request.Topics, fetch.RequestTopic{Topic: topic})
		}
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, fetch.RequestPartition{
			Partition: int32(each.partition.id), CurrentLeaderEpoch: -1,
			FetchOffset: each.offset, LogStartOffset: -1, PartitionMaxBytes: partitionBytes,
		})
	}
	return request
}

// receive puts the response for one partition into its buffer.
func (a *assignment) receive(each wanted, response *fetch.ResponsePartition) error {
	p := each.partition
	if response.ErrorCode != 0 {
		err := kafka.Error(response.ErrorCode)
		if !errors.Is(err, kafka.OffsetOutOfRange) {
			return err
		}
		// The next record has expired, or the log has lost its end.
		if err := a.startAtFirst(p); err != nil {
			return err
		}
		a.client.log.WarnContext(a.intake, "the log does not contain the next record, continuing at the first record",
			"group", a.subscription.Group, "topic", p.topic, "partition", p.id, "wanted", each.offset)
		return nil
	}
	records, err := readRecords(each, response.RecordSet.Records)
	p.push(each.offset, records)
	if committed := p.lastCommitted(); committed >= 0 {
		a.client.metrics.lag.WithLabelValues(a.subscription.Group, p.topic, strconv.Itoa(p.id)).
			Set(float64(response.HighWatermark - committed))
	}
	return err
}

// readRecords copies the records from the wanted offset on. A broker sends whole batches,
// which may begin before this offset.
func readRecords(each wanted, reader protocol.RecordReader) ([]fetched, error) {
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
		record, err := copyRecord(each.partition.topic, found)
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

// readBytes copies bytes, which use memory that the library reuses.
func readBytes(bytes protocol.Bytes) ([]byte, error) {
	if bytes == nil {
		return nil, nil
	}
	defer bytes.Close()
	return protocol.ReadAll(bytes)
}

// startAtFirst resets p to the first record of its log.
func (a *assignment) startAtFirst(p *partition) error {
	ctx, cancel := context.WithTimeout(a.intake, requestTimeout)
	defer cancel()
	response, err := a.client.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{p.topic: {kafka.FirstOffsetOf(p.id)}},
	})
	if err != nil {
		return err
	}
	for _, each := range response.Topics[p.topic] {
		if each.Partition == p.id && each.Error == nil {
			p.reset(each.FirstOffset)
			return nil
		} else if each.Partition == p.id {
			return each.Error
		}
	}
	return kafka.UnknownTopicOrPartition
}
