package egress

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Resolve is the setting DELIVERY_RESOLVE or SSO_RESOLVE, for example "host:443=127.0.0.1:9443,...". Its addresses replace DNS for
// some hosts: receivers and issuers on the premises, and those in tests. Forbidden does not apply to these addresses, because
// the operator chooses them. The zero Resolve contains no hosts.
type Resolve struct{ targets map[string]string }

// UnmarshalText parses the setting.
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
			return fmt.Errorf("%q occurs twice", from)
		}
		targets[from] = to
	}
	r.targets = targets
	return nil
}

// Lookup returns the address that replaces hostport. It returns false if the setting has none.
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
