package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/delivery"
)

// builtIn and demo select seeds that are built into the program from seed.json and demo.json.
const (
	builtIn = "built-in"
	demo    = "demo"
)

// settings are the settings of the platform. They include the settings of every service. run starts an embedded engine for
// each engine that they do not name, and generates Secret and OperatorToken if they are empty.
type settings struct {
	boot.Settings     `embed:""`
	boot.Links        `embed:""`
	boot.Proxies      `embed:""`
	boot.Cache        `embed:""`
	boot.Domains      `embed:""`
	boot.Rates        `embed:""`
	boot.Receivers    `embed:""`
	boot.SignOn       `embed:""`
	boot.Suppression  `embed:""`
	boot.Confirmation `embed:""`
	boot.Sending      `embed:""`
	boot.Providers    `embed:""`
	boot.Mail         `embed:""`
	boot.Texts        `embed:""`
	boot.Templates    `embed:""`

	Data          string   `name:"data" env:"BELLBUOY_DATA" default:"./data" check:"filled" help:"Folder of the platform's files."`
	Seed          string   `name:"seed" env:"BELLBUOY_SEED" default:"built-in" help:"File with the organization that the first start creates (see deploy/seed.json, which is built in); demo: the same and a dashboard with a history; empty: none."`
	FirstStartAt  string   `name:"first-start-at" env:"FIRST_START_AT" default:"" placeholder:"HOST:PORT" help:"Address of a running platform's gateway: create the seed there with its operator token, once, and end. Empty: run the platform."`
	OperatorToken string   `name:"operator-token" env:"BELLBUOY_OPERATOR_TOKEN" check:"secret" help:"Token of /operator; if empty, the first start generates one and stores it in the data folder."`
	Secret        string   `name:"secret" env:"BELLBUOY_SECRET" check:"secret" help:"Signs passports and page tokens and seals stored secrets; at least 32 characters; if empty, the first start generates one and stores it in the data folder."`
	DocumentsURL  string   `name:"documents-url" env:"DOCUMENTS_URL" check:"documents" help:"Database: mongodb://host:port/prefix or sqlite:FOLDER; if empty, SQLite in the data folder."`
	KafkaBrokers  []string `name:"kafka-brokers" env:"KAFKA_BROKERS" check:"address" help:"Kafka brokers, host:port, separated by commas; if empty, an embedded broker."`
	RedisURL      string   `name:"redis-url" env:"REDIS_URL" check:"redis" help:"Redis, e.g. redis://localhost:6379/0; if empty, an embedded server."`
}

// Validate checks FirstStartAt, which needs OperatorToken, and the templates of messages. The parser of settings calls it.
func (s settings) Validate() error {
	if s.FirstStartAt != "" {
		if _, _, err := net.SplitHostPort(s.FirstStartAt); err != nil {
			return fmt.Errorf("FIRST_START_AT must be host:port, not %q", s.FirstStartAt)
		}
		if s.OperatorToken == "" {
			return errors.New("FIRST_START_AT needs BELLBUOY_OPERATOR_TOKEN, the token of that platform")
		}
	}
	return delivery.Config{Templates: s.Templates}.Validate()
}

// links returns the base URLs without a slash at the end. The default is the URL of the platform's address. For the console,
// the default has the host localhost.
func (s settings) links(address string) boot.Links {
	base := "http://" + strings.Replace(address, "[::]:", "127.0.0.1:", 1)
	base = strings.Replace(base, "//0.0.0.0:", "//127.0.0.1:", 1)
	links := s.Links
	if _, port, err := net.SplitHostPort(address); err == nil && links.ConsoleBaseURL == "" {
		links.ConsoleBaseURL = "http://localhost:" + port // browsers refuse passkeys on an IP address
	}
	for _, link := range []*string{&links.LegacyBaseURL, &links.AppBaseURL, &links.DashboardBaseURL, &links.ConsoleBaseURL} {
		if *link == "" {
			*link = base
		}
		*link = strings.TrimSuffix(*link, "/")
	}
	return links
}
