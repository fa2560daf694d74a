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
	// If a member sends no heartbeats for sessionTimeout, the group assigns its partitions to other members. During a
	// rebalance a member sends no heartbeats until it has joined again, which it does at once. A broker rejects a
	// session timeout below its setting group.min.session.timeout.ms, whose default is acceptedTimeout.
	sessionTimeout  = 4 * time.Second
	acceptedTimeout = 6 * time.Second
	// The response to a heartbeat contains the notice of a rebalance. Heartbeats have their own goroutine, so no
	// handler delays them. Seven may be lost in a row.
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 15 * time.Second
	partitionsWatch   = 10 * time.Second

	// StopTimeout is the longest time that a consumer waits for unfinished work, after its context has ended or after
	// the group has taken a partition away.
	StopTimeout  = 15 * time.Second
	leaveTimeout = 5 * time.Second

	defaultPending = 1000
)

// Subscription describes one member of a consumer group.
type Subscription struct {
	Group      string
	Topics     []string
	MaxPending int // most unfinished claims of this member, or most records of one batch; 0 means 1000
	// Assigned, if set, is called for each partition that this member gets, before the first record of the partition is
	// handed out. It must return soon, because it blocks the member.
	Assigned func(owned Ownership)
}

// Ownership is a partition of this member, from its assignment until it is given back.
type Ownership struct {
	Topic     string
	Partition int
	Open      context.Context // ends when no new work on the partition may begin
	Owned     context.Context // ends when the partition is given back, at most StopTimeout after the end of Open
	// Held returns false when another member may own the partition: this member has given it back, or the process was
	// suspended for too long. A result that was computed before must then not be stored.
	Held func() bool
	// Hold delays the return of the partition until release is called, like an unfinished claim does: at most until
	// StopTimeout after the end of Open. It returns nil if Open has ended.
	Hold func() (release func())
}

// subscribe joins the group as a member, and leaves the group after ctx has ended. It calls handle for each partition,
// in a goroutine of its own.
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
	checks, endChecks := context.WithCancel(context.WithoutCancel(ctx)) // the checks for stalls go on after ctx has ended, because results are still stored then
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

// leave leaves the group. The library cannot be interrupted while it waits for other members in a rebalance. So leave
// waits at most leaveTimeout, and the library may leave the group later.
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
		JoinGroupBackoff:       100 * time.Millisecond, // subscribe also pauses
		WatchPartitionChanges:  true,
		PartitionWatchInterval: partitionsWatch,
		Timeout:                requestTimeout,
		ErrorLogger:            debug,
	}
}
