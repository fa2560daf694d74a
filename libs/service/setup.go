package service

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/version"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// stateTimeout bounds the time of the checks of state.
const stateTimeout = 2 * time.Second

// engineOf returns the database engine that a database URL names.
func engineOf(url string) string {
	engine, _, _ := strings.Cut(url, ":")
	return engine
}

// state returns the state of the service. It checks Kafka and the database at the same time.
func (s *Service) state(ctx context.Context) web.ServiceState {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state := web.ServiceState{Version: version.Number(), Database: web.DatabaseState{Engine: s.engine}}
	var checks sync.WaitGroup
	checks.Go(func() { state.Kafka.Reachable = s.Kafka.Ping(ctx) == nil })
	checks.Go(func() {
		waiting, err := s.Database.Waiting(ctx)
		if err != nil {
			s.process.Log.WarnContext(ctx, "the outbox cannot be read", "error", err)
			return
		}
		state.Database.Reachable = true
		state.Outbox = &web.OutboxState{Messages: waiting.Messages, More: waiting.Messages == document.MostWaiting}
		if !waiting.Oldest.IsZero() {
			state.Outbox.OldestAt = topic.TimeOf(&waiting.Oldest)
		}
	})
	if s.process.LastBackup != nil {
		at, err := s.process.LastBackup()
		if err != nil {
			s.process.Log.WarnContext(ctx, "the time of the last backup cannot be read", "error", err)
		} else {
			state.LastBackupAt = topic.TimeOf(at)
		}
	}
	checks.Wait()
	return state
}
