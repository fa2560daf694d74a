package topic_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// An event of 500 components on 50 dashboards, which is the most that an organization has by default.
func TestACompactEventIsReadLikeTheOther(t *testing.T) {
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprintf("0190aaaa-0000-7000-8000-%012d", i))
	}
	event := topic.Event{ID: "e", Components: []topic.Component{{ID: "nowhere"}}}
	for i := range 500 {
		event.Components = append(event.Components, topic.Component{ID: fmt.Sprintf("0190cccc-0000-7000-8000-%012d", i), Name: "Checkout", Dashboards: ids[i%7:]})
	}
	text, err := json.Marshal(event.Compact())
	if err != nil || len(text) > 200_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	plain, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range [][]byte{text, plain} {
		var read topic.Event
		if err := json.Unmarshal(form, &read); err != nil || !reflect.DeepEqual(read, event) {
			t.Errorf("another event, %v", err)
		}
	}
	var damaged topic.Event
	if err := json.Unmarshal([]byte(`{"components": [{"placedOn": [-1, 3]}], "places": ["x"]}`), &damaged); err != nil || damaged.Components[0].Dashboards != nil {
		t.Errorf("%+v, %v", damaged, err)
	}
}
