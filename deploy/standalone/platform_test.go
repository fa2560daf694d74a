package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
)

// credentials are the content of credentials.json.
type credentials struct {
	OrganizationID string `json:"organizationId"`
	UserID         string `json:"userId"`
	Username       string `json:"username"`
	LegacyKey      string `json:"legacyKey"`
	AppKey         string `json:"appKey"`
	DashboardID    string `json:"dashboardId"`
	DashboardSlug  string `json:"dashboardSlug"`
	DashboardURL   string `json:"dashboardUrl"`
	OperatorToken  string `json:"operatorToken"`
	BaseURL        string `json:"baseUrl"`
	ConsoleURL     string `json:"consoleUrl"`
}

func (c credentials) legacy() string   { return "ApiKey " + c.Username + ":" + c.LegacyKey }
func (c credentials) app() string      { return "Bearer " + c.AppKey }
func (c credentials) operator() string { return "Operator " + c.OperatorToken }

// standalone prepares the platform as one process with an empty data folder.
func standalone(t testing.TB, env ...string) (*process, string) {
	t.Helper()
	address := apitest.FreeAddress(t)
	p := newProcess(t, "bellbuoy", "standalone", append([]string{
		"BELLBUOY_ADDR=" + address, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0",
		"BELLBUOY_DATA=" + filepath.Join(t.TempDir(), "data"),
	}, env...)...)
	return p, "http://" + address
}

// started starts the platform as one process and waits until it is ready.
func started(t testing.TB, env ...string) (*process, string) {
	t.Helper()
	p, base := standalone(t, env...)
	p.start()
	eventually(t, 2*time.Minute, "ready", ready(base)) // the demo's seed takes its time on a busy machine
	return p, base
}

// provision creates an organization through the operator interface, with one user who has the roles.
func provision(t testing.TB, base, name, username string, roles ...string) credentials {
	t.Helper()
	operator := "Operator " + operatorToken
	var made struct {
		Organization struct{ ID string }
		Dashboard    struct{ ID, Slug string }
	}
	send(t, http.MethodPost, base+"/operator/v1/organizations", operator, map[string]any{"name": name}).
		expect(t, http.StatusCreated).into(t, &made)
	c := credentials{
		OrganizationID: made.Organization.ID, DashboardID: made.Dashboard.ID, DashboardSlug: made.Dashboard.Slug,
		DashboardURL: base + "/d/" + made.Dashboard.Slug, OperatorToken: operatorToken, BaseURL: base,
	}
	return addUser(t, c, username, roles...)
}

// addUser creates another user of the organization, with a key for each interface.
// On the common platform, whose tests do not know of each other, the username gets a number.
func addUser(t testing.TB, c credentials, username string, roles ...string) credentials {
	t.Helper()
	if p := common.platform.Load(); p != nil && p.base == c.BaseURL {
		username += fmt.Sprintf("-%d", common.users.Add(1))
	}
	var made struct{ User struct{ ID string } }
	send(t, http.MethodPost, c.BaseURL+"/operator/v1/organizations/"+c.OrganizationID+"/users", c.operator(),
		map[string]any{"username": username, "email": username + "@example.com", "roles": roles}).
		expect(t, http.StatusCreated).into(t, &made)
	c.UserID, c.Username = made.User.ID, username
	var app struct{ APIKey string }
	send(t, http.MethodPost, c.BaseURL+"/operator/v1/users/"+c.UserID+"/api-keys", c.operator(), map[string]any{}).
		expect(t, http.StatusCreated).into(t, &app)
	var legacy struct{ Key string }
	send(t, http.MethodPost, c.BaseURL+"/operator/v1/users/"+c.UserID+"/legacy-key", c.operator(), nil).
		expect(t, http.StatusCreated).into(t, &legacy)
	c.AppKey, c.LegacyKey = app.APIKey, legacy.Key
	return c
}

// cluster is the platform as separate processes that share one broker and one Redis.
type cluster struct {
	base      string
	gateways  []string // base URLs of the gateways
	names     []string // names of the processes in the order of their start
	processes map[string]*process
	addresses map[string]string
	internal  map[string]string // addresses of metrics and profiles
}

// services contains the processes of a cluster in the order of their start. The second delivery process runs only with
// MongoDB, because only one process can use a SQLite file.
var services = []string{"identity", "events", "subscribers", "integrations", "delivery", "delivery-2", "console", "gateway", "gateway-2"}

// eachDocuments runs the test with SQLite. If the environment names a MongoDB server, it also runs the test with
// MongoDB.
func eachDocuments(t *testing.T, test func(t *testing.T, documents string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, "DOCUMENTS_URL=sqlite:"+filepath.Join(t.TempDir(), "documents")) })
	if server := os.Getenv("BELLBUOY_TEST_MONGODB"); server != "" {
		t.Run("MongoDB", func(t *testing.T) {
			test(t, fmt.Sprintf("DOCUMENTS_URL=%s/system%d", strings.TrimSuffix(server, "/"), time.Now().UnixNano()))
		})
	}
}

// startCluster starts the seven binaries: the gateway twice and, with MongoDB, delivery twice. env may name a broker and
// a Redis. Otherwise the environment of the tests may name them, or else they are embedded.
func startCluster(t testing.TB, env ...string) *cluster {
	t.Helper()
	c := &cluster{processes: map[string]*process{}, addresses: map[string]string{}, internal: map[string]string{}, names: slices.Clone(services)}
	if !slices.ContainsFunc(env, func(setting string) bool { return strings.HasPrefix(setting, "DOCUMENTS_URL=mongodb") }) {
		c.names = slices.DeleteFunc(c.names, func(name string) bool { return name == "delivery-2" })
	}
	for _, name := range c.names {
		c.addresses[name], c.internal[name] = apitest.FreeAddress(t), apitest.FreeAddress(t)
	}
	c.base = "http://" + c.addresses["gateway"]
	c.gateways = []string{c.base, "http://" + c.addresses["gateway-2"]}
	var kafka, redis string
	if !slices.ContainsFunc(env, func(setting string) bool { return strings.HasPrefix(setting, "KAFKA_BROKERS=") }) {
		kafka, redis = sharedEngines(t)
	}
	data := t.TempDir()
	for _, name := range c.names {
		binary := name
		switch name {
		case "delivery-2":
			binary = "delivery"
		case "gateway-2":
			binary = "gateway"
		}
		c.processes[name] = newProcess(t, name, binary, append([]string{
			"BELLBUOY_ADDR=" + c.addresses[name], "BELLBUOY_INTERNAL_ADDR=" + c.internal[name],
			"BELLBUOY_SECRET=" + secret, "BELLBUOY_OPERATOR_TOKEN=" + operatorToken,
			"DOCUMENTS_URL=sqlite:" + filepath.Join(data, "documents"), "KAFKA_BROKERS=" + kafka, "REDIS_URL=" + redis,
			"LEGACY_BASE_URL=" + c.base, "APP_BASE_URL=" + c.base, "DASHBOARD_BASE_URL=" + c.base,
			"IDENTITY_URL=http://" + c.addresses["identity"], "EVENTS_URL=http://" + c.addresses["events"],
			"SUBSCRIBERS_URL=http://" + c.addresses["subscribers"], "INTEGRATIONS_URL=http://" + c.addresses["integrations"],
			"DELIVERY_URL=http://" + c.addresses["delivery"], "CONSOLE_URL=http://" + c.addresses["console"],
		}, env...)...).start()
	}
	for _, base := range c.gateways {
		eventually(t, 60*time.Second, "ready", ready(base))
	}
	return c
}

// threeGateways starts a third gateway and returns the base URLs of all.
func (c *cluster) threeGateways(t testing.TB) []string {
	t.Helper()
	third := apitest.FreeAddress(t)
	newProcess(t, "gateway-3", "gateway", append(slices.Clone(c.processes["gateway"].env), "BELLBUOY_ADDR="+third, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")...).start()
	gateways := append(slices.Clone(c.gateways), "http://"+third)
	eventually(t, time.Minute, "the third gateway", ready(gateways[2]))
	return gateways
}

// emptyDatabase empties a database of the Redis server and returns its URL. Tests of other packages do not use this
// database, because two installations must not share one.
func emptyDatabase(t testing.TB, server string) string {
	t.Helper()
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	options.DB = 9
	connection := redis.NewClient(options)
	defer connection.Close()
	if err := connection.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("redis://%s/%d", options.Addr, options.DB)
}

// ownsEngines is locked while an installation uses the engines of the environment. Two installations must not share them.
var ownsEngines sync.Mutex

// sharedEngines returns the engines of the environment until the end of the test, or starts embedded ones.
func sharedEngines(t testing.TB) (kafka, redisURL string) {
	t.Helper()
	kafka, redisURL = os.Getenv("BELLBUOY_TEST_KAFKA"), os.Getenv("BELLBUOY_TEST_REDIS")
	if kafka != "" || redisURL != "" {
		ownsEngines.Lock()
		t.Cleanup(ownsEngines.Unlock) // after the processes of the installation have ended
	}
	if kafka == "" {
		broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { broker.Close() })
		kafka = broker.Addr()
	}
	if redisURL != "" {
		redisURL = emptyDatabase(t, redisURL)
	} else {
		server, err := engines.StartRedis("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		redisURL = server.URL()
	}
	return kafka, redisURL
}
