package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/bellbuoy/bellbuoy/libs/outage"
)

const (
	// After sessionTimeout without heartbeats the group gives the partitions of a killed member
	// to others. It is longer than rebalanceGrace, because a member sends no heartbeats
	// between the notice of a rebalance and its next join. Brokers refuse a session timeout
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
	// Assigned, if set, is called with the partitions that this member owns, once per topic and
	// before the first record of an assignment is handed out. The list is empty if it owns
	// none. ctx ends with the assignment. Assigned must return soon, because nothing is read
	// in the meantime. held returns false once the process stood still for so long that another member may have got the
	// partitions. A result of an earlier time must then not be stored.
	Assigned func(ctx context.Context, topic string, partitions []int, held func() bool)
}

// subscribe is a member of the group until ctx ends. It runs one assignment after the
// other, with work in one goroutine per partition.
func (c *Client) subscribe(ctx context.Context, subscription Subscription, work func(*assignment, *partition)) error {
	if subscription.Group == "" || len(subscription.Topics) == 0 {
		return errors.New("A subscription must have a group and a topic.")
	}
	subscription.MaxPending = cmp.Or(subscription.MaxPending, defaultPending)
	if !c.retry(ctx, func() error { return c.findTopics(ctx, subscription.Topics) },
		outage.Cause{Message: "waiting for topics", Of: subscription.Group}, "brokers", c.brokers) {
		return nil
	}
	session := sessionTimeout
	group, err := kafka.NewConsumerGroup(c.groupConfig(subscription, session))
	if err != nil {
		return err
	}
	defer func() { c.leave(subscription.Group, group) }()
	var pulse pulse
	beats, endBeats := context.WithCancel(context.WithoutCancel(ctx)) // results are stored after ctx has ended, too
	defer endBeats()
	go pulse.run(beats)
	pause, joining := reconnecting(), outage.Cause{Message: "waiting to join the consumer group", Of: subscription.Group}
	for {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafka.RebalanceInProgress):
			c.log.DebugContext(ctx, "the consumer group rebalances again", "group", subscription.Group)
			continue
		case errors.Is(err, kafka.InvalidSessionTimeout) && session != acceptedTimeout:
			c.log.WarnContext(ctx, "the brokers' group.min.session.timeout.ms is longer than requested: a killed member will be noticed later",
				"group", subscription.Group, "requested", session, "instead", acceptedTimeout)
			session = acceptedTimeout
			longer, err := kafka.NewConsumerGroup(c.groupConfig(subscription, session))
			if err != nil {
				return err
			}
			c.leave(subscription.Group, group)
			group = longer
			continue
		case err != nil:
			c.outages.Failed(ctx, joining, err, "brokers", c.brokers)
			if !pause.wait(ctx) {
				return nil
			}
			continue
		}
		pause.next = 0
		c.outages.Over(ctx, joining)
		c.own(ctx, generation, subscription, &pulse, work)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// own runs one assignment until it ends. At a stop it keeps the generation until the group
// is left. The library would otherwise join the group again before leaving it.
func (c *Client) own(stop context.Context, generation *kafka.Generation, subscription Subscription, pulse *pulse, work func(*assignment, *partition)) {
	ended := make(chan struct{})
	generation.Start(func(lost context.Context) {
		newAssignment(c, generation, subscription, pulse).serve(stop, lost, work)
		close(ended)
		if stop.Err() != nil {
			<-lost.Done()
		}
	})
	<-ended
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

func (c *Client) groupConfig(subscription Subscription, session time.Duration) kafka.ConsumerGroupConfig {
	debug := kafka.LoggerFunc(func(format string, args ...any) {
		c.log.Debug("consumer group", "group", subscription.Group, "detail", fmt.Sprintf(format, args...))
	})
	return kafka.ConsumerGroupConfig{
		ID:                     subscription.Group,
		Brokers:                c.brokers,
		Dialer:                 &kafka.Dialer{ClientID: c.id, Timeout: dialTimeout, DualStack: true},
		Topics:                 subscription.Topics,
		GroupBalancers:         []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
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
