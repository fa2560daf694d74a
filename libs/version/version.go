// Package version returns the version of a program: the tag or the commit of the repository. The linker or go build
// writes it into the program.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// linked is set by the linker if the program is built without the repository, as in deploy/Dockerfile: -X
// github.com/bellbuoy/bellbuoy/libs/version.linked=VERSION
var linked string

// Number returns the version of this program, for example v1.2.3, or "unknown".
func Number() string {
	info, _ := debug.ReadBuildInfo()
	return number(info, linked)
}

// Line returns the line that --version prints for the program with this name.
func Line(name string) string {
	info, _ := debug.ReadBuildInfo()
	return line(name, info, linked)
}

func number(info *debug.BuildInfo, linked string) string {
	if linked != "" || info == nil {
		return cmp.Or(linked, "unknown")
	}
	return cmp.Or(info.Main.Version, "unknown")
}

func line(name string, info *debug.BuildInfo, linked string) string {
	text := name + " " + number(info, linked)
	if info == nil {
		return text
	}
	stamped := map[string]string{}
	for _, setting := range info.Settings {
		stamped[setting.Key] = setting.Value
	}
	if revision := stamped["vcs.revision"]; revision != "" {
		text += fmt.Sprintf(", commit %s of %s", revision, stamped["vcs.time"])
		if stamped["vcs.modified"] == "true" {
			text += ", modified"
		}
	}
	return fmt.Sprintf("%s, %s %s/%s", text, info.GoVersion, stamped["GOOS"], stamped["GOARCH"])
}
