package boot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"go.opentelemetry.io/otel/trace"
)

// Logger returns a logger that writes to out. Each line has the name of the service. LogFormat decides the form of the
// lines. Logger returns an error if LogLevel is invalid.
func (s Settings) Logger(name string, out io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return nil, fmt.Errorf("BELLBUOY_LOG_LEVEL: %w", err)
	}
	file, isFile := out.(*os.File)
	terminal := isFile && isatty.IsTerminal(file.Fd())
	if s.LogFormat == "text" || s.LogFormat != "json" && terminal {
		colours := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		return slog.New(newTextHandler(name, out, level, terminal, colours)), nil
	}
	return slog.New(logHandler{slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})}).With("service", name), nil
}

// logHandler adds the ids of the context's trace and span to each line whose context has a trace, and writes times in UTC.
type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	record.Time = record.Time.UTC()
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

// textHandler writes lines for people: time in UTC, level, service, message, attributes, and the id of the trace.
// slog's text handler writes the attributes, because it escapes control characters.
type textHandler struct {
	slog.Handler // writes the attributes to line
	line         *textLine
}

// textLine is the buffer for a line. All handlers of a logger share it.
type textLine struct {
	mu      sync.Mutex
	text    bytes.Buffer
	out     io.Writer
	service string
	layout  string // format of the time
	colours bool
}

func newTextHandler(service string, out io.Writer, level slog.Level, terminal, colours bool) textHandler {
	line := &textLine{out: out, service: service, layout: time.DateOnly + " 15:04:05Z", colours: colours}
	if terminal { // on a terminal, the date is not needed
		line.layout = "15:04:05Z"
	}
	return textHandler{slog.NewTextHandler(&line.text, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutHead}), line}
}

// withoutHead removes the level and the message from the attributes, because textHandler writes both itself.
func withoutHead(groups []string, a slog.Attr) slog.Attr {
	_, isLevel := a.Value.Any().(slog.Level)
	if len(groups) == 0 && (a.Key == slog.LevelKey && isLevel || a.Key == slog.MessageKey && a.Value.String() == "") {
		return slog.Attr{}
	}
	return a
}

const (
	red    = "31"
	yellow = "33"
	dim    = "2"
)

// Handle implements slog.Handler.
func (h textHandler) Handle(ctx context.Context, record slog.Record) error {
	l := h.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
	colour := dim
	switch {
	case record.Level >= slog.LevelError:
		colour = red
	case record.Level >= slog.LevelWarn:
		colour = yellow
	case record.Level >= slog.LevelInfo:
		colour = ""
	}
	fmt.Fprintf(&l.text, "%s %s %-12s %s  ", l.painted(dim, record.Time.UTC().Format(l.layout)),
		l.painted(colour, fmt.Sprintf("%-5s", record.Level)), l.service, printable(record.Message))
	record.Time, record.Message = time.Time{}, "" // slog's text handler omits a zero time
	if err := h.Handler.Handle(ctx, record); err != nil {
		return err
	}
	text := strings.TrimRight(l.text.String(), " \n")
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		text += "  " + l.painted(dim, "trace_id="+span.TraceID().String())
	}
	_, err := io.WriteString(l.out, text+"\n")
	return err
}

// WithAttrs implements slog.Handler.
func (h textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return textHandler{h.Handler.WithAttrs(attrs), h.line}
}

// WithGroup implements slog.Handler.
func (h textHandler) WithGroup(name string) slog.Handler {
	return textHandler{h.Handler.WithGroup(name), h.line}
}

func (l *textLine) painted(colour, text string) string {
	if !l.colours || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// printable quotes a text that could control the terminal or look like a separate line.
func printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return strconv.Quote(text)
}
