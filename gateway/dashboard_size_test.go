package gateway

import "testing"

// A page with many long texts is served like others.
func TestALargeFileIsServed(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.padding = 7 << 20
	for range 2 {
		g := d.get(t, "/d/main/history", plainly(nil))
		if wantStatus(t, g, 200); g.body != p.body("history", codingPlain) {
			t.Errorf("the file has %d bytes", len(g.body))
		}
	}
	if _, files := p.asked("history"); files != 1 {
		t.Errorf("the file was read %d times", files)
	}
}
