// Command bellbuoy is the platform as one process: the gateway and the five
// services, each the very Run that its own binary calls, talking over loopback
// HTTP and Kafka as they do in production, on embedded engines unless the settings
// name others. It exists so that a machine with nothing but Go and make has a
// whole platform; the system's own tests live beside it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	var s settings
	kong.Parse(&s, kong.Name("bellbuoy"), kong.Description("The Bellbuoy status dashboard platform as one process."),
		kong.Vars{"addr": "127.0.0.1:8080", "internal_addr": "127.0.0.1:8081", "base_url": ""})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "bellbuoy: error: %v\n", err)
		os.Exit(1)
	}
}
