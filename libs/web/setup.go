package web

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// ServiceState says whether a service and its engines work. It contains no address, no name of an organization and no
// secret, because an installation may have several organizations.
type ServiceState struct {
	Version  string        `json:"version" description:"Of the program."`
	Database DatabaseState `json:"database"`
	Kafka    EngineState   `json:"kafka"`
	Outbox   *OutboxState  `json:"outbox" description:"Null if the database cannot be reached."`
	// LastBackupAt is the time of the last backup by the command backup.
	LastBackupAt *Time `json:"lastBackupAt" description:"When the command backup last wrote a backup; null if none is on record. It does not record backups by other tools, such as those of MongoDB."`
}

// EngineState says whether the service can reach an engine.
type EngineState struct {
	Reachable bool `json:"reachable"`
}

// DatabaseState is the EngineState of a database.
type DatabaseState struct {
	EngineState
	Engine string `json:"engine" enum:"sqlite,mongodb"`
}

// OutboxState describes the messages that are stored and wait for Kafka.
type OutboxState struct {
	Messages int   `json:"messages" description:"Up to 10,000."`
	More     bool  `json:"more" description:"There may be more messages."`
	OldestAt *Time `json:"oldestAt" description:"When the oldest was written; null if none waits."`
}

type setupView struct {
	Service ServiceState `json:"service"`
}

// SetupOperation declares the operation that returns the state of a service. Every service with a database mounts the operation.
func SetupOperation(service string, state func(context.Context) ServiceState) Operation {
	return Declare(Operation{
		Method: "GET", Path: "/app/setup/" + service, ID: service + "Setup", Tag: "setup",
		Summary:     "Show whether the service " + service + " works",
		Description: "The state of the process that responds, and of the engines as this process sees them. Several processes may run; each may respond.",
		Roles:       []string{passport.RoleAdmin}, Status: 200,
		Example: Example{Response: `{"service": {"version": "v1.2.3", "database": {"reachable": true, "engine": "sqlite"}, "kafka": {"reachable": true},
			"outbox": {"messages": 2, "more": false, "oldestAt": "2026-01-31T09:30:00.000Z"}, "lastBackupAt": null}}`},
	}, func(c *Call[None, None]) (setupView, error) { return setupView{state(c)}, nil })
}
