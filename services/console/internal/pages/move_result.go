package pages

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// moveResult is a plan, or the result of writing pieces.
type moveResult struct {
	Written  bool
	Stopped  string // why pieces are left; empty: none are
	RunID    string
	Outcomes []transfer.Outcome
	Warnings []lines.Warning // texts about what the reader lost or changed
	Names    map[string]moveName
	Note     string      // says how many subscribers and webhooks the member did not choose; empty: none
	Next     *forms.Form // form that writes further pieces; nil: there is nothing to write
	Undo     *forms.Form // form that undoes the run; nil: the result is a plan
}

// moveSum counts the outcomes of one kind, or of all kinds.
type moveSum struct {
	Label                             string
	Created, Updated, Same, Kept, Bad int
}

func (s *moveSum) add(status transfer.Status, count int) {
	switch status {
	case transfer.Created:
		s.Created += count
	case transfer.Updated:
		s.Updated += count
	case transfer.Unchanged:
		s.Same += count
	case transfer.Kept:
		s.Kept += count
	default:
		s.Bad += count
	}
}

// moveName is the name of a record, which pages show instead of its key.
type moveName struct {
	Name    string `json:"name,omitempty"`
	Aliases int    `json:"aliases,omitempty"` // number of aliases (old addresses) of an event, which have no outcomes of their own
}

// namesIn returns the names of the records by their keys. Endpoints have none.
func namesIn(set *lines.Set) map[string]moveName {
	names := map[string]moveName{}
	for i := range set.Dashboards {
		names[set.Dashboards[i].Key] = moveName{Name: lines.Name(&set.Dashboards[i])}
	}
	for i := range set.Components {
		names[set.Components[i].Key] = moveName{Name: lines.Name(&set.Components[i])}
	}
	for i := range set.Events {
		names[set.Events[i].Key] = moveName{lines.Name(&set.Events[i]), len(set.Events[i].Aliases)}
	}
	for i := range set.Subscribers {
		names[set.Subscribers[i].Key] = moveName{Name: lines.Name(&set.Subscribers[i])}
	}
	return names
}

// moveLabels returns the kinds of outcomes with their names for members, in the order of the page.
func moveLabels() [][2]string {
	return [][2]string{{"dashboard", "Dashboards"}, {"component", "Components"}, {"event", "Incidents and maintenances"}, {"alias", "Old addresses"}, {"placement", "Components put on a dashboard"}, {"subscriber", "Subscribers"}, {"endpoint", "Webhooks"}}
}

// Sums returns the counts of each kind that has outcomes.
func (r moveResult) Sums() (sums []moveSum) {
	for _, kind := range moveLabels() {
		sum := moveSum{Label: kind[1]}
		for _, o := range r.Outcomes {
			if o.Kind == kind[0] {
				sum.add(o.Status, 1)
			}
			if n := r.aliases(o); n > 0 && kind[0] == "alias" {
				sum.add(o.Status, n)
			}
		}
		if sum != (moveSum{Label: kind[1]}) {
			sums = append(sums, sum)
		}
	}
	return sums
}

// Sum returns the counts of all outcomes. The aliases of an event count like outcomes.
func (r moveResult) Sum() (sum moveSum) {
	for _, o := range r.Outcomes {
		sum.add(o.Status, 1+r.aliases(o))
	}
	return sum
}

// aliases returns the number of aliases that the import sets with the event of an outcome. It is 0 for an outcome
// that is not an event, or whose event is kept or refused.
func (r moveResult) aliases(o transfer.Outcome) int {
	if o.Kind != "event" || o.Status != transfer.Created && o.Status != transfer.Updated && o.Status != transfer.Unchanged {
		return 0
	}
	return r.Names[o.Key].Aliases
}

// moveLoss is a loss: a text about data that were lost, changed, kept or refused.
type moveLoss struct {
	Key  string `json:"key"`
	Name string `json:"name,omitempty"` // name of the record, if it is known
	Text string `json:"text"`
}

// Short returns the text of the loss. If the name of the record is known, the text has no number of a line.
func (l moveLoss) Short() string {
	if l.Name == "" {
		return l.Text
	}
	return lineNumber.ReplaceAllString(l.Text, "")
}

// Lost returns the warnings of the reader, and the outcomes that warn.
func (r moveResult) Lost() (all []moveLoss) {
	for _, w := range r.Warnings {
		all = append(all, lossOf(w, r.Names))
	}
	for _, o := range r.Outcomes {
		if o.Warns() {
			all = append(all, moveLoss{o.Key, r.Names[o.Key].Name, firstUpper(strings.TrimSuffix(string(o.Status)+": "+o.Text, ": "))})
		}
	}
	return all
}

func lossOf(w lines.Warning, names map[string]moveName) moveLoss {
	return moveLoss{w.Key, cmp.Or(w.Name, names[w.Key].Name), firstUpper(strings.TrimPrefix(w.Field+": "+w.Text, ": "))}
}

// ShownLost returns the losses that the page lists.
func (r moveResult) ShownLost() []moveLoss {
	all := r.Lost()
	return all[:min(shownRefusals, len(all))]
}

// LostText returns all losses as a text. It is empty if the page lists all of them.
func (r moveResult) LostText() string {
	var text strings.Builder
	all := r.Lost()
	if len(all) <= shownRefusals {
		return ""
	}
	for _, l := range all {
		text.WriteString(l.Key + "\t" + l.Name + "\t" + l.Text + "\n")
	}
	return text.String()
}

// finish adds the forms of the next steps. Without script they name the whole plan before the first write, so that an undo finds
// what a request has written whose response was lost. Such an undo may take a record that a member has made since the plan.
func (r *moveResult) finish(form *forms.Form, text string, state transfer.State, done, all int) {
	hidden := func(to *forms.Form, name string, values ...string) {
		to.Fields = append(to.Fields, &forms.Field{Kind: forms.Hidden, Name: name, Values: values})
	}
	record := form.Value("record")
	if record != "" {
		record += "\n"
	}
	if record += recordOf(r.Outcomes, !r.Written); r.Written && done == all {
		record += `{"kind":"done"}` + "\n"
	}
	sum := r.Sum()
	if submit, from := "Go on", done; done < all || !r.Written && sum.Created+sum.Updated > 0 {
		if !r.Written {
			submit, from, state = "Import now", 0, transfer.State{}
		}
		r.Next = forms.New(movePath, submit)
		for _, field := range []string{"source", "into", "ask", "force"} {
			hidden(r.Next, field, form.Field(field).Values...)
		}
		hidden(r.Next, "step", "write")
		hidden(r.Next, "run", r.RunID)
		hidden(r.Next, "from", strconv.Itoa(from))
		hidden(r.Next, "state", marshal(state))
		hidden(r.Next, "record", record)
		hidden(r.Next, "lines", text)
		r.Next.Cancel = movePath
	}
	if r.Written {
		r.Undo = forms.New(movePath+"/undo", "Undo the import")
		hidden(r.Undo, "run", r.RunID)
		hidden(r.Undo, "record", record)
	}
}
