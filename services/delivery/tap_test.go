package delivery_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The requests of Kafka's protocol that the tap names.
const (
	apiProduce      = 0
	apiOffsetCommit = 8
)

// tap stands between the service and the broker. It names the requests that mark a step of the pipeline, and tells
// before each is forwarded and after the broker answered it. With that a test kills the service between two steps.
type tap struct {
	address, broker string

	mu   sync.Mutex
	tell func(step string) // "before ..." or "after ..."
}

func newTap(t testing.TB, broker string) *tap {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &tap{address: listener.Addr().String(), broker: broker}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// tells sets the function that hears of each step. The connection waits until the function returns.
func (p *tap) tells(tell func(step string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = tell
}

func (p *tap) heard(moment, step string) {
	if step == "" {
		return
	}
	p.mu.Lock()
	tell := p.tell
	p.mu.Unlock()
	if tell != nil {
		tell(moment + " " + step)
	}
}

// serve forwards the frames of one connection in both directions.
func (p *tap) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.broker)
	if err != nil {
		return
	}
	defer server.Close()
	var mu sync.Mutex
	steps := map[uint32]string{} // by correlation id
	go func() {
		defer client.Close()
		defer server.Close()
		for {
			frame, err := readFrame(server)
			if err != nil {
				return
			}
			id := binary.BigEndian.Uint32(frame[4:])
			mu.Lock()
			step := steps[id]
			delete(steps, id)
			mu.Unlock()
			p.heard("after", step)
			if _, err := client.Write(p.readdressed(frame)); err != nil {
				return
			}
		}
	}()
	for {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		step := stepOf(frame)
		mu.Lock()
		steps[binary.BigEndian.Uint32(frame[8:])] = step
		mu.Unlock()
		p.heard("before", step)
		if _, err := server.Write(frame); err != nil {
			return
		}
	}
}

// readFrame reads a request or a response with its size.
func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
	copy(frame, size[:])
	_, err := io.ReadFull(from, frame[4:])
	return frame, err
}

// stepOf names a request that marks a step of the pipeline. Topic and group are among its first bytes.
func stepOf(frame []byte) string {
	head := frame[:min(len(frame), 128)]
	switch binary.BigEndian.Uint16(frame[4:]) {
	case apiProduce:
		for _, name := range []string{topic.DeliveryOutcomes, topic.Deliveries} {
			if bytes.Contains(head, []byte(name)) {
				return "produce " + name
			}
		}
	case apiOffsetCommit:
		for _, group := range []string{"delivery-plan", "delivery-send"} {
			if bytes.Contains(head, []byte(group)) {
				return "commit " + group
			}
		}
	}
	return ""
}

// readdressed replaces the broker's address in a response by the tap's, so that the client comes back to the tap.
func (p *tap) readdressed(frame []byte) []byte {
	return bytes.ReplaceAll(frame, binaryAddress(p.broker), binaryAddress(p.address))
}

// binaryAddress returns the form of an address in Kafka's protocol.
func binaryAddress(address string) []byte {
	host, port, _ := net.SplitHostPort(address)
	number, _ := strconv.ParseUint(port, 10, 32)
	return binary.BigEndian.AppendUint32([]byte(host), uint32(number))
}
