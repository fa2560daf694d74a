package legacy_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// A text that is not Unicode is refused, and not stored as another text. Any other text is stored unchanged.
func TestCreateNotUnicode400(t *testing.T) {
	handler := newHandler(newWorld(t), slog.New(slog.DiscardHandler))
	for _, value := range []string{
		"\xff", "a\xc3", "\xed\xa0\x80", `\ud800`, `a\ud800b`, `\udc00`, `\udc00\ud800`, `\ud83d\ud83d\ude00`, `\ud83d\n`, `\ud83d\\ude00`, `\\\ud800`, `\uDBFF\u0041`,
	} {
		ask(t, handler, http.MethodPost, "/api/v1/service/", `{"service_name": "`+value+`"}`, http.StatusBadRequest)
		ask(t, handler, http.MethodPost, "/api/v1/service/", `{"service_name": "a", "unknown": {"`+value+`": 1}}`, http.StatusBadRequest)
	}
	_, list := ask(t, handler, http.MethodGet, "/api/v1/service/", "", http.StatusOK)
	if !strings.Contains(list, `"total_count":0`) {
		t.Errorf("something was stored: %s", list)
	}
	for value, stored := range map[string]string{
		`\ud83d\ude00`: "😀", `\uD83D\uDE00x`: "😀x", "😀": "😀", `\\ud800`: `\\ud800`, "\ufffd": "\ufffd", `\ufffd`: "\ufffd", `\u00e9\\`: `é\\`,
	} {
		_, created := ask(t, handler, http.MethodPost, "/api/v1/service/", `{"service_name": "`+value+`"}`, http.StatusCreated)
		if !strings.Contains(created, `"service_name":"`+stored+`"`) {
			t.Errorf("%s was stored as %s", value, created)
		}
	}
}
