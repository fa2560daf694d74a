package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

const (
	fetchWait      = time.Second           // the longest time that a broker waits for records; each request costs both sides processor time
	fetchWaitShort = 50 * time.Millisecond // used while the buffer of a partition is full, because it may have room soon
	refetchPause   = 20 * time.Millisecond
	// fetchBytes is the maximum size of a response, unless its first batch is larger. The library needs a page of 64 KiB for each
	// batch of a response. In a backlog of small records, each record can be a batch of a few hundred bytes. With 8 MiB, such a
	// backlog took 13 GB.
	fetchBytes = 128 << 10
)

// locate finds the leaders of the partitions. It starts a fetcher for each leader that has none. It returns when a broker
// has responded. For partitions without a leader it starts search in the background, so that they do not delay the
// others.
func (m *member) locate() {
	locating := failurelog.Cause{Message: "waiting for partition leaders", Of: m.subscription.Group}
	if !m.client.retry(m.intake, func() error { _, err := m.setLeaders(); return err }, locating) {
		return
	}
	m.startFetchers()
	m.refetch()
	owned := m.owned()
	m.waking.Lock()
	defer m.waking.Unlock()
	if !m.searching && withoutLeader(owned) > 0 {
		m.searching = true
		m.fetchers.Go(func() { m.client.retry(m.intake, m.search, locating) })
	}
}

// search looks for the leaders of partitions without one. If a partition still has none, search returns an error, so
// that retry calls it again. It returns nil if locate has started another search meanwhile.
func (m *member) search() error {
	changed, err := m.setLeaders()
	if err != nil {
		return err
	}
	if changed {
		m.startFetchers()
		m.refetch()
	}
	m.waking.Lock()
	m.searching = false // a call of locate after the next line starts another search
	m.waking.Unlock()
	missing := withoutLeader(m.owned())
	m.waking.Lock()
	defer m.waking.Unlock()
	if missing == 0 || m.searching {
		return nil
	}
	m.searching = true
	return fmt.Errorf("%d partitions have no leader", missing)
}

func withoutLeader(partitions []*partition) (n int) {
	for _, p := range partitions {
		if p.leader.Load() < 0 {
			n++
		}
	}
	return n
}

// setLeaders sets the leader of each partition. changed reports whether a partition has another leader than before. The
// library returns a Broker without a host for a partition without a leader.
func (m *member) setLeaders() (changed bool, err error) {
	ctx, cancel := context.WithTimeout(m.intake, requestTimeout)
	defer cancel()
	response, err := m.client.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: m.subscription.Topics})
	if err != nil {
		return false, err
	}
	leaders := make(map[place]int64)
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			if each.Leader.Host != "" {
				leaders[place{topic.Name, each.ID}] = int64(each.Leader.ID)
			}
		}
	}
	for _, p := range m.owned() {
		leader, has := leaders[place{p.topic, p.id}]
		if !has {
			leader = -1
		}
		changed = p.leader.Swap(leader) != leader || changed
	}
	return changed, nil
}

func (m *member) startFetchers() {
	owned := m.owned()
	m.waking.Lock()
	defer m.waking.Unlock()
	for _, p := range owned {
		if leader := p.leader.Load(); leader >= 0 && m.wakeups[leader] == nil {
			wakeup := make(chan struct{}, 1)
			m.wakeups[leader] = wakeup
			m.fetchers.Go(func() { m.fetchFrom(leader, wakeup) })
		}
	}
}

// wake wakes the fetchers, because a buffer has room again.
func (m *member) wake() {
	m.waking.Lock()
	defer m.waking.Unlock()
	for _, wakeup := range m.wakeups {
		select {
		case wakeup <- struct{}{}:
		default:
		}
	}
}

// refetch ends the current requests and waits of the fetchers after refetchPause. It is called when a partition is new
// or has another leader. Otherwise the records of this partition would wait for up to fetchWait. Calls within
// refetchPause end the requests once, because the library also decodes a response for which nobody waits any more.
func (m *member) refetch() {
	m.waking.Lock()
	defer m.waking.Unlock()
	if m.refetching {
		return
	}
	m.refetching = true
	time.AfterFunc(refetchPause, func() {
		m.waking.Lock()
		defer m.waking.Unlock()
		m.refetching = false
		for _, interrupt := range m.interrupts {
			interrupt()
		}
	})
}

// request returns a context for the next request of the leader's fetcher. The fetcher must call request before it looks
// for partitions with room, and end after the request.
func (m *member) request(leader int64) (ctx context.Context, end func()) {
	ctx, end = context.WithCancel(m.intake)
	m.waking.Lock()
	defer m.waking.Unlock()
	m.interrupts[leader] = end
	return ctx, end
}

// wanted is a partition in a fetch request, with the offset to fetch from.
type wanted struct {
	partition *partition
	offset    int64
}

// fetchFrom fetches records from one leader into the buffers of its partitions until the consumer stops.
func (m *member) fetchFrom(leader int64, wakeup <-chan struct{}) {
	pause, cause := reconnecting(), failurelog.Cause{Message: "a fetch failed and is retried", Of: m.subscription.Group}
	for turn := 0; m.intake.Err() == nil; turn++ {
		ctx, end := m.request(leader)
		wants, full := m.wants(leader, turn)
		if len(wants) == 0 {
			select {
			case <-ctx.Done():
			case <-wakeup:
			}
			end()
			continue
		}
		wait := m.client.fetchWait
		if full {
			wait = fetchWaitShort
		}
		err := m.fetch(ctx, wants, wait)
		interrupted := ctx.Err() != nil
		end()
		if err == nil {
			pause.next = 0
			m.client.outages.Over(m.intake, cause)
		} else if !interrupted {
			m.client.outages.Failed(m.intake, cause, err)
			if pause.wait(m.intake) {
				m.locate()
			}
		}
	}
}

// wants returns the leader's partitions whose buffers have room, with their next offsets. full reports whether the list
// omits a partition of the leader. The list begins with a different partition for each turn: a response is cut off at
// fetchBytes, so the last partitions may get nothing.
func (m *member) wants(leader int64, turn int) (wants []wanted, full bool) {
	owned := m.owned()
	for i := range owned {
		p := owned[(i+turn)%len(owned)]
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

// fetch sends one request for all wanted partitions. It returns an error if a partition got no usable response.
func (m *member) fetch(ctx context.Context, wants []wanted, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait+requestTimeout)
	defer cancel()
	message, err := m.client.transport.RoundTrip(ctx, m.client.kafka.Addr, fetchRequest(wants, wait, m.share.Load()))
	if err != nil {
		return err
	}
	response := message.(*fetch.Response)
	if response.ErrorCode != 0 {
		return kafka.Error(response.ErrorCode)
	}
	var failure error
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			i := slices.IndexFunc(wants, func(w wanted) bool { return w.partition.topic == topic.Topic && w.partition.id == int(each.Partition) })
			if i < 0 {
				continue
			}
			if err := m.receive(wants[i], &each); err != nil {
				failure = fmt.Errorf("partition %d of %s: %w", each.Partition, topic.Topic, err)
			}
		}
	}
	return failure
}

func fetchRequest(wants []wanted, wait time.Duration, bytes int64) *fetch.Request {
	request := &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(wait.Milliseconds()), MinBytes: 1, MaxBytes: fetchBytes,
		SessionEpoch: -1, // no incremental fetch session
	}
	for _, each := range wants {
		i := slices.IndexFunc(request.Topics, func(t fetch.RequestTopic) bool { return t.Topic == each.partition.topic })
		if i < 0 {
			i = len(request.Topics)
			request.Topics = append(request.Topics, fetch.RequestTopic{Topic: each.partition.topic})
		}
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, fetch.RequestPartition{
			Partition: int32(each.partition.id), CurrentLeaderEpoch: -1,
			FetchOffset: each.offset, LogStartOffset: -1, PartitionMaxBytes: int32(bytes),
		})
	}
	return request
}

func (m *member) receive(each wanted, response *fetch.ResponsePartition) error {
	p := each.partition
	switch code := kafka.Error(response.ErrorCode); code {
	case 0:
	default:
		return code
	case kafka.OffsetOutOfRange:
		// The next record has expired, or the end of the log was lost.
		if err := m.startAtFirst(p); err != nil {
			return err
		}
		m.client.log.WarnContext(m.intake, "the log does not contain the next record, continuing at the first record",
			"group", m.subscription.Group, "topic", p.topic, "partition", p.id, "wanted", each.offset)
		return nil
	}
	records, err := readRecords(each, response.RecordSet.Records)
	p.push(each.offset, records)
	p.report(response.HighWatermark)
	return err
}

// readRecords copies the records from the wanted offset on. A broker sends whole batches, which may begin before this
// offset.
func readRecords(each wanted, reader protocol.RecordReader) ([]Record, error) {
	if reader == nil {
		return nil, nil
	}
	var records []Record
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
		if record.offset >= each.offset {
			records = append(records, record)
		}
	}
}

func copyRecord(topic string, found *protocol.Record) (Record, error) {
	key, keyErr := readBytes(found.Key)
	value, valueErr := readBytes(found.Value)
	record := Record{Topic: topic, Key: string(key), Value: value, offset: found.Offset}
	if len(found.Headers) > 0 {
		record.Headers = make(map[string]string, len(found.Headers))
		for _, header := range found.Headers {
			record.Headers[header.Key] = string(header.Value)
		}
	}
	return record, errors.Join(keyErr, valueErr)
}

// readBytes copies bytes, because the library reuses their memory.
func readBytes(bytes protocol.Bytes) ([]byte, error) {
	if bytes == nil {
		return nil, nil
	}
	defer bytes.Close()
	return protocol.ReadAll(bytes)
}

func (m *member) startAtFirst(p *partition) error {
	ctx, cancel := context.WithTimeout(p.intake, requestTimeout)
	defer cancel()
	response, err := m.client.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{p.topic: {kafka.FirstOffsetOf(p.id)}},
	})
	if err != nil {
		return err
	}
	partitions := response.Topics[p.topic]
	if len(partitions) != 1 {
		return kafka.UnknownTopicOrPartition
	}
	if partitions[0].Error == nil {
		p.reset(partitions[0].FirstOffset)
	}
	return partitions[0].Error
}
