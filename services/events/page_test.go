package events_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestPageAtOnce checks that the page shows each write as soon as its client has the response, with
// many clients that write services and events on two processes.
func TestPageAtOnce(t *testing.T) {
	p := start(t, startBroker(t))
	first := p.url
	p.run()
	second := p.in(t)
	second.url = p.url
	p.url = first
	row := func(p *platform, id string) map[string]any {
		for _, object := range p.must(200, "public", "GET", "/public/v1/dashboards/acme-status/list", "")["objects"].([]any) {
			if row := object.(map[string]any); fmt.Sprintf("/api/v1/service/%v/", row["id"]) == id {
				return row
			}
		}
		return nil
	}
	const clients, each = 3, 3
	var group sync.WaitGroup
	for client := range 2 * clients {
		mine, other := p.in(t), second
		if client%2 == 1 {
			mine, other = second, p
		}
		group.Go(func() {
			for i := range each {
				name := fmt.Sprintf("API %d %d", client, i)
				service := mine.must(201, "", "POST", "/api/v1/service/", `{"service_name": "new"}`)["resource_uri"].(string)
				if row(other, service) == nil {
					t.Errorf("%s is not on the page", service)
					return
				}
				other.must(200, "", "PUT", service, fmt.Sprintf(`{"service_name": %q}`, name))
				if got := row(mine, service)["service_name"]; got != name {
					t.Errorf("%s is called %v on the page", service, got)
				}
				event := mine.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 1}, "status": {"status": "identified"}, "description": "d", "start": "2026-01-02T03:04:05", "event_service": ["`+service+`"]}`)["resource_uri"].(string)
				if got := row(other, service)["status"]; got != "active incident" {
					t.Errorf("%s is %v on the page", service, got)
				}
				mine.must(200, "", "PUT", event, `{"status": {"status": "resolved"}}`)
				if got := row(other, service)["status"]; got != "operational" {
					t.Errorf("%s is %v on the page after the end", service, got)
				}
				switch i % 3 {
				case 0:
					mine.must(204, "", "DELETE", service, "")
				case 1:
					mine.must(200, "", "PUT", service, `{"hidden": true}`)
				default:
					continue
				}
				if row(other, service) != nil {
					t.Errorf("%s is still on the page", service)
				}
			}
		})
	}
	group.Wait()
}
