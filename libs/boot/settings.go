package boot

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/egress"
)

// Documents is the setting of the database.
type Documents struct {
	DocumentsURL string `name:"documents-url" env:"DOCUMENTS_URL" required:"" check:"documents" help:"Database: mongodb://host:port/prefix or sqlite:FOLDER."`
}

// Kafka is the setting of the brokers.
type Kafka struct {
	KafkaBrokers []string `name:"kafka-brokers" env:"KAFKA_BROKERS" required:"" check:"address" help:"Kafka brokers, host:port, separated by commas."`
}

// Secret is the secret of the platform, the same for every binary.
type Secret struct {
	Secret string `name:"secret" env:"BELLBUOY_SECRET" required:"" check:"secret" help:"Signs passports and page tokens and seals stored secrets; at least 32 characters, the same for every binary."`
}

// Links are the base URLs of the links in responses and notifications.
type Links struct {
	LegacyBaseURL    string `name:"legacy-base-url" env:"LEGACY_BASE_URL" default:"${base_url}" check:"base http https" help:"Base URL of /api/v1/ for clients."`
	AppBaseURL       string `name:"app-base-url" env:"APP_BASE_URL" default:"${base_url}" check:"base http https" help:"Base URL of /app/ for clients."`
	DashboardBaseURL string `name:"dashboard-base-url" env:"DASHBOARD_BASE_URL" default:"${base_url}" check:"base http https" help:"Base URL of /d/{slug} for visitors."`
	ConsoleBaseURL   string `name:"console-base-url" env:"CONSOLE_BASE_URL,APP_BASE_URL" default:"${base_url}" check:"base http https" help:"Base URL of /console/ for members; passkeys belong to its host. Default: APP_BASE_URL."`
}

// Hosts returns the hosts of the base URLs in lower case.
func (l Links) Hosts() ([]string, error) {
	var hosts []string
	for _, base := range []string{l.LegacyBaseURL, l.AppBaseURL, l.DashboardBaseURL, l.ConsoleBaseURL} {
		parsed, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("the base URL %q: %w", base, err)
		}
		hosts = append(hosts, strings.ToLower(parsed.Hostname()))
	}
	return hosts, nil
}

// Each of these is the address of a service, for the parts that call the service.
type (
	IdentityService struct {
		IdentityURL string `name:"identity-url" env:"IDENTITY_URL" default:"http://identity:8080" check:"upstream" help:"URL of the identity service."`
	}
	EventsService struct {
		EventsURL string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" check:"upstream" help:"URL of the events service."`
	}
	SubscribersService struct {
		SubscribersURL string `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" check:"upstream" help:"URL of the subscribers service."`
	}
	IntegrationsService struct {
		IntegrationsURL string `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" check:"upstream" help:"URL of the integrations service."`
	}
	DeliveryService struct {
		DeliveryURL string `name:"delivery-url" env:"DELIVERY_URL" default:"http://delivery:8080" check:"upstream" help:"URL of the delivery service."`
	}
)

// Upstreams are the addresses of the services that the gateway and the console call.
type Upstreams struct {
	IdentityService     `embed:""`
	EventsService       `embed:""`
	SubscribersService  `embed:""`
	IntegrationsService `embed:""`
	DeliveryService     `embed:""`
}

// ByName returns the addresses by the names of the services.
func (u Upstreams) ByName() map[string]string {
	return map[string]string{
		"identity": u.IdentityURL, "events": u.EventsURL, "subscribers": u.SubscribersURL, "integrations": u.IntegrationsURL,
		"delivery": u.DeliveryURL,
	}
}

// Proxies is the setting of the proxies in front of the gateway.
type Proxies struct {
	TrustedProxies []string `name:"trusted-proxies" env:"BELLBUOY_TRUSTED_PROXIES" check:"network" placeholder:"CIDR,..." help:"Networks of proxies in front of the gateway; host: the machine that runs the container. Only their X-Forwarded-For and X-Forwarded-Proto count. If empty, the client is who connects."`
}

// Domains is the setting for the custom domains of dashboards.
type Domains struct {
	DomainProof string `name:"domain-proof" env:"BELLBUOY_DOMAIN_PROOF" default:"none" enum:"none,dns" help:"Proof that a custom domain belongs to the organization of its dashboard: none; dns: the domain is served after the record TXT _bellbuoy.DOMAIN contains the token that the dashboard shows."`
}

// NeedsProof reports whether a custom domain is served only after the proof.
func (d Domains) NeedsProof() bool { return d.DomainProof == "dns" }

// Cache is the setting for the room for files of dashboards: in the memory of each gateway, and as much in Redis.
type Cache struct {
	DashboardCache string `name:"dashboard-cache" env:"DASHBOARD_CACHE" default:"64MiB" check:"size" help:"Room for files of dashboards in the memory of each gateway, and as much for all gateways together in Redis, where the files outlive an outage, e.g. 64MiB or 1GiB."`
}

// Bytes returns DashboardCache in bytes.
func (c Cache) Bytes() (int64, error) {
	number, inGiB := strings.CutSuffix(c.DashboardCache, "GiB")
	number, inMiB := strings.CutSuffix(number, "MiB")
	if room, err := strconv.ParseUint(number, 10, 16); err == nil && room > 0 && inGiB != inMiB {
		if inGiB {
			room <<= 10
		}
		return int64(room) << 20, nil
	}
	return 0, fmt.Errorf("must be a size such as 64MiB or 1GiB, not %q", c.DashboardCache)
}

// Confirmation is the setting for the links and codes with which visitors confirm requests.
type Confirmation struct {
	ConfirmWithin time.Duration `name:"confirm-within" env:"CONFIRM_WITHIN" default:"48h" help:"Time within which a visitor confirms a subscription or an endpoint by the link or the code in a message."`
}

// Sweep returns the interval at which expired unconfirmed requests and other old records are deleted.
func (c Confirmation) Sweep() time.Duration {
	return min(time.Minute, max(c.ConfirmWithin/4, 10*time.Millisecond))
}

// maxConfirm is the longest allowed ConfirmWithin. Unconfirmed requests are stored for ConfirmWithin.
const maxConfirm = 30 * 24 * time.Hour

// Validate checks the settings. The parser of settings calls it.
func (c Confirmation) Validate() error {
	if c.ConfirmWithin <= 0 || c.ConfirmWithin > maxConfirm {
		return fmt.Errorf("CONFIRM_WITHIN must be longer than 0 and at most %s", maxConfirm)
	}
	return nil
}

// Rates are the rate limits of the default plan.
type Rates struct {
	LegacyRatePerHour int `name:"legacy-rate-per-hour" env:"LEGACY_RATE_PER_HOUR" default:"1000" check:"positive" help:"Highest number of calls to /api/v1 per user in any 3600 s, on the default plan."`
	AppRatePerMinute  int `name:"app-rate-per-minute" env:"APP_RATE_PER_MINUTE" default:"600" check:"positive" help:"Highest number of calls to /app per organization in a minute, on the default plan."`
}

// Receivers is the setting for receivers that are not on the internet.
type Receivers struct {
	Resolve egress.Resolve `name:"delivery-resolve" env:"DELIVERY_RESOLVE" placeholder:"HOST:443=HOST:PORT,..." help:"Receivers that are dialled at another address; the refusal of private addresses does not apply to them."`
}

// SignOn contains the settings for the issuers of single sign-on.
type SignOn struct {
	SSOResolve egress.Resolve `name:"sso-resolve" env:"SSO_RESOLVE" placeholder:"HOST:443=HOST:PORT,..." help:"Issuers of single sign-on that are dialled at another address; the refusal of private addresses does not apply to them."`
	SSOCAFile  string         `name:"sso-ca-file" env:"SSO_CA_FILE" help:"PEM file of certificate authorities that are trusted for issuers of single sign-on, in addition to those of the system."`
}

// Validate checks the settings. The parser of settings calls it.
func (s SignOn) Validate() error {
	_, err := s.Authorities()
	return err
}

// Authorities returns the system's certificate authorities together with those in SSOCAFile, or nil without SSOCAFile.
func (s SignOn) Authorities() (*x509.CertPool, error) { return authorities("SSO_CA_FILE", s.SSOCAFile) }

// Suppression contains the settings for alerts about failing endpoints and for the suppression of endpoints.
type Suppression struct {
	AlertAfter    int `name:"alert-after" env:"ALERT_AFTER" default:"5" check:"positive" help:"Consecutive failed deliveries after which an endpoint's management address is notified."`
	SuppressAfter int `name:"suppress-after" env:"SUPPRESS_AFTER" default:"10" check:"positive" help:"Consecutive failed deliveries after which an endpoint's URL is suppressed."`
}

const (
	maxTimeout = StopTimeout - time.Second // so that a running attempt can end within StopTimeout
	maxWaits   = 20
	maxWait    = 24 * time.Hour
)

// Sending are the settings of delivery attempts.
type Sending struct {
	CAFile        string          `name:"delivery-ca-file" env:"DELIVERY_CA_FILE" help:"PEM file of certificate authorities that are trusted in addition to those of the system."`
	RetrySchedule []time.Duration `name:"delivery-retry-schedule" env:"DELIVERY_RETRY_SCHEDULE" default:"5s,30s,2m,10m,30m,60m" help:"Pauses between the attempts of a delivery, separated by commas."`
	Timeout       time.Duration   `name:"delivery-timeout" env:"DELIVERY_TIMEOUT" default:"10s" help:"Time limit of one attempt, at most 14s."`
}

// Validate checks the settings. The parser of settings calls it.
func (s Sending) Validate() error {
	if s.Timeout <= 0 || s.Timeout > maxTimeout {
		return fmt.Errorf("DELIVERY_TIMEOUT must be longer than 0 and at most %s", maxTimeout)
	}
	if len(s.RetrySchedule) == 0 || len(s.RetrySchedule) > maxWaits ||
		slices.ContainsFunc(s.RetrySchedule, func(wait time.Duration) bool { return wait <= 0 || wait > maxWait }) {
		return fmt.Errorf("DELIVERY_RETRY_SCHEDULE must have 1 to %d pauses, each longer than 0 and at most %s", maxWaits, maxWait)
	}
	_, err := s.Authorities()
	return err
}

// Authorities returns the system's certificate authorities together with those in CAFile, or nil without CAFile.
func (s Sending) Authorities() (*x509.CertPool, error) {
	return authorities("DELIVERY_CA_FILE", s.CAFile)
}

// authorities returns the certificate authorities of the system together with those in the file that the setting names.
// Without a file it returns nil. A TLS connection with nil uses the authorities of the system.
func authorities(setting, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // without authorities of the system, only those in the file are trusted
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s: %s contains no PEM certificate", setting, file)
	}
	return pool, nil
}
