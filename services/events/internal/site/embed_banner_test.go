package site

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The script is the constant source, called with the settings as JSON. So a text cannot end its string.
// scripts/clients runs it in a document of jsdom.
func TestEmbedJS(t *testing.T) {
	s := hostileSnapshot()
	s.Dashboard.Name = strings.Repeat("\"</script>", 10)
	german := func(key string) string { return "de " + key + " \"'<>&\u2028" }
	file, err := embedJS(s, german)
	if err != nil || len(file.Body) > 4096 {
		t.Fatalf("%d bytes (%v)", len(file.Body), err)
	}
	arguments, found := strings.CutPrefix(string(file.Body), strings.TrimSpace(withoutComments(embedSource)))
	if !found || !strings.HasPrefix(arguments, "(") || !strings.HasSuffix(arguments, ");\n") || strings.ContainsAny(arguments, "<>\u2028") {
		t.Fatalf("arguments %s", arguments)
	}
	var got embedSettings
	if err := json.Unmarshal([]byte(arguments[1:len(arguments)-3]), &got); err != nil {
		t.Fatal(err)
	}
	want := embedSettings{
		Name: s.Dashboard.Name, Page: "https://status.example.com/", Status: "https://status.example.com/api/v2/status.json", Lang: "en",
		Colon: german("format.colon"), Close: german("embed.close"), Details: german("embed.details"), Words: map[string]string{}, Colors: got.Colors,
	}
	for _, state := range impacts()[1:] {
		s.Components, s.Events = s.Components[:1], nil
		s.Components[0].State = state
		status := pageStatusOf(s)
		want.Words[status.Description] = german("state." + string(state))
		if got.Colors[string(status.Indicator)] != badgeColor(state) {
			t.Errorf("the colour of %s is %s, want %s", status.Indicator, got.Colors[string(status.Indicator)], badgeColor(state))
		}
	}
	want.Words["Minor Service Outage"] = german("state.incident")
	if _, there := got.Colors["none"]; there || !reflect.DeepEqual(got, want) {
		t.Errorf("settings %+v, want %+v", got, want)
	}
}
