// The program inbound signs messages for the inbound webhook of Bellbuoy as Standard Webhooks require, and posts them. scripts/inbound
// runs it.
package main

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/version"
)

const usage = `Usage: inbound [flags] [FILE]

Signs the message in FILE (default: standard input) and posts it to the inbound webhook of Bellbuoy. Prints the response.

The signing key is in the file INBOUND_KEY_FILE, which is the response to its creation, or in INBOUND_KEY (the keyId) and
INBOUND_SECRET. The URL is in INBOUND_URL, for example https://status.example.com/public/webhooks/inbound.

Exit codes: 0 accepted, 1 not accepted or not reached, 2 wrong arguments or settings.

Flags:
`

const (
	maxBody = 65_536 // maximum number of bytes that post reads from a response
	timeout = 30 * time.Second
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inbound:", err)
		if _, wrong := errors.AsType[usageError](err); wrong {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is an error in the arguments or the settings.
type usageError struct{ error }

func misused(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("inbound", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	target := flags.String("url", os.Getenv("INBOUND_URL"), "URL of the inbound webhook; default INBOUND_URL")
	format := flags.String("format", "", "format of the message: alertmanager or grafana; default: Bellbuoy's own")
	id := flags.String("id", "", "webhook-id of the message; default: a new one")
	showVersion := flags.Bool("version", false, "print the version of the program, and end")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return nil
	}
	if err == nil && *showVersion {
		fmt.Fprintln(out, version.Line("inbound"))
		return nil
	}
	if err != nil || flags.NArg() > 1 {
		return misused("wrong arguments; inbound -h explains them: %v", cmp.Or(err, errors.New("at most one FILE")))
	}
	s, err := newSender(*target, *format)
	if err != nil {
		return err
	}
	if flags.NArg() == 1 {
		file, err := os.Open(flags.Arg(0))
		if err != nil {
			return usageError{err}
		}
		defer file.Close()
		in = file
	}
	message, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	status, response, err := s.post(cmp.Or(*id, "msg_"+rand.Text()), message)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, strings.TrimSpace(string(response)))
	if status != http.StatusOK {
		return fmt.Errorf("the webhook responded with %d%s", status, map[int]string{http.StatusForbidden: ": check the key, its secret, the clock and the plan"}[status])
	}
	return nil
}

type sender struct {
	url, key string
	secret   []byte
	client   http.Client
}

func newSender(target, format string) (*sender, error) {
	to, err := url.Parse(target)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, misused("INBOUND_URL or -url must be the URL of the inbound webhook, not %q", target)
	}
	if format != "" {
		query := to.Query()
		query.Set("format", format)
		to.RawQuery = query.Encode()
	}
	key, secret := os.Getenv("INBOUND_KEY"), os.Getenv("INBOUND_SECRET")
	if file := os.Getenv("INBOUND_KEY_FILE"); file != "" {
		var created struct {
			Key struct{ KeyID, Secret string }
		}
		content, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(content, &created)
		}
		if err != nil {
			return nil, misused("INBOUND_KEY_FILE must be the response to the creation of a signing key: %w", err)
		}
		key, secret = created.Key.KeyID, created.Key.Secret
	}
	encoded, prefixed := strings.CutPrefix(strings.TrimSpace(secret), "whsec_")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if key == "" || !prefixed || err != nil {
		return nil, misused("the signing key is missing: set INBOUND_KEY_FILE, or INBOUND_KEY and INBOUND_SECRET (whsec_...)")
	}
	return &sender{url: to.String(), key: key, secret: raw, client: http.Client{Timeout: timeout}}, nil
}

// post signs a message, posts it, and returns the response.
func (s *sender) post(id string, message []byte) (status int, response []byte, err error) {
	request, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(message))
	if err != nil {
		return 0, nil, err
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(message)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "webhook-key-id": s.key, "webhook-id": id, "webhook-timestamp": timestamp,
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	} {
		request.Header.Set(name, value)
	}
	got, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer got.Body.Close()
	response, err = io.ReadAll(io.LimitReader(got.Body, maxBody))
	return got.StatusCode, response, err
}
