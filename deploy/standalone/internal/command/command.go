// Package command is the command line of the operator of an installation: backup and restore of a data folder, the
// operator interface (/operator/v1) as commands, the import from other products, and the export.
//
// Results go to the standard output: tables for people, or with --json the JSON of the interface. An error is one line
// on the standard error output, and an exit code other than 0. The operator token and the keys come from the environment
// only, because other users of the machine can read arguments.
package command

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

// grammar declares the commands.
type grammar struct {
	boot.Version `embed:""`

	Backup     backupCommand             `cmd:"" help:"Copy the data folder into FILE while the platform runs. The file has the platform's secrets."`
	Restore    restoreCommand            `cmd:"" help:"Fill an empty data folder from FILE, which backup has written. Then start the platform."`
	Org        organizationCommands      `cmd:"" help:"Organizations: list, show, create, change."`
	User       userCommands              `cmd:"" help:"Users of an organization: list, create, change, invite, delete."`
	Key        keyCommands               `cmd:"" help:"Keys of a user: create, legacy."`
	Import     importCommands            `cmd:"" help:"Bring a status page of another product to a dashboard, or undo that."`
	Export     exportCommand             `cmd:"" help:"Write dashboards as lines of JSON, or the configuration file of a monitoring tool."`
	Completion kongcompletion.Completion `cmd:"" help:"Print how to switch on the completion of commands in bash, zsh or fish."`
}

// Asked reports whether the arguments (without the program) name a command, or a shell asks for completions. Otherwise the
// arguments are settings of the platform.
func Asked(arguments []string) bool {
	_, completing := os.LookupEnv("COMP_LINE") // a shell sets COMP_LINE to get completions
	return completing || len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-")
}

// Main runs the command in the arguments until the command ends or ctx ends. If the command fails, Main prints one line
// (none for incomplete) and ends the process with the exit code of the error, or 1.
func Main(ctx context.Context, arguments []string) {
	parser := kong.Must(&grammar{}, kong.Name("bellbuoy"), kong.Description("Operates an installation of Bellbuoy."),
		boot.VersionOf("bellbuoy"), kong.Vars{"sources": strings.Join(source.Names(), ", ")}, kong.BindTo(ctx, (*context.Context)(nil)))
	kongcompletion.Register(parser)
	parsed, err := parser.Parse(arguments)
	parser.FatalIfErrorf(err)
	err = parsed.Run()
	if lossy, is := errors.AsType[incomplete](err); is { // the command has printed the warnings
		parser.Exit(lossy.ExitCode())
	}
	if err != nil {
		parser.Errorf("%s", strings.ReplaceAll(err.Error(), "\n", "; ")) // a joined error has several lines
		code := 1
		var coded kong.ExitCoder
		if errors.As(err, &coded) {
			code = coded.ExitCode()
		}
		parser.Exit(code)
	}
}
