package boot

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Parse reads config from flags and environment variables. The tag check of a setting names a check of the function
// problem. If a setting is wrong, Parse ends the process with a line that names the setting.
func Parse(config any, name, description string, vars kong.Vars) {
	parser := kong.Must(config, kong.Name(name), kong.Description(description), vars, VersionOf(name))
	parser.FatalIfErrorf(parse(parser, os.Args[1:]))
}

func parse(parser *kong.Kong, arguments []string) error {
	parsed, err := parser.Parse(arguments)
	if err != nil {
		return err
	}
	for _, flag := range parsed.Flags() {
		values, isList := flag.Target.Interface().([]string)
		if !isList {
			values = []string{fmt.Sprint(flag.Target.Interface())}
		}
		check := flag.Tag.Get("check")
		if flag.Required && strings.Join(values, "") == "" {
			values, check = []string{""}, "filled"
		}
		for _, value := range values {
			if problem := problem(check, value); problem != "" {
				return fmt.Errorf("%s %s", flag.Envs[0], problem)
			}
		}
	}
	return nil
}

var (
	hostPattern      = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	documentsPattern = regexp.MustCompile(`^(sqlite:.+|mongodb(\+srv)?://[^/?#].*)?$`)
)

// problem returns what is wrong with the value, or "". The text does not repeat URLs or secrets, because they may
// contain a password.
func problem(check, value string) string {
	check, schemes, _ := strings.Cut(check, " ")
	switch check {
	case "filled":
		if value == "" {
			return "must not be empty"
		}
	case "address":
		if _, port, err := net.SplitHostPort(value); err != nil || !isPort(port) {
			return fmt.Sprintf("must be host:port with a valid port, not %q", value)
		}
	case "host":
		if !hostPattern.MatchString(value) {
			return fmt.Sprintf("must be host names, with or without *. in front, not %q", value)
		}
	case "network":
		if _, err := netip.ParsePrefix(value); err != nil && value != "" && value != hostProxy {
			return fmt.Sprintf("must be networks such as 10.0.0.0/8, or host, separated by commas, not %q", value)
		}
	case "positive":
		if number, _ := strconv.Atoi(value); number < 1 {
			return "must be at least 1"
		}
	case "ratio":
		if number, err := strconv.ParseFloat(value, 64); err != nil || !(number >= 0 && number <= 1) {
			return "must be a number from 0 to 1"
		}
	case "secret":
		if value != "" && len(value) < seal.MinSecret {
			return fmt.Sprintf("must have at least %d characters", seal.MinSecret)
		}
	case "size":
		if _, err := (Cache{value}).Bytes(); err != nil {
			return err.Error()
		}
	case "documents":
		if !documentsPattern.MatchString(value) {
			return "must be mongodb://host:port/prefix or sqlite:FOLDER"
		}
	case "redis":
		client, _, err := Redis{value}.Connect(0)
		if err == nil {
			_ = client.Close() // the client has not connected
		}
		if problem := problem("url redis rediss", value); problem != "" || value == "" || err == nil {
			return problem
		}
		return "has an unknown path or parameter"
	case "upstream": // without a path, because a service's paths begin at the root
		if _, rest, _ := strings.Cut(value, "://"); rest == "" || strings.Contains(rest, "/") {
			return "must be http://host:port without a path"
		}
		return problem("base http https", value)
	case "url", "base":
		return urlProblem(value, strings.Fields(schemes), check == "base")
	case "":
	default:
		return fmt.Sprintf("has the tag check:%q, which is unknown", check)
	}
	return ""
}

// urlProblem returns what is wrong with the value, or "". The value must be empty or a URL with one of the schemes. A
// base URL must have no user info, no query and no fragment.
func urlProblem(value string, schemes []string, base bool) string {
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme):
		return "must be a URL that starts with " + strings.Join(schemes, ":// or ") + "://"
	case base && (u.Hostname() == "" || u.User != nil || strings.ContainsAny(value, "?#")):
		return "must have a host, and no user info, query or fragment"
	case base && u.Port() != "" && (u.Port() == "0" || !isPort(u.Port())):
		return "must have a valid port"
	}
	return ""
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}
