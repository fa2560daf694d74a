package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

const (
	// After sessionTimeout without heartbeats the group gives the partitions of a killed member
	// to others. A member sends no heartbeats between the notice of a rebalance and its next join, but
	// it joins at once. Brokers refuse a session timeout
	// below their group.min.session.timeout.ms, whose default is acceptedTimeout.
	sessionTimeout  = 4 * time.Second
	acceptedTimeout = 6 * time.Second
	// A heartbeat also returns the notice of a rebalance. Heartbeats have their own goroutine, so
	// no handler delays them. Seven may be lost.
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 15 * time.Second
	partitionsWatch   = 10 * time.Second

	// StopTimeout is the longest time that a consumer waits for unfinished work after its
	// context has ended.
	StopTimeout  = 15 * time.Second
	leaveTimeout = 5 * time.Second

	defaultPending = 1000
)

// Subscription describes one member of a consumer group.
type Subscription struct {
	Group      string
	Topics     []string
	MaxPending int // unfinished claims of this member, or records of one batch; 0 is 1000
	// Assigned, if set, is called with each partition that this member owns, before its first record is handed out. It
	// must return soon, because the member does nothing else meanwhile.
	Assigned func(owned Ownership)
}

// Ownership is a partition of this member, from its assignment until it is given back.
type Ownership struct {
	Topic     string
	Partition int
	Open      context.Context // ends when nothing of the partition may begin any more
	Owned     context.Context // ends when the partition is given back, at most StopTimeout after Open
	// Held returns false once the partition was given back, or the process stood still for so long that another member may
	// have got it. A result of an earlier time must then not be stored.
	Held func() bool
	// Hold delays the end of Owned, as an unfinished claim does, until release is called. It returns nil if Open has ended.
	Hold func() (release func())
}

// subscribe is a member of the group until ctx ends, with handle in one goroutine per partition.
func (c *Client) subscribe(ctx context.Context, subscription Subscription, handle func(*member, *partition)) error {
	if subscription.Group == "" || len(subscription.Topics) == 0 {
		return errors.New("A subscription must have a group and a topic.")
	}
	subscription.MaxPending = cmp.Or(subscription.MaxPending, defaultPending)
	if !c.retry(ctx, func() error { return c.findTopics(ctx, subscription.Topics) },
		failurelog.Cause{Message: "waiting for topics", Of: subscription.Group}, "brokers", c.brokers) {
		return nil
	}
	var stalls stallDetector
	checks, endChecks := context.WithCancel(context.WithoutCancel(ctx)) // results are stored after ctx has ended, too
	defer endChecks()
	go stalls.run(checks)
	m := newMember(ctx, c, subscription, &stalls, handle)
	session := sessionTimeout
	group, err := kafka.NewConsumerGroup(c.groupConfig(m, session))
	if err != nil {
		return err
	}
	defer m.fetchers.Wait()
	defer func() { c.leave(subscription.Group, group) }()
	defer m.close()
	end, finish := context.WithCancel(context.WithoutCancel(ctx))
	defer finish()
	defer context.AfterFunc(ctx, func() {
		m.stop()
		finish()
	})()
	pause, joining := reconnecting(), failurelog.Cause{Message: "waiting to join the consumer group", Of: subscription.Group}
	for {
		generation, err := group.Next(end)
		switch {
		case end.Err() != nil:
			return nil
		case errors.Is(err, kafka.RebalanceInProgress):
			c.log.DebugContext(ctx, "the consumer group rebalances again", "group", subscription.Group)
			continue
		case errors.Is(err, kafka.InvalidSessionTimeout) && session != acceptedTimeout:
			c.log.WarnContext(ctx, "the brokers' group.min.session.timeout.ms is longer than requested: a killed member will be noticed later",
				"group", subscription.Group, "requested", session, "instead", acceptedTimeout)
			session = acceptedTimeout
			longer, err := kafka.NewConsumerGroup(c.groupConfig(m, session))
			if err != nil {
				return err
			}
			c.leave(subscription.Group, group)
			group = longer
			continue
		case err != nil:
			c.outages.Failed(ctx, joining, err, "brokers", c.brokers)
			m.lose()
			if !pause.wait(end) {
				return nil
			}
			continue
		}
		pause.next = 0
		c.outages.Over(ctx, joining)
		m.run(end, generation)
		if end.Err() != nil {
			return nil
		}
	}
}

// leave leaves the group. The library cannot be interrupted while it waits for other
// members in a rebalance. leave therefore returns after leaveTimeout, and the library leaves
// the group later.
func (c *Client) leave(name string, group *kafka.ConsumerGroup) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = group.Close() // always returns nil
	}()
	if !within(leaveTimeout, left) {
		c.log.Warn("leaving the consumer group takes long", "group", name)
	}
}

func (c *Client) groupConfig(m *member, session time.Duration) kafka.ConsumerGroupConfig {
	subscription := m.subscription
	debug := kafka.LoggerFunc(func(format string, args ...any) {
		c.log.Debug("consumer group", "group", subscription.Group, "detail", fmt.Sprintf(format, args...))
	})
	return kafka.ConsumerGroupConfig{
		ID:                     subscription.Group,
		Brokers:                c.brokers,
		Dialer:                 &kafka.Dialer{ClientID: c.id, Timeout: dialTimeout, DualStack: true},
		Topics:                 subscription.Topics,
		GroupBalancers:         []kafka.GroupBalancer{balancer{m.claims}},
		StartOffset:            kafka.FirstOffset,
		SessionTimeout:         session,
		HeartbeatInterval:      heartbeatInterval,
		RebalanceTimeout:       rebalanceTimeout,
		JoinGroupBackoff:       100 * time.Millisecond, // subscribe pauses as well
		WatchPartitionChanges:  true,
		PartitionWatchInterval: partitionsWatch,
		Timeout:                requestTimeout,
		ErrorLogger:            debug,
	}
}
