package apitest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	rawLoopVariable = "APITEST_RAW_LOOP"
	// rawLoopWorkers is how many requests a RawLoop sends at the same time.
	rawLoopWorkers = 64
)

// RawLoop is a bare loop that posts the same body N times. Benchmarks of fan-outs compare their results with it. It
// runs in a process of its own, because its processor time is measured, too.
type RawLoop struct {
	Address string // host and port of the receiver
	Host    string // host name in the receiver's certificate
	CA      []byte // certificate of the authority that signed the receiver's certificate, in PEM
	Body    []byte
	N       int
}

// rawLoopResult is what the process of a RawLoop prints.
type rawLoopResult struct{ Took, CPU time.Duration }

// Requests returns the number of requests that the receiver gets: N, and one for each connection, which is not measured.
func (r RawLoop) Requests() int { return r.N + rawLoopWorkers }

// Run runs the loop. It returns the time and the processor time of the N requests.
func (r RawLoop) Run(t testing.TB) (took, cpu time.Duration) {
	t.Helper()
	settings, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), rawLoopVariable+"="+string(settings))
	out, err := command.Output()
	var result rawLoopResult
	if err = errors.Join(err, json.Unmarshal(out, &result)); err != nil {
		t.Fatal(err)
	}
	return result.Took, result.CPU
}

// BeRawLoop runs the loop and ends the process, if RawLoop.Run has started this process. TestMain calls it first.
func BeRawLoop() {
	settings, is := os.LookupEnv(rawLoopVariable)
	if !is {
		return
	}
	var r RawLoop
	err := json.Unmarshal([]byte(settings), &r)
	if err == nil {
		err = r.post()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (r RawLoop) post() error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.CA)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: r.Host}, MaxIdleConnsPerHost: rawLoopWorkers, MaxIdleConns: rawLoopWorkers,
	}}
	post := func(i int) error {
		response, err := client.Post(fmt.Sprintf("https://%s/hooks/%032d", r.Address, i), "application/json", bytes.NewReader(r.Body))
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		return response.Body.Close()
	}
	if err := r.connect(post); err != nil {
		return err
	}
	jobs := make(chan int, r.N)
	for i := range r.N {
		jobs <- i
	}
	close(jobs)
	var group errgroup.Group
	before, began := UsedCPU(), time.Now()
	for range rawLoopWorkers {
		group.Go(func() error {
			for i := range jobs {
				if err := post(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	result := rawLoopResult{time.Since(began), UsedCPU() - before}
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(result))
}

// connect opens a connection for each worker.
func (r RawLoop) connect(post func(int) error) error {
	var group errgroup.Group
	for i := range rawLoopWorkers {
		group.Go(func() error { return post(i) })
	}
	return group.Wait()
}
