package topic_test

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// filled returns a destination whose fields all differ, also those that are declared later.
func filled(t *testing.T, seed int) topic.Destination {
	t.Helper()
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		seed++
		switch v.Kind() {
		case reflect.String:
			v.SetString("text " + strconv.Itoa(seed) + " ü\x00")
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Int:
			v.SetInt(int64(seed))
		default:
			t.Fatalf("fields of the kind %s are not packed", v.Kind())
		}
	}
	var d topic.Destination
	fill(reflect.ValueOf(&d).Elem())
	return d
}

func TestAPackedMessageIsUnpackedUnchanged(t *testing.T) {
	alike := filled(t, 100)
	alike.ID, alike.Secrets = "another", []string{}
	empty := alike
	empty.Components = []string{}
	absent := alike
	absent.Components = nil
	for name, list := range map[string][]topic.Destination{
		"none":         {},
		"zero":         {{}, {}},
		"different":    {filled(t, 0), filled(t, 100), {ID: "gone", State: topic.RecipientGone}, filled(t, 200)},
		"alike":        {filled(t, 100), alike, alike},
		"absent lists": {alike, absent, empty, absent, absent, empty, empty},
	} {
		got, err := topic.Unpack(topic.Pack(list))
		if err != nil || !reflect.DeepEqual(got, list) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, got, list)
		}
	}
}

// During an upgrade, services of two versions exchange destinations. They recognize another form only by its name.
func TestAnotherPackedFormHasAnotherName(t *testing.T) {
	forms := map[string]string{
		"application/vnd.bellbuoy.destinations-3": "28027ae63421595a0705dc5ccb70f7d145a044f627b0ef8e57b6fb13cde9cc58",
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(topic.Pack([]topic.Destination{filled(t, 0), filled(t, 0), filled(t, 100), {}})))
	if forms[topic.PackedDestinations] != digest {
		t.Errorf("Pack has another form: raise the number in PackedDestinations, and write here %q: %q", topic.PackedDestinations, digest)
	}
}

func TestDamagedMessagesAreRefused(t *testing.T) {
	packed := topic.Pack([]topic.Destination{filled(t, 0), filled(t, 100)})
	for n := range packed {
		if _, err := topic.Unpack(packed[:n]); err == nil {
			t.Errorf("%d of %d bytes have no error", n, len(packed))
		}
	}
	if _, err := topic.Unpack(append(packed, 0)); err == nil {
		t.Error("a byte after the end has no error")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(topic.Pack([]topic.Destination{{ID: "a", Components: []string{"b"}}, {}}))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := topic.Unpack(data)
		if err != nil {
			return
		}
		again, err := topic.Unpack(topic.Pack(list))
		if err != nil || !reflect.DeepEqual(again, list) {
			t.Errorf("%v: %+v, %+v", err, again, list)
		}
	})
}
