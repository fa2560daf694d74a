package version

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionLineNamesWhatIsKnownOfTheBuild(t *testing.T) {
	info := func(version string, settings ...string) *debug.BuildInfo {
		out := &debug.BuildInfo{GoVersion: "go1.26.7", Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			out.Settings = append(out.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return out
	}
	stamps := []string{"GOOS", "linux", "GOARCH", "amd64", "vcs.revision", "fbe361d0", "vcs.time", "2026-11-23T20:00:00Z", "vcs.modified"}
	for want, row := range map[string]struct {
		info   *debug.BuildInfo
		linked string
	}{
		"events v1.2.3, commit fbe361d0 of 2026-11-23T20:00:00Z, go1.26.7 linux/amd64":                 {info("v1.2.3", append(stamps, "false")...), ""},
		"events v1.2.3+dirty, commit fbe361d0 of 2026-11-23T20:00:00Z, modified, go1.26.7 linux/amd64": {info("v1.2.3+dirty", append(stamps, "true")...), ""},
		"events v1.2.4, go1.26.7 linux/amd64":                                                          {info("(devel)", stamps[:4]...), "v1.2.4"},
		"events (devel), go1.26.7 linux/amd64":                                                         {info("(devel)", stamps[:4]...), ""},
		"events unknown":                                                                               {nil, ""},
	} {
		if got := line("events", row.info, row.linked); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
