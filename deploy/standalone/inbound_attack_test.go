package main_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// inboundAttacks sends what no monitoring tool sends. The responses are those of the contract, and no request that is
// refused stores a problem.
func inboundAttacks(t *testing.T, base string) {
	a := actor{t, provision(t, base, "Acme", "attacked", "admin", "api")}
	a.component("Checkout", "checkout")
	m := a.tool(map[string]any{"name": "Tool", "openAfter": "1h"})
	const generic = `{"action": "trigger", "externalId": "p", "title": "t", "components": ["checkout"]}`
	for format, body := range map[string]string{
		"alertmanager": `{"version": "4", "groupKey": "a", "status": "firing", "commonLabels": {"component": "checkout"}}`,
		"grafana":      `{"groupKey": "g", "status": "firing", "commonLabels": {"component": "checkout"}}`,
		"uptime-kuma":  `{"heartbeat": {"status": 0}, "monitor": {"id": 1, "tags": [{"name": "component", "value": "checkout"}]}}`,
		"gatus":        `{"name": "Checkout", "group": "default", "status": "TRIGGERED"}`,
		"zabbix":       `{"eventid": "1", "value": "1", "name": "n", "components": "checkout"}`,
		"generic":      generic,
	} {
		for bytes, want := range map[int]int{65_536: http.StatusOK, 65_537: http.StatusRequestEntityTooLarge} {
			send(t, http.MethodPost, base+"/public/webhooks/inbound/"+format, m.token, body+strings.Repeat(" ", bytes-len(body))).expect(t, want)
		}
		for _, bomb := range []string{"", "[" + body + "]", body + "{}", strings.Repeat("[", 32_000), strings.Repeat(`{"a":`, 10_900) + "1" + strings.Repeat("}", 10_900)} {
			send(t, http.MethodPost, base+"/public/webhooks/inbound/"+format, m.token, bomb).expect(t, http.StatusBadRequest)
		}
		send(t, http.MethodPost, base+"/public/webhooks/inbound/"+format, m.token+"x", strings.Replace(body, "p", "q", 1)).expect(t, http.StatusForbidden)
	}
	head := func(headers ...string) string {
		return "POST /public/webhooks/inbound/generic HTTP/1.1\r\nHost: " + strings.TrimPrefix(base, "http://") + "\r\nConnection: close\r\nAuthorization: " + m.token + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
	}
	lying := strings.Replace(generic, `"p"`, `"lying"`, 1)
	for name, request := range map[string]string{
		"a length that is too small": head("Content-Length: 10") + lying,
		"two lengths":                head("Content-Length: 10", "Content-Length: 11") + lying,
		"a negative length":          head("Content-Length: -1") + lying,
		"a length and chunks":        head("Content-Length: 10", "Transfer-Encoding: chunked") + "0\r\n\r\n",
	} {
		if status := m.raw(request); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	var page struct {
		Problems []struct{ ExternalID, State string }
	}
	send(t, http.MethodGet, base+"/app/integrations/webhooks/inbound/problems?limit=100", a.app(), nil).expect(t, http.StatusOK).into(t, &page)
	var stored []string
	for _, problem := range page.Problems {
		stored = append(stored, problem.ExternalID+" "+problem.State)
	}
	slices.Sort(stored)
	if got := strings.Join(stored, ", "); got != "a waiting, g waiting, gatus:default/Checkout waiting, kuma:1 waiting, p waiting, zabbix:1 waiting" {
		t.Errorf("the problems are %s", got)
	}
}

// raw sends the bytes of a request to the platform and returns the status.
func (m monitor) raw(request string) int {
	m.t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(m.BaseURL, "http://"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, request); err != nil {
		m.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
