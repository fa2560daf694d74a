package boot

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestParseChecksEachSetting(t *testing.T) {
	for _, test := range []struct {
		flag   string
		valid  []string
		broken []string
	}{
		{"upstream", []string{"http://events:8080", "https://events"},
			[]string{"", "events:8080", "ftp://events", "http://", "http://events/", "http://events:99999"}},
		{"base", []string{"", "https://status.example/a"}, []string{"nowhere", "https://u@h", "https://h/?", "https://h/#a", "https://:443", "https://h:0"}},
		{"address", []string{"127.0.0.1:0", ":8080"}, []string{"", "nonsense", "h:99999", "h:"}},
		{"redis", []string{"", "redis://h:1/2?read_timeout=3s", "redis://h:1?addr=i:1&addr=j:1&read_timeout=3s"},
			[]string{"unix:///a", "redis://h/path", "redis://h?x=1", "redis://h/2?addr=i:1", "redis://h?addr=i:1&x=1"}},
		{"documents", []string{"", "sqlite:a", "mongodb://h/p", "mongodb+srv://h/p"}, []string{"sqlite:", "mongodb://", "postgres://x"}},
		{"secret", []string{"", strings.Repeat("s", 32)}, []string{"short"}},
		{"positive", []string{"1"}, []string{"0", "-1"}},
		{"hosts", []string{"a.example,*.b.example"}, []string{"*", "a b", "a.example,*"}},
		{"networks", []string{"", "10.0.0.0/8", "10.0.0.0/8,2001:db8::/32,192.0.2.1/32"}, []string{"10.0.0.1", "proxy.example", "10.0.0.0/33", "10.0.0.0/8,x"}},
		{"size", []string{"1MiB", "64MiB", "2GiB"}, []string{"", "64", "64MB", "64M", "0MiB", "-1MiB", "1.5GiB", "70000MiB", "1MiBGiB", "MiB", " 1MiB"}},
		{"required", []string{"a:1", "a:1,b:2"}, []string{"", "a:1,b"}},
	} {
		parsed := func(value string) error {
			var config struct {
				Upstream  string   `name:"upstream" env:"A_UPSTREAM" default:"http://events:8080" check:"upstream"`
				Base      string   `name:"base" env:"A_BASE" check:"base http https"`
				Address   string   `name:"address" env:"A_ADDRESS" default:":1" check:"address"`
				Redis     string   `name:"redis" env:"A_REDIS" check:"redis"`
				Documents string   `name:"documents" env:"A_DOCUMENTS" check:"documents"`
				Secret    string   `name:"secret" env:"A_SECRET" check:"secret"`
				Positive  int      `name:"positive" env:"A_POSITIVE" default:"1" check:"positive"`
				Hosts     []string `name:"hosts" env:"A_HOSTS" default:"h" check:"host"`
				Networks  []string `name:"networks" env:"A_NETWORKS" check:"network"`
				Size      string   `name:"size" env:"A_SIZE" default:"64MiB" check:"size"`
				Required  []string `name:"required" env:"A_REQUIRED" required:"" check:"address"`
			}
			arguments := []string{"--" + test.flag + "=" + value}
			if test.flag != "required" {
				arguments = append(arguments, "--required=a:1")
			}
			return parse(kong.Must(&config), arguments)
		}
		for _, value := range test.valid {
			if err := parsed(value); err != nil {
				t.Errorf("--%s=%s: %v", test.flag, value, err)
			}
		}
		for _, value := range test.broken {
			if err := parsed(value); err == nil || !strings.HasPrefix(err.Error(), "A_"+strings.ToUpper(test.flag)+" ") {
				t.Errorf("--%s=%s: %v", test.flag, value, err)
			}
		}
	}
}

func TestParseRefusesAnUnknownCheck(t *testing.T) {
	var config struct {
		Upstream string `name:"upstream" env:"A_UPSTREAM" default:"http://events:8080" check:"upstraem"`
	}
	err := parse(kong.Must(&config), nil)
	if err == nil || !strings.Contains(err.Error(), `A_UPSTREAM has the tag check:"upstraem"`) {
		t.Error(err)
	}
}

func TestTheConsoleIsAtTheAddressOfTheAppInterfaceByDefault(t *testing.T) {
	for _, row := range []struct{ app, console, want string }{
		{"", "", "http://127.0.0.1:8080"}, {"https://a.example", "", "https://a.example"},
		{"", "https://c.example", "https://c.example"}, {"https://a.example", "https://c.example", "https://c.example"},
	} {
		var config struct {
			Links `embed:""`
		}
		for name, value := range map[string]string{"APP_BASE_URL": row.app, "CONSOLE_BASE_URL": row.console} {
			if t.Setenv(name, value); value == "" {
				os.Unsetenv(name)
			}
		}
		err := parse(kong.Must(&config, kong.Vars{"base_url": "http://127.0.0.1:8080"}), nil)
		if err != nil || config.ConsoleBaseURL != row.want {
			t.Errorf("APP_BASE_URL=%s CONSOLE_BASE_URL=%s: %q, %v", row.app, row.console, config.ConsoleBaseURL, err)
		}
	}
}
