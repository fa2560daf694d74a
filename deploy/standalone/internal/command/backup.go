package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/backup"
	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
	"github.com/bellbuoy/bellbuoy/libs/version"
)

// place contains the path of the data folder.
type place struct {
	Data string `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder of the platform's files."`
}

// Validate returns an error if Data is empty, or if the environment names a database or Kafka brokers, which a backup could
// not copy. The parser calls it.
func (p place) Validate() error {
	if p.Data == "" {
		return errors.New("BELLBUOY_DATA must not be empty")
	}
	for _, name := range []string{"DOCUMENTS_URL", "KAFKA_BROKERS"} {
		if os.Getenv(name) != "" {
			return fmt.Errorf("%s is set: the data folder has only the records of embedded engines; use the tools of the engine that it names", name)
		}
	}
	return nil
}

type backupCommand struct {
	place
	File string `arg:"" help:"File to write. An existing backup is replaced when the new one is whole; another file is not. The folder also needs space for a copy of the largest database."`
}

// Run makes a backup.
func (c *backupCommand) Run(ctx context.Context) error {
	m, err := backup.Write(ctx, c.Data, c.File, version.Number())
	if err != nil {
		return err
	}
	if err := datafolder.SetBackup(c.Data, m.Taken); err != nil {
		fmt.Fprintln(os.Stderr, "The backup is whole, but the page Setup of the console does not show its time:", err)
	}
	return report(c.File, m, "The data folder has no secret. Keep BELLBUOY_SECRET: without it the records cannot be opened.")
}

type restoreCommand struct {
	place
	File string `arg:"" help:"File that backup has written."`
}

// Run restores a backup.
func (c *restoreCommand) Run(ctx context.Context) error {
	m, err := backup.Restore(ctx, c.File, c.Data)
	if err != nil {
		return err
	}
	return report(c.Data, m, "The backup has no secret. Start the platform with the BELLBUOY_SECRET of its records.")
}

// report prints what the backup or the restored folder at place contains, and the sentence withoutSecret if the backup has
// no secret.
func report(place string, m backup.Manifest, withoutSecret string) error {
	text := fmt.Sprintf("%s has the state of %s: %d files, %d bytes.\n", place, m.Taken.Format(time.RFC3339Nano), len(m.Files), m.Bytes())
	if !m.Has("secret") {
		text += withoutSecret + "\n"
	}
	_, err := fmt.Print(text)
	return err
}
