package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	// A member that is killed is missed after sessionTimeout, and its partitions move
	// then. It leaves rebalanceGrace and some: between the heartbeat that tells of a
	// rebalance and joining again there are no heartbeats. Brokers refuse less than
	// their group.min.session.timeout.ms; as delivered that is acceptedTimeout.
	sessionTimeout  = 4 * time.Second
	acceptedTimeout = 6 * time.Second
	// Heartbeats also bring the news that the group rebalances. They have a goroutine
	// of their own, so that no handler holds them up; seven may fail to come.
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 15 * time.Second
	partitionsWatch   = 10 * time.Second

	// StopTimeout bounds how long a consumer waits for unfinished work once its
	// context has ended.
	StopTimeout  = 15 * time.Second
	leaveTimeout = 5 * time.Second

	defaultPending = 1000
)

// Subscription names what one member of a consumer group reads.
type Subscription struct {
	Group      string
	Topics     []string
	MaxPending int // unfinished claims of this member, or records of one batch; 0 is 1000
	// Assigned, if set, is told the partitions this member owns, once per topic and
	// before the first record of an assignment is handed out; with none when it owns
	// none. ctx ends with the assignment. It returns soon: nothing is read meanwhile.
	Assigned func(ctx context.Context, topic string, partitions []int)
}

func (s *Subscription) check() error {
	if s.Group == "" || len(s.Topics) == 0 {
		return errors.New("a subscription needs a group and a topic")
	}
	if s.MaxPending < 0 {
		return errors.New("a subscription's MaxPending is negative")
	}
	if s.MaxPending == 0 {
		s.MaxPending = defaultPending
	}
	return nil
}

// subscribe is a member of the group until ctx ends: one assignment after the
// other, work being what each partition's goroutine does.
func (c *Client) subscribe(ctx context.Context, subscription Subscription, work func(*assignment, *lane)) error {
	if err := subscription.check(); err != nil {
		return err
	}
	if !c.awaitTopics(ctx, subscription.Group, subscription.Topics) {
		return nil
	}
	session := sessionTimeout
	group, err := kafka.NewConsumerGroup(c.groupConfig(subscription, session))
	if err != nil {
		return err
	}
	defer func() { c.leave(subscription.Group, group) }()
	pace := reconnecting()
	for {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafka.RebalanceInProgress):
			c.log.DebugContext(ctx, "the consumer group rebalances again", "group", subscription.Group)
			continue
		case errors.Is(err, kafka.InvalidSessionTimeout) && session != acceptedTimeout:
			c.log.WarnContext(ctx, "the brokers' group.min.session.timeout.ms is more than this asks for: a killed member will be missed later",
				"group", subscription.Group, "asked", session, "instead", acceptedTimeout)
			session = acceptedTimeout
			longer, err := kafka.NewConsumerGroup(c.groupConfig(subscription, session))
			if err != nil {
				return err
			}
			c.leave(subscription.Group, group)
			group = longer
			continue
		case err != nil:
			c.log.WarnContext(ctx, "waiting to join the consumer group",
				"group", subscription.Group, "brokers", c.brokers, "error", err)
			if !pace.wait(ctx) {
				return nil
			}
			continue
		}
		pace.reset()
		c.own(ctx, generation, subscription, work)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// own runs one assignment to its end. When that is the stop, the generation lives
// on until the group is left, lest the library joins once more in between.
func (c *Client) own(stop context.Context, generation *kafka.Generation, subscription Subscription, work func(*assignment, *lane)) {
	ended := make(chan struct{})
	generation.Start(func(lost context.Context) {
		newAssignment(c, generation, subscription).serve(stop, lost, work)
		close(ended)
		if stop.Err() != nil {
			<-lost.Done()
		}
	})
	<-ended
}

// leave ends the membership. The library cannot be interrupted while it waits for
// other members in a rebalance, so this waits only so long; the library leaves by
// itself afterwards.
func (c *Client) leave(name string, group *kafka.ConsumerGroup) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = group.Close() // never fails
	}()
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
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
		JoinGroupBackoff:       100 * time.Millisecond, // own backoff comes on top
		WatchPartitionChanges:  true,
		PartitionWatchInterval: partitionsWatch,
		Timeout:                requestTimeout,
		ErrorLogger:            debug,
	}
}
