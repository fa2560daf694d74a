// Package receiver is a receiver of webhooks: a TLS server with its own host name and certificate authority. It
// verifies signatures with the code of the Standard Webhooks project, not with the code of the platform. In the
// README's tour, the command receiver prints the received requests. The tests of the whole system count them.
package receiver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Request is a received request.
type Request struct {
	At     time.Time
	Path   string
	Query  string
	Header http.Header
	Body   []byte
}

// ID returns the id of the delivery.
func (r Request) ID() string { return r.Header.Get("webhook-id") }

// Verify verifies the signature with the secret of the endpoint.
func (r Request) Verify(secret string) error {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return verifier.Verify(r.Body, r.Header)
}

// Receiver is a running receiver. Answer returns the status code for a request; the default is 204. If Echo is true,
// each response repeats the URL, the headers and the body of the request. Both fields may be set only before
// the first request.
type Receiver struct {
	Answer func(Request) int
	Echo   bool
	server *http.Server
	addr   string

	mu       sync.Mutex
	requests []Request
	arrived  chan struct{} // closed and replaced when a request arrives
}

// Start listens on addr for host. When it listens, it writes its certificate, which is also the authority, to caFile. A
// caller in another process can wait for this file.
func Start(addr, host, caFile string) (*Receiver, error) {
	certificate, authority, err := certify(host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(caFile), 0o700), os.WriteFile(caFile, authority, 0o644)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	r := &Receiver{addr: listener.Addr().String(), arrived: make(chan struct{})}
	r.server = &http.Server{
		Handler:           r,
		ReadHeaderTimeout: 5 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:          log.New(io.Discard, "", 0), // tests break connections on purpose
	}
	go func() { _ = r.server.ServeTLS(listener, "", "") }() // returns after Close
	return r, nil
}

// Addr returns the host:port on which the receiver listens.
func (r *Receiver) Addr() string { return r.addr }

// Close stops the receiver.
func (r *Receiver) Close() error { return r.server.Close() }

// ServeHTTP records one request and responds.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(io.LimitReader(in.Body, 1<<20))
	if err != nil {
		return // the request did not arrive completely
	}
	request := Request{At: time.Now(), Path: in.URL.Path, Query: in.URL.RawQuery, Header: in.Header.Clone(), Body: body}
	status := http.StatusNoContent
	if r.Answer != nil {
		status = r.Answer(request)
	}
	r.mu.Lock()
	r.requests = append(r.requests, request)
	close(r.arrived)
	r.arrived = make(chan struct{})
	r.mu.Unlock()
	if r.Echo {
		w.Header().Set("X-Echo", "https://"+in.Host+in.RequestURI)
	}
	w.WriteHeader(status)
	if r.Echo {
		fmt.Fprintf(w, "https://%s%s\n%v\n%s", in.Host, in.RequestURI, in.Header, body)
	}
}

// Requests returns all requests, in the order in which ServeHTTP has recorded them.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Wait waits until enough returns true for the requests, and returns them. It returns an error if ctx ends before that.
func (r *Receiver) Wait(ctx context.Context, enough func([]Request) bool) ([]Request, error) {
	for {
		r.mu.Lock()
		requests, arrived := slices.Clone(r.requests), r.arrived
		r.mu.Unlock()
		if enough(requests) {
			return requests, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return requests, fmt.Errorf("%d requests arrived: %w", len(requests), ctx.Err())
		}
	}
}

// certify returns a self-signed certificate for host, also in PEM.
func certify(host string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
