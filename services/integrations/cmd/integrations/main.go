// Integrations is the service of outbound integration endpoints as a process.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

func main() {
	boot.Main[integrations.Config]("integrations", "Outbound integration endpoints: who is told where, and when to stop.", integrations.Run)
}
