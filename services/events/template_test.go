package events_test

import (
	"fmt"
	"maps"
	"testing"
)

// TestTheLimitOfTemplatesIsExactAcrossProcesses lets clients of two processes create templates at once, when few are left
// and after a deletion.
func TestTheLimitOfTemplatesIsExactAcrossProcesses(t *testing.T) {
	const limit, room, clients = 100, 5, 20
	first, second, _ := pair(t)
	create := func(i int) answer {
		return []*platform{first, second}[i%2].send("app event a", "POST", "/app/templates", fmt.Sprintf(`{"kind": "update", "name": "Client %d"}`, i))
	}
	for i := range limit - room {
		if got := create(i); got.status != 201 {
			t.Fatalf("template %d: %d %s", i, got.status, got.body)
		}
	}
	if got := first.race(clients, create); !maps.Equal(got, map[int]int{201: room, 409: clients - room}) {
		t.Errorf("at the limit: %v", got)
	}
	list := first.must(200, "app event a", "GET", "/app/templates?limit=100", "")["templates"].([]any)
	if len(list) != limit {
		t.Fatalf("%d templates", len(list))
	}
	first.must(204, "app event a", "DELETE", "/app/templates/"+list[0].(map[string]any)["id"].(string), "")
	if got := first.race(clients, create); !maps.Equal(got, map[int]int{201: 1, 409: clients - 1}) {
		t.Errorf("after a deletion: %v", got)
	}
	first.must(201, "app event b", "POST", "/app/templates", `{"kind": "update", "name": "Another organization's"}`)
}
