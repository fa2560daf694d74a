package boot

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/outward"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Documents is the setting of the database.
type Documents struct {
	DocumentsURL string `name:"documents-url" env:"DOCUMENTS_URL" required:"" help:"Database: mongodb://host:port/prefix or sqlite:FOLDER."`
}

// Validate checks the settings. The parser of settings calls it.
func (d Documents) Validate() error {
	if folder, found := strings.CutPrefix(d.DocumentsURL, "sqlite:"); found && folder != "" {
		return nil
	}
	if u, err := url.Parse(d.DocumentsURL); err == nil && u.Host != "" && (u.Scheme == "mongodb" || u.Scheme == "mongodb+srv") {
		return nil
	}
	return errors.New("DOCUMENTS_URL must be mongodb://host:port/prefix or sqlite:FOLDER")
}

// Kafka is the setting of the brokers.
type Kafka struct {
	KafkaBrokers []string `name:"kafka-brokers" env:"KAFKA_BROKERS" required:"" help:"Kafka brokers, host:port, separated by commas."`
}

// Validate checks the settings. The parser of settings calls it.
func (k Kafka) Validate() error {
	if len(k.KafkaBrokers) == 0 {
		return errors.New("KAFKA_BROKERS must contain at least one broker")
	}
	for _, broker := range k.KafkaBrokers {
		if err := Address("KAFKA_BROKERS", broker); err != nil {
			return err
		}
	}
	return nil
}

// Secret is the secret of the platform, the same for every binary.
type Secret struct {
	Secret string `name:"secret" env:"BELLBUOY_SECRET" required:"" help:"Signs passports and page tokens and seals stored secrets; at least 32 characters, the same for every binary."`
}

// Validate checks the settings. The parser of settings calls it.
func (s Secret) Validate() error {
	if len(s.Secret) < seal.MinSecret {
		return fmt.Errorf("BELLBUOY_SECRET must have at least %d characters", seal.MinSecret)
	}
	return nil
}

// Links are the base URLs of the links in responses and notifications.
type Links struct {
	LegacyBaseURL    string `name:"legacy-base-url" env:"LEGACY_BASE_URL" default:"${base_url}" help:"Base URL of /api/v1/ for clients."`
	AppBaseURL       string `name:"app-base-url" env:"APP_BASE_URL" default:"${base_url}" help:"Base URL of /app/ for clients."`
	DashboardBaseURL string `name:"dashboard-base-url" env:"DASHBOARD_BASE_URL" default:"${base_url}" help:"Base URL of /d/{slug} for visitors."`
}

// Validate checks the settings. The parser of settings calls it.
func (l Links) Validate() error {
	return errors.Join(optionalBase("LEGACY_BASE_URL", l.LegacyBaseURL),
		optionalBase("APP_BASE_URL", l.AppBaseURL),
		optionalBase("DASHBOARD_BASE_URL", l.DashboardBaseURL))
}

// Rates are the rate limits of the default plan.
type Rates struct {
	LegacyRatePerHour int `name:"legacy-rate-per-hour" env:"LEGACY_RATE_PER_HOUR" default:"1000" help:"Highest number of calls to /api/v1 per user in any 3600 s, on the default plan."`
	AppRatePerMinute  int `name:"app-rate-per-minute" env:"APP_RATE_PER_MINUTE" default:"600" help:"Highest number of calls to /app per organization in a minute, on the default plan."`
}

// Validate checks the settings. The parser of settings calls it.
func (r Rates) Validate() error {
	if r.LegacyRatePerHour < 1 || r.AppRatePerMinute < 1 {
		return errors.New("LEGACY_RATE_PER_HOUR and APP_RATE_PER_MINUTE must be at least 1")
	}
	return nil
}

// Receivers are exceptions for receivers that are not on the internet.
type Receivers struct {
	Resolve outward.Resolve `name:"delivery-resolve" env:"DELIVERY_RESOLVE" placeholder:"HOST:443=HOST:PORT,..." help:"Receivers that are dialled at another address; the refusal of private addresses does not apply to them."`
}

// Suppression is the setting of the suppression of endpoints.
type Suppression struct {
	SuppressAfter int `name:"suppress-after" env:"SUPPRESS_AFTER" default:"10" help:"Consecutive failed deliveries after which an endpoint's URL is suppressed."`
}

// Validate checks the settings. The parser of settings calls it.
func (s Suppression) Validate() error {
	if s.SuppressAfter < 1 {
		return errors.New("SUPPRESS_AFTER must be at least 1")
	}
	return nil
}

const (
	maxTimeout = stopTimeout - time.Second // an attempt must be able to end within a stop
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

// Authorities returns the certificate authorities of the system and of CAFile.
func (s Sending) Authorities() (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without any; only those of the file are trusted
	}
	if s.CAFile == "" {
		return pool, nil
	}
	content, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("DELIVERY_CA_FILE: %w", err)
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("DELIVERY_CA_FILE: %s contains no PEM certificate", s.CAFile)
	}
	return pool, nil
}

// Upstream checks the URL of another service. It must end after host and port, without a
// slash, because the paths of a service begin at the root.
func Upstream(setting, value string) error {
	if value == "" {
		return fmt.Errorf("%s must not be empty", setting)
	}
	if err := optionalBase(setting, value); err != nil {
		return err
	}
	if _, rest, _ := strings.Cut(value, "://"); strings.Contains(rest, "/") {
		return fmt.Errorf("%s must be http://host:port without a path", setting)
	}
	return nil
}

// optionalBase checks a setting that is empty or a base URL.
func optionalBase(setting, value string) error {
	if err := OptionalURL(setting, value, "http", "https"); err != nil || value == "" {
		return err
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%s must contain a host", setting)
	}
	if u.User != nil || strings.ContainsAny(value, "?#") {
		return fmt.Errorf("%s must have no user info, query or fragment", setting)
	}
	if number, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || number == 0) {
		return fmt.Errorf("%s must have a valid port", setting)
	}
	return nil
}

// Address checks a host:port setting.
func Address(setting, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("%s: %q must be host:port", setting, value)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("%s: %q must have a valid port", setting, value)
	}
	return nil
}

// OptionalURL checks a setting that is empty or a URL of one of the schemes. The message does
// not contain the value, because it may contain a password.
func OptionalURL(setting, value string, schemes ...string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("%s must be a URL that starts with %s://", setting, strings.Join(schemes, ":// or "))
	}
	return nil
}
