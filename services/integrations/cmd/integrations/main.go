// Command integrations runs the integrations service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

func main() {
	boot.Main[integrations.Config]("integrations", "Outbound integration endpoints and their suppression.", integrations.Run)
}
