package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/moving/download"
	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// mostOutcomes is the maximum number of outcomes in each list of a movePart.
const mostOutcomes = 200_000

// movePart is the body of a request with which the script plans, writes or undoes a piece of an import.
type movePart struct {
	State    transfer.State `json:"state"`
	Text     string         `json:"text"` // lines of a piece
	Ask      bool           `json:"ask"`
	Force    bool           `json:"force"`
	RunID    string         `json:"runId"`
	Outcomes outcomeList    `json:"outcomes"` // outcomes to undo; with planned: the dashboards that the run has created
	Planned  outcomeList    `json:"planned"`  // outcomes that the run was about to create, and whose result is unknown
}

// moveAnswer is the response to a request of the script.
type moveAnswer struct {
	Pieces   []movePiece         `json:"pieces,omitempty"`
	Names    map[string]moveName `json:"names,omitempty"` // by key
	Note     string              `json:"note,omitempty"`  // says how many subscribers and webhooks the member did not choose
	Lost     []moveLoss          `json:"lost,omitempty"`
	State    *transfer.State     `json:"state,omitempty"`
	Outcomes []transfer.Outcome  `json:"outcomes,omitempty"`
	Undone   []moveUndone        `json:"undone,omitempty"`
	Left     int                 `json:"left"`              // number of events that the next requests undo
	Gone     int                 `json:"gone"`              // number of events that this request undid
	Kept     int                 `json:"kept"`              // number of events that are kept, because a member has changed them
	Problem  string              `json:"problem,omitempty"` // why the request failed or stopped early
	Again    bool                `json:"again,omitempty"`   // the same request may succeed later
}

// movePiece is a piece of the lines of a source. Its records have one kind.
type movePiece struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// moveUndone is the result of undoing an outcome.
type moveUndone struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Gone bool   `json:"gone"`
	Text string `json:"text,omitempty"` // why the record is kept
}

// moveRead reads the files of a source, and responds with the lines in pieces.
func (p *pages) moveRead(v *visit) error {
	web.Admit(v.Context, mostPacked)
	if err := unpack(v, mostUploaded); err != nil {
		return err
	}
	form := moveForm(nil)
	form.Field("into").Options = nil
	files := &upload{}
	files.take(form)
	defer files.remove()
	return v.submit(form, func() error {
		set, note := v.readSource(form, files)
		if set == nil {
			return v.json(moveAnswer{Problem: problemsOf(form)})
		}
		answer := moveAnswer{Pieces: []movePiece{}, Names: namesIn(set), Note: note}
		for _, w := range set.Warnings {
			answer.Lost = append(answer.Lost, lossOf(w, answer.Names))
		}
		for _, piece := range transfer.Split(set) {
			answer.Pieces = append(answer.Pieces, pieceOf(piece))
		}
		return v.json(answer)
	}, func(int) error { return v.json(moveAnswer{Problem: problemsOf(form)}) })
}

// pieceOf returns a piece as the browser keeps it.
func pieceOf(piece *lines.Set) movePiece {
	var text strings.Builder
	_ = piece.Write(&text) // a Builder never fails
	out := movePiece{Text: text.String()}
	for kind, count := range map[string]int{
		"dashboard": len(piece.Dashboards), "component": len(piece.Components), "event": len(piece.Events), "subscriber": len(piece.Subscribers), "endpoint": len(piece.Endpoints),
	} {
		if count > 0 {
			out.Kind, out.Count = kind, count
		}
	}
	return out
}

// readPart reads the body of the request, and calls use with it. Until use returns, the console reads no other import. readPart
// reads the body before it waits for other imports, so that a slow browser does not block them.
func readPart(v *visit, use func(part movePart) error) error {
	web.Admit(v.Context, mostPacked)
	packed, err := io.ReadAll(v.Request.Body)
	if err != nil {
		return partFailed(err)
	}
	ctx, cancel := context.WithTimeout(v.Request.Context(), readTime)
	defer cancel()
	release, err := v.pages.beginReading(ctx)
	if err != nil {
		return fault.New(fault.Unavailable, "%s", err)
	}
	defer release()
	v.Request.Body = io.NopCloser(bytes.NewReader(packed))
	if err := unpack(v, mostPart); err != nil {
		return err
	}
	text, err := io.ReadAll(v.Request.Body)
	var part movePart
	if err == nil {
		err = json.Unmarshal(text, &part)
	}
	if err != nil {
		return partFailed(err)
	}
	return use(part)
}

// partFailed returns the fault for an error of reading a movePart.
func partFailed(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.New(fault.TooLarge, "This piece of the import has more than %d MiB, or more than %d MiB when compressed. Use the command bellbuoy import.", mostPart>>20, mostPacked>>20)
	}
	if fault.Is(err, fault.TooLarge) {
		return err
	}
	return fault.Wrap(fault.Invalid, err, "The body must be JSON, as the page sends it.")
}

// outcomeList is a list of outcomes. An outcome needs more memory than its text, so UnmarshalJSON limits their number.
type outcomeList []transfer.Outcome

// UnmarshalJSON implements json.Unmarshaler. It returns an error for more than mostOutcomes.
func (l *outcomeList) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	if first, err := in.Token(); err != nil || first != json.Delim('[') {
		return err // nil for null
	}
	for in.More() {
		var o transfer.Outcome
		if err := in.Decode(&o); err != nil {
			return err
		}
		if *l = append(*l, o); len(*l) > mostOutcomes {
			return fault.New(fault.TooLarge, "This piece of the import has more than %d records. Use the command bellbuoy import.", mostOutcomes)
		}
	}
	return nil
}

// movePiece returns the handler that plans or writes a piece. If the piece fails, the response has the outcomes before the
// failure.
func (p *pages) movePiece(plan bool) func(*visit) error {
	return func(v *visit) error {
		var part movePart
		var piece *lines.Set
		err := readPart(v, func(read movePart) (err error) {
			if piece, err = lines.ReadPiece(v.Request.Context(), strings.NewReader(read.Text), read.State.Kinds(), mostLines); err != nil {
				err = fault.Wrap(fault.Invalid, err, "The piece cannot be read: %s.", err)
			}
			part = read
			part.Text = ""
			return err
		})
		if err != nil {
			return err
		}
		engine := v.engine(part.Ask, part.Force)
		run := engine.Write
		if plan {
			run = engine.Plan
		}
		answer := moveAnswer{State: &part.State}
		answer.Outcomes, err = run(v.Request.Context(), &part.State, piece)
		for _, w := range piece.Warnings {
			answer.Lost = append(answer.Lost, lossOf(w, nil))
		}
		return v.answer(answer, err)
	}
}

// answer responds with the moveAnswer. If err is an error of the App interface or a refusal of package transfer, the response
// also has the problem. answer returns any other err.
func (v *visit) answer(answer moveAnswer, err error) error {
	if failed := app.As(err); err != nil && failed == nil {
		if _, refused := errors.AsType[*transfer.Refused](err); !refused {
			return err
		}
	}
	if err != nil {
		answer.Problem, answer.Again = textOfMove(err), app.As(err).Unavailable()
	}
	return v.json(answer)
}

// textOfMove returns why an import has stopped.
func textOfMove(err error) string {
	if refused, is := errors.AsType[*transfer.Refused](err); is {
		switch {
		case refused.Status == http.StatusTooManyRequests || refused.Wait > 0:
			return tooMany(refused.Wait)
		case refused.Text == "":
			return "You are not allowed to do this."
		}
		return firstUpper(refused.Text)
	}
	return reasonOfStop(err)
}

// problemOfMove sets the problem of the form if err is a refusal of package transfer, or a service is unavailable. It returns
// any other err.
func problemOfMove(form *forms.Form, err error) error {
	if _, refused := errors.AsType[*transfer.Refused](err); refused || app.As(err).Unavailable() {
		form.Problem = textOfMove(err)
		return nil
	}
	return err
}

// pageID matches the id of a page of Statuspage, also within the address of the page in the interface of Statuspage.
var pageID = regexp.MustCompile(`^(?:https://api\.statuspage\.io/v1/pages/)?([a-z0-9]{1,40})/?$`)

// moveDownload sends one request of a download from Statuspage, whose host is fixed. The script collects the files.
func (p *pages) moveDownload(v *visit) error {
	form := forms.New(movePath, "", &forms.Field{Kind: forms.Text, Name: "page", Max: 300}, &forms.Field{Kind: forms.Password, Name: "key", Max: 300},
		&forms.Field{Kind: forms.Hidden, Name: "place"}, &forms.Field{Kind: forms.Hidden, Name: "people"})
	return v.submit(form, func() error {
		id := pageID.FindStringSubmatch(form.Value("page"))
		var at download.Place
		if id == nil || form.Value("key") == "" || form.Value("place") != "" && unmarshal(form.Value("place"), &at) != nil {
			return v.json(moveAnswer{Problem: "Enter the id of the page, which the address of its settings has, and a key of its interface. Or choose saved files."})
		}
		file, err := download.StatuspageFile(v.Request.Context(), p.Download, "https://api.statuspage.io/v1/pages/"+id[1], form.Value("key"), at, form.Ticked("people"))
		if err != nil {
			return v.json(moveAnswer{Problem: "Statuspage: " + strings.ReplaceAll(err.Error(), "IMPORT_TOKEN", "the key") + "."})
		}
		return v.json(struct {
			Name string          `json:"name"`
			Text string          `json:"text"`
			Next *download.Place `json:"next"`
			Wait float64         `json:"wait"` // seconds
		}{file.Name, string(file.Content), file.Next, file.Wait.Seconds()})
	}, func(int) error { return v.json(moveAnswer{Problem: "Enter the id of the page and a key."}) })
}

func unmarshal(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// marshal returns a value as JSON. It never fails for the types of this package and of package transfer.
func marshal(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
