package outward

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Resolve is the setting DELIVERY_RESOLVE, "host:443=127.0.0.1:9443,...": hosts
// that are dialled elsewhere than their name says, on-premises receivers and those
// of tests. They are the operator's own choice and exempt from Forbidden. The zero
// Resolve names none.
type Resolve struct{ targets map[string]string }

// UnmarshalText reads the setting.
func (r *Resolve) UnmarshalText(text []byte) error {
	targets := map[string]string{}
	for entry := range strings.SplitSeq(string(text), ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		from, to, found := strings.Cut(entry, "=")
		from = strings.ToLower(from)
		if !found || !hostPort(from) || !hostPort(to) {
			return fmt.Errorf("%q is not host:port=host:port", entry)
		}
		if _, twice := targets[from]; twice {
			return fmt.Errorf("%q is there twice", from)
		}
		targets[from] = to
	}
	r.targets = targets
	return nil
}

// Lookup is where to dial instead of hostport, if the operator has said so.
func (r Resolve) Lookup(hostport string) (string, bool) {
	target, found := r.targets[strings.ToLower(hostport)]
	return target, found
}

func hostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}
