package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// builtIn selects the seed that is built into the program, deploy/seed.json.
const builtIn = "built-in"

// settings are the settings of the platform: those of every service. Engines that they do not
// name are embedded, and secrets that they do not contain are generated.
type settings struct {
	boot.Settings    `embed:""`
	boot.Links       `embed:""`
	boot.Rates       `embed:""`
	boot.Receivers   `embed:""`
	boot.Suppression `embed:""`
	boot.Sending     `embed:""`
	boot.Providers   `embed:""`
	boot.Mail        `embed:""`
	boot.Texts       `embed:""`

	Data          string   `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder of the platform's files."`
	Seed          string   `name:"seed" env:"BELLBUOY_SEED" default:"built-in" help:"File with the organization that the first start creates (see deploy/seed.json, which is built in); empty: none."`
	OperatorToken string   `name:"operator-token" env:"BELLBUOY_OPERATOR_TOKEN" help:"Token of /operator; if empty, the first start generates one and stores it in the data folder."`
	Secret        string   `name:"secret" env:"BELLBUOY_SECRET" help:"Signs passports and page tokens and seals stored secrets; at least 32 characters; if empty, the first start generates one and stores it in the data folder."`
	DocumentsURL  string   `name:"documents-url" env:"DOCUMENTS_URL" help:"Database: mongodb://host:port/prefix or sqlite:FOLDER; if empty, SQLite in the data folder."`
	KafkaBrokers  []string `name:"kafka-brokers" env:"KAFKA_BROKERS" help:"Kafka brokers, host:port, separated by commas; if empty, an embedded broker."`
	RedisURL      string   `name:"redis-url" env:"REDIS_URL" help:"Redis, e.g. redis://localhost:6379/0; if empty, an embedded server."`
}

// Validate checks the settings that the embedded groups do not check. The parser of settings calls it.
func (s *settings) Validate() error {
	var failures []error
	if len(s.KafkaBrokers) > 0 {
		failures = append(failures, boot.Kafka{KafkaBrokers: s.KafkaBrokers}.Validate())
	}
	if s.RedisURL != "" {
		failures = append(failures, boot.Redis{RedisURL: s.RedisURL}.Validate())
	}
	if s.DocumentsURL != "" {
		failures = append(failures, boot.Documents{DocumentsURL: s.DocumentsURL}.Validate())
	}
	if s.Secret != "" {
		failures = append(failures, boot.Secret{Secret: s.Secret}.Validate())
	}
	if s.OperatorToken != "" && len(s.OperatorToken) < seal.MinSecret {
		failures = append(failures, fmt.Errorf("BELLBUOY_OPERATOR_TOKEN must have at least %d characters", seal.MinSecret))
	}
	if s.Data == "" {
		failures = append(failures, errors.New("BELLBUOY_DATA must not be empty"))
	}
	return errors.Join(failures...)
}

// documents returns the setting of the database.
func (s settings) documents() boot.Documents {
	if s.DocumentsURL == "" {
		return boot.Documents{DocumentsURL: "sqlite:" + filepath.Join(s.Data, "documents")}
	}
	return boot.Documents{DocumentsURL: s.DocumentsURL}
}

// links returns the base URLs. The default is the address of the platform.
func (s settings) links(address string) boot.Links {
	base := "http://" + strings.Replace(address, "[::]:", "127.0.0.1:", 1)
	base = strings.Replace(base, "//0.0.0.0:", "//127.0.0.1:", 1)
	links := s.Links
	for _, link := range []*string{&links.LegacyBaseURL, &links.AppBaseURL, &links.DashboardBaseURL} {
		if *link == "" {
			*link = base
		}
		*link = strings.TrimSuffix(*link, "/")
	}
	return links
}
