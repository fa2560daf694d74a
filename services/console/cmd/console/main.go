// Command console runs the console service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"

	"github.com/bellbuoy/bellbuoy/services/console"
)

func main() {
	boot.Main[console.Config]("console", "The web console of members.", console.Run)
}
