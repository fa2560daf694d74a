package boot

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Documents names the engine that holds a service's records.
type Documents struct {
	DocumentsURL string `name:"documents-url" env:"DOCUMENTS_URL" required:"" help:"Where records are kept: mongodb://host:port/prefix or sqlite:FOLDER."`
}

// Validate is called by the settings' parser.
func (d Documents) Validate() error {
	if folder, found := strings.CutPrefix(d.DocumentsURL, "sqlite:"); found && folder != "" {
		return nil
	}
	if u, err := url.Parse(d.DocumentsURL); err == nil && u.Host != "" && (u.Scheme == "mongodb" || u.Scheme == "mongodb+srv") {
		return nil
	}
	return errors.New("DOCUMENTS_URL must be mongodb://host:port/prefix or sqlite:FOLDER")
}

// Kafka names the brokers.
type Kafka struct {
	KafkaBrokers []string `name:"kafka-brokers" env:"KAFKA_BROKERS" required:"" help:"Kafka brokers, host:port, separated by commas."`
}

// Validate is called by the settings' parser.
func (k Kafka) Validate() error {
	for _, broker := range k.KafkaBrokers {
		if err := Address("KAFKA_BROKERS", broker); err != nil {
			return err
		}
	}
	return nil
}

// Redis names the Redis server.
type Redis struct {
	RedisURL string `name:"redis-url" env:"REDIS_URL" required:"" help:"Redis, e.g. redis://localhost:6379/0."`
}

// Validate is called by the settings' parser.
func (r Redis) Validate() error { return OptionalURL("REDIS_URL", r.RedisURL, "redis", "rediss") }

// Secret is the platform's one secret, the same for every binary.
type Secret struct {
	Secret string `name:"secret" env:"BELLBUOY_SECRET" required:"" help:"Signs internal callers and page tokens, seals stored secrets; at least 32 characters, the same everywhere."`
}

// Validate is called by the settings' parser.
func (s Secret) Validate() error {
	if len(s.Secret) < seal.MinSecret {
		return fmt.Errorf("BELLBUOY_SECRET must have at least %d characters", seal.MinSecret)
	}
	return nil
}

// Links are what URLs handed to clients are made of.
type Links struct {
	LegacyBaseURL    string `name:"legacy-base-url" env:"LEGACY_BASE_URL" default:"${base_url}" help:"What /api/v1/ is reached under."`
	AppBaseURL       string `name:"app-base-url" env:"APP_BASE_URL" default:"${base_url}" help:"What /app/ is reached under."`
	DashboardBaseURL string `name:"dashboard-base-url" env:"DASHBOARD_BASE_URL" default:"${base_url}" help:"What /d/{slug} is reached under."`
}

// Validate is called by the settings' parser.
func (l Links) Validate() error {
	return errors.Join(OptionalURL("LEGACY_BASE_URL", l.LegacyBaseURL, "http", "https"),
		OptionalURL("APP_BASE_URL", l.AppBaseURL, "http", "https"),
		OptionalURL("DASHBOARD_BASE_URL", l.DashboardBaseURL, "http", "https"))
}

// Rates are the default plan's limits.
type Rates struct {
	LegacyRatePerHour int `name:"legacy-rate-per-hour" env:"LEGACY_RATE_PER_HOUR" default:"1000" help:"Calls to /api/v1 one user may make in any 3600 s, on the default plan."`
	AppRatePerMinute  int `name:"app-rate-per-minute" env:"APP_RATE_PER_MINUTE" default:"600" help:"Calls to /app one organization may make in a minute, on the default plan."`
}

// Validate is called by the settings' parser.
func (r Rates) Validate() error {
	if r.LegacyRatePerHour < 1 || r.AppRatePerMinute < 1 {
		return errors.New("LEGACY_RATE_PER_HOUR and APP_RATE_PER_MINUTE must be at least 1")
	}
	return nil
}

// Address checks a host:port setting.
func Address(setting, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("%s: %q is not host:port", setting, value)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("%s: %q has no valid port", setting, value)
	}
	return nil
}

// OptionalURL checks a setting that is empty or a URL of one of the schemes. The
// message leaves the value out, since it may hold a password.
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
