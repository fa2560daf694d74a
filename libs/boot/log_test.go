package boot_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

// Text from a client can neither begin a new line nor control the terminal, wherever it is in a log line.
func TestTextLinesEscapeHostileValues(t *testing.T) {
	for _, hostile := range []string{"a\nb", "a\r\n12:00:00Z ERROR gateway  forged", "\x1b[31mred", "\x1b]0;title\x07", "\u009b31m", "\x9b31m", "\u202eright", "a\tb", "\x00", "\u2028"} {
		var out bytes.Buffer
		log, err := boot.Settings{LogLevel: "info", LogFormat: "text"}.Logger("events", &out)
		if err != nil {
			t.Fatal(err)
		}
		log.With("with"+hostile, hostile).WithGroup("in"+hostile).Warn("message "+hostile, hostile, hostile, "error", errors.New(hostile), "any", []string{hostile})
		line := strings.TrimSuffix(out.String(), "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Contains(line, "\x9b") {
			t.Errorf("%q gets through: %q", hostile, line)
		}
	}
}

func TestTextLinesHaveServiceMessageAttributesAndTrace(t *testing.T) {
	var out bytes.Buffer
	log, err := boot.Settings{LogLevel: "info", LogFormat: "text"}.Logger("events", &out)
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	log.DebugContext(ctx, "below the level")
	log.InfoContext(ctx, "ready", "addr", "127.0.0.1:8080", "level", "its own", "msg", "its own")
	log.With("of", "events").Error("relaying failed", slog.Group("broker", "host", "a b"), "time", 5)
	_, first, _ := strings.Cut(out.String(), "Z ")
	first, second, _ := strings.Cut(first, "\n")
	_, second, _ = strings.Cut(second, "Z ")
	const trace = "01000000000000000000000000000000"
	if want := `INFO  events       ready  addr=127.0.0.1:8080 level="its own" msg="its own"  trace_id=` + trace; first != want {
		t.Errorf("%s\nwant %s", first, want)
	}
	if want := "ERROR events       relaying failed  of=events broker.host=\"a b\" time=5\n"; second != want {
		t.Errorf("%s\nwant %s", second, want)
	}
}
