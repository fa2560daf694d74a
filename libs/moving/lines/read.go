package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kinds are the kinds of lines in their order.
var kinds = []string{"dashboard", "component", "event", "subscriber", "endpoint", "warning"}

// Read reads a file and checks each record. A record that is refused becomes a warning that names its line, its key and
// the field. After more than MaxWarnings refused lines, the rest of the file is left out, with a warning. Read returns
// an error if the file has more than MaxFile bytes or cannot be read, or if ctx ends.
func Read(ctx context.Context, r io.Reader) (*Set, error) { return ReadPiece(ctx, r, nil, 0) }

// ReadPiece is Read for a part of a file. known has the kind (dashboard or component) of the records before the part, by
// key. Records of the part may refer to these records. ReadPiece returns an error if there are more lines than most; 0 allows
// any number.
func ReadPiece(ctx context.Context, r io.Reader, known map[string]string, most int) (*Set, error) {
	set := &Set{}
	in := &reading{set: set, checker: newChecker(set, known), places: map[string]int{}}
	buffer := bufio.NewReaderSize(io.LimitReader(r, MaxFile+1), 1<<16)
	for size := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in.line++
		line, length, err := nextLine(buffer)
		if size += length; size > MaxFile {
			return nil, fmt.Errorf("the file has more than %d bytes", MaxFile)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if in.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		switch {
		case most > 0 && len(line) > 0 && in.line > most:
			return nil, fmt.Errorf("there are more than %d lines", most)
		case length > MaxLine:
			in.refuse("", fault{"", fmt.Sprintf("is longer than %d bytes", MaxLine)})
		case len(line) > 0:
			in.record(line)
		}
		if in.refused > MaxWarnings {
			in.set.Warnings[len(in.set.Warnings)-1].Text = fmt.Sprintf("more than %d lines are refused; the file is not read after line %d", MaxWarnings, in.line)
			break
		}
		if err != nil {
			break
		}
	}
	return in.set, nil
}

// nextLine returns the next line with its line break, and its length in bytes. A line of more than MaxLine bytes may be incomplete.
func nextLine(r *bufio.Reader) (line []byte, length int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		length += len(part)
		if len(line) <= MaxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, length, err
		}
	}
}

// fault is the reason why a record is refused.
type fault struct{ field, text string }

// reading is the state of ReadPiece.
type reading struct {
	*checker
	set     *Set
	kind    int            // index of the present kind in kinds
	places  map[string]int // number of the line of each record, by nameOf
	refused int            // number of refused lines
}

func (in *reading) refuse(key string, f fault) {
	in.refused++
	in.key = key
	in.warn(f, "")
}

// record decodes a line, checks the record and appends it to the set.
func (in *reading) record(line []byte) {
	kind, key, f := head(line)
	if f != nil {
		in.refuse(key, *f)
		return
	}
	place := slices.Index(kinds, kind)
	switch {
	case place < 0:
		in.refuse(key, fault{"kind", "must be one of " + strings.Join(kinds, ", ")})
		return
	case place < in.kind:
		in.refuse(key, fault{"kind", "a line " + kind + " must be before the lines " + kinds[in.kind]})
		return
	}
	in.kind = place
	if kind != "warning" {
		name := nameOf(kind, key)
		if first := in.places[name]; first > 0 {
			in.refuse(key, fault{"key", fmt.Sprintf("is the key of line %d already", first)})
			return
		}
		in.places[name] = in.line
	}
	switch kind {
	case "dashboard":
		take(in, kind, key, line, &in.set.Dashboards, in.dashboard)
	case "component":
		take(in, kind, key, line, &in.set.Components, in.component)
	case "event":
		take(in, kind, key, line, &in.set.Events, in.event)
	case "subscriber":
		take(in, kind, key, line, &in.set.Subscribers, in.subscriber)
	case "endpoint":
		take(in, kind, key, line, &in.set.Endpoints, in.endpoint)
	case "warning":
		var w Warning
		if f := decode(line, &w); f != nil {
			in.refuse(key, *f)
			return
		}
		in.set.warn(w)
	}
}

// take decodes the record of a line, and appends the record to records if check accepts it.
func take[T any](in *reading, kind, key string, line []byte, records *[]T, check func(*T)) {
	var record T
	if f := decode(line, &record); f != nil {
		in.refuse(key, *f)
		return
	}
	if !admit(in.checker, kind, key, &record, check) {
		in.refused++
		return
	}
	*records = append(*records, record)
}

// head returns the kind of a line, and its key for the warnings. It returns a fault if the line is no valid JSON object or if
// kind is not its first member.
func head(line []byte) (kind, key string, f *fault) {
	if !jsontext.Value(line).IsValid() {
		err := json.Unmarshal(line, new(any))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
			return "", "", &fault{path(syntax.JSONPointer), "must be there once"}
		}
		return "", "", &fault{"", "is no valid JSON in UTF-8"}
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(line))
	if open, _ := decoder.ReadToken(); open.Kind() != '{' {
		return "", "", &fault{"", "must be a JSON object"}
	}
	first, _ := decoder.ReadToken()
	if first.Kind() != '"' || first.String() != "kind" {
		return "", "", &fault{"kind", "must be the first member"}
	}
	var named struct {
		Kind any `json:"kind"`
		Key  any `json:"key"`
	}
	if err := json.Unmarshal(line, &named); err != nil {
		return "", "", &fault{"", "is no valid JSON in UTF-8"}
	}
	kind, _ = named.Kind.(string)
	key, _ = named.Key.(string)
	return kind, key, nil
}

// decode decodes the record of a line.
func decode(line []byte, record any) *fault {
	if err := json.Unmarshal(line, record, json.RejectUnknownMembers(true)); err != nil {
		semantic, ok := errors.AsType[*json.SemanticError](err)
		switch {
		case !ok:
			return &fault{"", "is no valid JSON in UTF-8"}
		case errors.Is(err, json.ErrUnknownName):
			return &fault{path(semantic.JSONPointer), "is not a member of this line"}
		case semantic.GoType == reflect.TypeFor[time.Time]():
			return &fault{path(semantic.JSONPointer), "must be a time with its zone, such as 2026-01-31T09:30:00Z"}
		}
		return &fault{path(semantic.JSONPointer), "has another JSON type than it must have"}
	}
	return nil
}

// path writes a JSON pointer as people write it: timeline[1].at.
func path(pointer jsontext.Pointer) string {
	var out strings.Builder
	for token := range pointer.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&out, "[%s]", token)
		case out.Len() > 0:
			out.WriteString("." + token)
		default:
			out.WriteString(token)
		}
	}
	return out.String()
}
