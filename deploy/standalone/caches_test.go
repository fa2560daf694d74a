package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// cacheRules decide whether a cache passes on a request unchanged. They are read from a file of deploy/cache.
type cacheRules func(host, uri string) (direct bool)

// cacheFile returns the content of a file of deploy/cache.
func cacheFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "cache", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// nginxRules returns the rules of the map $unshared. The first pattern that matches counts.
func nginxRules(t *testing.T) cacheRules {
	t.Helper()
	file := cacheFile(t, "nginx.conf")
	_, rest, _ := strings.Cut(file, `map "$platform$request_uri" $unshared {`)
	block, _, _ := strings.Cut(rest, "\n}")
	platform := regexp.MustCompile(`map \$host \$platform \{\n    default "";\n    (\S+) platform;`).FindStringSubmatch(file)
	rows := regexp.MustCompile(`"~(.+)" (1|"");`).FindAllStringSubmatch(block, -1)
	if len(rows) != 4 || len(platform) != 2 {
		t.Fatalf("%d patterns in %s; platform %q", len(rows), block, platform)
	}
	return func(host, uri string) bool {
		if host == platform[1] {
			host = "platform"
		} else {
			host = ""
		}
		at := slices.IndexFunc(rows, func(row []string) bool { return regexp.MustCompile(row[1]).MatchString(host + uri) })
		return at >= 0 && rows[at][2] == "1"
	}
}

// varnishRules returns the conditions on the host and the URL of vcl_recv.
func varnishRules(t *testing.T) cacheRules {
	t.Helper()
	file := cacheFile(t, "default.vcl")
	platform := regexp.MustCompile(`regsub\(req\.http\.Host\.lower\(\), ":\.\*\$", ""\) == "(.+)" && req\.url !~ "(.+)"`).FindStringSubmatch(file)
	paths := regexp.MustCompile(`\|\| req\.url ~ "(.+)"`).FindAllStringSubmatch(file, -1)
	if len(platform) != 3 || len(paths) != 2 {
		t.Fatalf("other conditions in default.vcl: %q, %q", platform, paths)
	}
	return func(host, uri string) bool {
		if host == platform[1] && !regexp.MustCompile(platform[2]).MatchString(uri) {
			return true
		}
		return slices.ContainsFunc(paths, func(path []string) bool { return regexp.MustCompile(path[1]).MatchString(uri) })
	}
}

// The files for caches in front send only requests for the files of dashboards through the cache. Every other path of the
// route table reaches the gateway unchanged.
func TestTheFilesForCachesNameWhatIsShared(t *testing.T) {
	const platform, own = "status.example.com", "status.acme.example"
	values := strings.NewReplacer("{slug}", "main", "{id}", "1", "{ids}", "1;2", "{month}", "2026-01", "{channel}", "fax", "{path}", "events", "{keyId}", "k", "{format}", "gatus")
	for name, rules := range map[string]cacheRules{"nginx": nginxRules(t), "Varnish": varnishRules(t)} {
		check := func(host, uri string, direct bool) {
			t.Helper()
			if rules(host, uri) != direct {
				t.Errorf("%s passes on %s%s unchanged: %v", name, host, uri, !direct)
			}
		}
		for _, route := range gateway.Routes() {
			path := values.Replace(route.Path)
			below, isBelow := strings.CutPrefix(path, "/d/main")
			isList := strings.HasPrefix(below, legacy.Base)
			shared := route.Surface == passport.Public && isBelow && !isList
			if !slices.Contains(route.Methods, http.MethodGet) && isBelow {
				continue // both pass on other methods
			}
			check(platform, path, !shared)
			check(platform, path+"?utm_source=mail&x=1", !shared)
			if isBelow && below != "" {
				check(own, below, !shared)
			}
		}
		for _, file := range peer.DashboardFiles() {
			for _, query := range []string{"?key=secret", "?utm_source=mail&key=secret"} {
				check(platform, "/d/main"+values.Replace(file.Path)+query, file.IsFeed() || file.Media == peer.JSON)
				check(own, values.Replace(file.Path)+query, file.IsFeed() || file.Media == peer.JSON)
			}
		}
		check(platform, "/d/main/feed.rss?monkey=1", false)
		check(platform, "/d/main/?next=/api/v1/dashboard/", false)
		check("status-example.com", "/", false)
	}
}

// README.md of deploy and the files for caches agree with each other and with the platform.
func TestTheFilesForCachesAgreeWithTheReadme(t *testing.T) {
	_, section, _ := strings.Cut(readme(t, "deploy"), "\n## A cache in front, for crowds\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, text := range []string{
		"status.example.com", "127.0.0.1:8080", "BELLBUOY_TRUSTED_PROXIES", "nginx 1.22", "Varnish 7.1", "at most 11 s", "24 hours", "0.2 s",
		"/etc/nginx/conf.d/bellbuoy.conf", "/etc/varnish/default.vcl", "/etc/nginx/sites-enabled/default", "/var/lib/nginx/bellbuoy-*/*", peer.PasswordCookie, "`scripts/long crowds`",
	} {
		if !strings.Contains(section, text) {
			t.Errorf("the section of README.md does not name %s", text)
		}
	}
	for name, texts := range map[string][]string{
		"nginx.conf": {
			"nginx (1.22)", "status.example.com platform;", "server 127.0.0.1:8080;", peer.PasswordCookie + "=", "/etc/nginx/conf.d", "path /var/lib/nginx/bellbuoy-files ",
			"path /var/lib/nginx/bellbuoy-second ", "inactive=24h", "proxy_cache_lock_timeout 200ms;", "X-Forwarded-For $remote_addr;", "X-Forwarded-Proto $scheme;", "deploy/README.md",
		},
		"default.vcl": {
			"Varnish (7.1)", `"status.example.com"`, `.host = "127.0.0.1";`, `.port = "8080";`, peer.PasswordCookie + "=", "/etc/varnish", "set req.http.X-Forwarded-For = client.ip;",
			"std.port(server.ip) == 443", "deploy/README.md",
		},
	} {
		file := cacheFile(t, name)
		for _, text := range texts {
			if !strings.Contains(file, text) {
				t.Errorf("%s does not contain %s", name, text)
			}
		}
	}
}
