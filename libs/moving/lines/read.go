package lines

import (
	"bufio"
	"bytes"
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
// the field. Read returns an error if the file exceeds a limit or cannot be read.
func Read(r io.Reader) (*Set, error) { return ReadPiece(r, nil) }

// ReadPiece is Read for a part of a file. known is the kind (dashboard or component) of each key of the records before
// it, to which records of the part may refer.
func ReadPiece(r io.Reader, known map[string]string) (*Set, error) {
	in := &reading{set: &Set{}}
	buffer := bufio.NewReaderSize(io.LimitReader(r, MaxFile+1), 1<<16)
	for size := 0; ; {
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
		switch line = bytes.TrimSpace(line); {
		case length > MaxLine:
			in.refuse("", fault{"", fmt.Sprintf("is longer than %d bytes", MaxLine)})
		case len(line) > 0:
			in.record(line)
		}
		if err != nil {
			break
		}
	}
	in.set.check(in.places, known)
	return in.set, nil
}

// nextLine returns the next line without its end, and its length in bytes. The line is cut after MaxLine bytes.
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

// reading is the state of Read.
type reading struct {
	set    *Set
	line   int
	kind   int            // place of the present kind in kinds
	places map[string]int // line of each record, by nameOf
}

func (in *reading) refuse(key string, f fault) {
	if key == "" {
		key = fmt.Sprintf("lines:line:%d", in.line)
	}
	in.set.Warn(key, f.field, fmt.Sprintf("line %d: %s", in.line, f.text))
}

// record decodes a line and appends the record to the set.
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
		if in.places == nil {
			in.places = map[string]int{}
		}
		name := nameOf(kind, key)
		if first := in.places[name]; first > 0 {
			in.refuse(key, fault{"key", fmt.Sprintf("is the key of line %d already", first)})
			return
		}
		in.places[name] = in.line
	}
	switch kind {
	case "dashboard":
		f = decode(line, &in.set.Dashboards)
	case "component":
		f = decode(line, &in.set.Components)
	case "event":
		f = decode(line, &in.set.Events)
	case "subscriber":
		f = decode(line, &in.set.Subscribers)
	case "endpoint":
		f = decode(line, &in.set.Endpoints)
	case "warning":
		f = decode(line, &in.set.Warnings)
	}
	if f != nil {
		in.refuse(key, *f)
	}
}

// head returns the kind of a line, and its key for messages. kind must be the first member.
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

// decode appends the record of a line to records.
func decode[T any](line []byte, records *[]T) *fault {
	var record T
	if err := json.Unmarshal(line, &record, json.RejectUnknownMembers(true)); err != nil {
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
	*records = append(*records, record)
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
