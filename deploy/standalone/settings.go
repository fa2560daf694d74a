package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// builtIn names the seed that comes with the program; its file is deploy/seed.json.
const builtIn = "built-in"

// settings are the platform's: those of every service, but with engines that are
// embedded unless named and secrets that are generated unless given.
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

	Data          string   `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder of this platform's files."`
	Seed          string   `name:"seed" env:"BELLBUOY_SEED" default:"built-in" help:"File with the organization made on the first start (see deploy/seed.json, which is built in); empty: none."`
	OperatorToken string   `name:"operator-token" env:"BELLBUOY_OPERATOR_TOKEN" help:"Enables /operator; generated on the first start and kept in the data folder when not given."`
	Secret        string   `name:"secret" env:"BELLBUOY_SECRET" help:"Signs internal callers and page tokens, seals stored secrets; at least 32 characters; generated on the first start and kept in the data folder when not given."`
	DocumentsURL  string   `name:"documents-url" env:"DOCUMENTS_URL" help:"Where records are kept: mongodb://host:port/prefix or sqlite:FOLDER; under the data folder when not given."`
	KafkaBrokers  []string `name:"kafka-brokers" env:"KAFKA_BROKERS" help:"Kafka brokers, host:port, separated by commas; embedded when not given."`
	RedisURL      string   `name:"redis-url" env:"REDIS_URL" help:"Redis, e.g. redis://localhost:6379/0; embedded when not given."`
}

// Validate is called by the settings' parser, and checks what the embedded groups do not.
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
		failures = append(failures, errors.New("BELLBUOY_DATA must name a folder"))
	}
	return errors.Join(failures...)
}

// documents is where the services keep their records.
func (s settings) documents() boot.Documents {
	if s.DocumentsURL == "" {
		return boot.Documents{DocumentsURL: "sqlite:" + filepath.Join(s.Data, "documents")}
	}
	return boot.Documents{DocumentsURL: s.DocumentsURL}
}

// links default to the address the platform is reached at.
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
