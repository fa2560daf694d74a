package peer

import "testing"

// readers panics for a media type that it does not know.
func TestEachFileSaysWhoMayReadIt(t *testing.T) {
	shared, keyed := 0, 0
	for _, file := range DashboardFiles() {
		if file.IsShared() {
			shared++
		}
		if file.IsFeed() {
			keyed++
		}
		if file.IsPage() && (file.IsShared() || file.IsFeed()) {
			t.Errorf("the page %s can be read by scripts of other sites, or with a key", file.Path)
		}
	}
	if shared == 0 || keyed == 0 {
		t.Errorf("%d files are shared, %d have a key", shared, keyed)
	}
}
