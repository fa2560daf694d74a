// Package service opens the parts that every service has: a database, a Kafka client, a passport signer and an HTTP
// engine. The Run of a service opens these parts, adds the parts that only this service has, and ends with Serve. This package is
// separate from boot, because the gateway uses boot but must not link a database or Kafka.
package service

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/gin-gonic/gin"
)

// partitions is the number of partitions of the topics that Topics returns.
const partitions = 12

// Service contains the open parts of a service.
type Service struct {
	Database *document.Database
	Kafka    *stream.Client
	Engine   *gin.Engine // responds with an error to each request without a passport for this service

	name    string
	engine  string // database engine that the URL of the database names
	process boot.Process
	signer  *passport.Signer
	secret  func(context.Context) error // returns an error if the records are sealed with another secret
}

// Open opens the parts of the service with this name. It contacts neither the database nor Kafka yet. The caller
// closes the Service.
func Open(name string, process boot.Process, documents boot.Documents, kafka boot.Kafka, secret boot.Secret) (*Service, error) {
	database, err := document.Open(documents.DocumentsURL, name, document.Options{
		Log: process.Log, Tracer: process.Tracer, Propagator: process.Propagator, Metrics: process.Metrics,
	})
	if err != nil {
		return nil, err
	}
	s := &Service{Database: database, name: name, engine: engineOf(documents.DocumentsURL), process: process, signer: passport.NewSigner(secret.Secret, process.Now), secret: sealedWith(database, secret.Secret)}
	s.Kafka = stream.Connect(stream.Options{
		Brokers: kafka.KafkaBrokers, ClientID: name, Log: process.Log,
		Tracer: process.Tracer, Registerer: process.Metrics,
	})
	s.Engine = web.NewEngine(name, process, s.signer)
	return s, web.Mount(s.Engine, []web.Operation{web.SetupOperation(name, s.state)})
}

// Close closes the Kafka client and the database. It only logs an error, because the service has already stopped.
func (s *Service) Close() {
	if err := errors.Join(s.Kafka.Close(), s.Database.Close()); err != nil {
		s.process.Log.Warn("the service was not closed cleanly", "error", err)
	}
}

// Peer returns a client for the service with this name at url. The calls of the client name s as the caller.
func (s *Service) Peer(name, url string) *peer.Client {
	return peer.NewClient(name, url, peer.Options{
		Caller: s.name, Signer: s.signer, Tracer: s.process.Tracer, Propagator: s.process.Propagator,
	})
}

// Consume returns a function for Work.Consumers. The function joins the consumer group and passes the records of the topic
// to handle, in batches.
func (s *Service) Consume(group, topic string, handle func(context.Context, []stream.Record) error) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.Kafka.ConsumeBatches(ctx, stream.Subscription{Group: group, Topics: []string{topic}}, handle)
	}
}

// Messages does what Consume does for the topic name, but passes decoded messages to handle. It logs and skips a record that
// it cannot decode.
func Messages[T any](s *Service, group, name string, handle func(context.Context, []T) error) func(context.Context) error {
	return s.Consume(group, name, func(ctx context.Context, batch []stream.Record) error {
		return handle(ctx, stream.Read[T](ctx, s.process.Log, batch))
	})
}

// DeletedComponents returns a function for Work.Consumers that calls remove for each deleted component.
func (s *Service) DeletedComponents(remove func(ctx context.Context, organization, component string) error) func(context.Context) error {
	return Messages(s, s.name+"-components", topic.ComponentChanges, func(ctx context.Context, batch []topic.ComponentDeleted) error {
		for _, deleted := range batch {
			if err := remove(ctx, deleted.Organization, deleted.ComponentID); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeletedDashboards returns a function for Work.Consumers that calls remove for each deleted dashboard.
func (s *Service) DeletedDashboards(remove func(ctx context.Context, organization, dashboard string) error) func(context.Context) error {
	return Messages(s, s.name+"-dashboards", topic.DashboardChanges, func(ctx context.Context, batch []topic.DashboardDeleted) error {
		for _, deleted := range batch {
			if err := remove(ctx, deleted.Organization, deleted.DashboardID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Every returns a function for Work.Background that calls do at once and at each interval until ctx ends. If do returns an error,
// the function logs the error with the text failed.
func (s *Service) Every(interval time.Duration, failed string, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				s.process.Log.WarnContext(ctx, failed, "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	}
}

// Relay publishes the messages in the outboxes of the database until ctx ends. It is a function for Work.Background.
func (s *Service) Relay(ctx context.Context) error {
	return s.Database.Relay(ctx, func(ctx context.Context, records []stream.Record) error {
		return s.Kafka.Publish(ctx, records...)
	})
}

// Work describes what a service does besides serving requests.
type Work struct {
	// Start runs in order, after the migration of the database and the check of the secret. The service is not ready
	// before the last function has returned.
	Start []func(context.Context) error
	// Background runs after Start until ctx ends.
	Background []func(context.Context) error
	// Topics are the topics that the service reads and writes. Missing topics are created in the background. So a
	// service that starts while Kafka is down serves requests, and its messages wait in the outbox.
	Topics []stream.Topic
	// Consumers run until ctx ends. They begin when the Topics exist.
	Consumers []func(context.Context) error
}

// Topics returns topics of 12 partitions for Work.Topics.
func Topics(names ...string) []stream.Topic {
	topics := make([]stream.Topic, len(names))
	for i, name := range names {
		topics[i] = stream.Topic{Name: name, Partitions: partitions}
	}
	return topics
}

// Serve migrates the database, serves the engine and runs work until ctx ends. The service is ready while its database
// and Kafka respond. Serve returns an error if the records of the database are sealed with another secret.
func (s *Service) Serve(ctx context.Context, work Work) error {
	return s.process.Serve(ctx, boot.Service{
		Handler:    s.Engine,
		Start:      append([]func(context.Context) error{s.Database.Migrate, s.secret}, work.Start...),
		Ready:      map[string]func(context.Context) error{"database": s.Database.Ping, "kafka": s.Kafka.Ping},
		Background: append(work.Background, func(ctx context.Context) error { return s.consume(ctx, work) }),
	})
}

func (s *Service) consume(ctx context.Context, work Work) error {
	if err := s.Kafka.EnsureTopics(ctx, work.Topics...); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return boot.Together(ctx, work.Consumers...)
}
