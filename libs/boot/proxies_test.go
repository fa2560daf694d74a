package boot

import (
	"net/netip"
	"os"
	"strings"
	"testing"
)

func TestHostIsTheAddressOfTheDefaultRoute(t *testing.T) {
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	const local = "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
	got, err := defaultRoute(head + local + "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
	if want := netip.MustParsePrefix("172.18.0.1/32"); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := defaultRoute(head + local); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a default route: %v, %v", got, err)
	}
	table, err := os.ReadFile(routes)
	if err != nil || !strings.Contains(string(table), "\t00000000\t") {
		t.Logf("this machine has no default route: %v", err)
		return
	}
	networks, err := Proxies{TrustedProxies: []string{"10.0.0.0/8", "host"}}.Networks()
	if err != nil || len(networks) != 2 || networks[0].String() != "10.0.0.0/8" || networks[1].Bits() != 32 {
		t.Errorf("%v, %v", networks, err)
	}
}
