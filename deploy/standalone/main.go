// Command bellbuoy is the platform as one process: the gateway and the six services. Each part runs the same function
// Run as its separate binary. The parts communicate over loopback HTTP and Kafka, as in production. Engines that the
// settings do not name are embedded, so a machine with only Go and make can run the platform. The tests of the whole
// system are in this package.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/command"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if command.Asked(os.Args[1:]) {
		command.Main(ctx, os.Args[1:])
		return
	}
	boundMemory()
	var s settings
	boot.Parse(&s, "bellbuoy", "The Bellbuoy status dashboard platform as one process. "+
		"It also has commands: backup, restore, org, user, key, import, export and completion; bellbuoy COMMAND -h explains one.",
		kong.Vars{"addr": "127.0.0.1:8080", "internal_addr": "127.0.0.1:8081", "base_url": ""})
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "bellbuoy: error: %v\n", err)
		os.Exit(1)
	}
}
