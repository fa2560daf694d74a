package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

func TestEachBinaryPrintsItsVersion(t *testing.T) {
	t.Parallel()
	names := map[string]string{"standalone": "bellbuoy", "receiver": "receiver", "inbound": "inbound"}
	for _, name := range binaryNames {
		names[name] = name
	}
	for binary, name := range names {
		out, err := exec.CommandContext(t.Context(), filepath.Join(binaries, binary), "--version").CombinedOutput()
		if err != nil || !regexp.MustCompile(`^`+name+` v9\.8\.7.*, go1\.\d+\S* \w+/\w+\n$`).Match(out) {
			t.Errorf("%s --version: %v, %q", binary, err, out)
		}
		if out, err = exec.CommandContext(t.Context(), filepath.Join(binaries, binary), "-h").CombinedOutput(); err != nil || !regexp.MustCompile(`-version\s+[Pp]rint the version`).Match(out) {
			t.Errorf("%s -h does not explain --version: %v", binary, err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(binaries, "standalone"), "org", "--version").Output(); err != nil || len(out) == 0 {
		t.Errorf("a command: %v, %q", err, out)
	}
}
