// Command receiver is the webhook receiver of the README's tour. It listens with TLS, by default on
// loopback. It prints each request and whether its signature is right, or each request as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

func main() {
	var s struct {
		boot.Version `embed:""`

		Addr   string `default:"127.0.0.1:9443" help:"Address to listen on."`
		Host   string `default:"receiver.example" help:"Host name of the certificate."`
		CA     string `name:"ca" default:"data/receiver/ca.pem" help:"File to which the certificate authority is written, for DELIVERY_CA_FILE."`
		Secret string `default:"data/receiver/secret" help:"File with the endpoint's signing secret, read at each request."`
		JSON   bool   `name:"json" help:"Print each request as one line of JSON, for programs that verify it themselves."`
	}
	boot.Parse(&s, "receiver", "A webhook receiver that prints its requests.", nil)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := receiver.Start(s.Addr, s.Host, s.CA)
	if err != nil {
		fmt.Fprintf(os.Stderr, "receiver: error: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("listening on %s as %s\n", r.Addr(), s.Host)
	for seen := 0; ; {
		requests, err := r.Wait(ctx, func(all []receiver.Request) bool { return len(all) > seen })
		if err != nil {
			return
		}
		for ; seen < len(requests); seen++ {
			if s.JSON {
				showJSON(requests[seen])
			} else {
				show(requests[seen], s.Secret)
			}
		}
	}
}

func show(request receiver.Request, secretFile string) {
	verdict := "signature right"
	secret, err := os.ReadFile(secretFile)
	if err == nil {
		err = request.Verify(strings.TrimSpace(string(secret)))
	}
	if err != nil {
		verdict = "signature wrong: " + err.Error()
	}
	fmt.Printf("%s  %s  %s\n%s\n", request.At.UTC().Format("15:04:05.000"), request.ID(), verdict, request.Body)
}

func showJSON(request receiver.Request) {
	headers := map[string]string{}
	for name := range request.Header {
		headers[strings.ToLower(name)] = request.Header.Get(name)
	}
	line, err := json.Marshal(map[string]any{"path": request.Path, "headers": headers, "body": string(request.Body)})
	if err != nil {
		panic(err) // cannot fail, because it has strings only
	}
	fmt.Printf("%s\n", line)
}
