package catalog

import (
	"errors"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Command says for which organization, by whom and under which condition a write is made.
type Command struct {
	Organization string
	Author       Author
	Source       Source
	Action       string // action in the audit log; empty: create, update or delete, as the write does
	// IfMatch returns an error if the write is for another version of the record. nil: the write is for any version.
	IfMatch func(version int64) error
}

func (c Command) checkVersion(version int64) error {
	if c.IfMatch == nil {
		return nil
	}
	return c.IfMatch(version)
}

// Author is the person who makes a write. The zero Author is the platform itself.
type Author struct {
	UserID       string `json:"userId" audit:"userId,null"`
	LegacyUserID int64  `json:"legacyUserId"` // 0: the user does not exist on the legacy interface
	Name         string `json:"name" audit:"name"`
}

type Source string

const (
	SourceApp       Source = "app"
	SourceLegacy    Source = "legacy"
	SourceInbound   Source = "inbound"
	SourceScheduler Source = "scheduler"
	SourceImport    Source = "import"
)

// together runs functions concurrently and joins their errors. A panic of a function becomes an error.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var group sync.WaitGroup
	for i, function := range functions {
		group.Go(func() { errs[i] = fault.Recovered(function) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// AsImport returns a copy of the command whose Source is SourceImport.
func (c Command) AsImport() Command {
	c.Source = SourceImport
	return c
}

// As returns a copy of the command with the action for the audit log.
func (c Command) As(action string) Command {
	c.Action = action
	return c
}
