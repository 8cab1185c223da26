package planfile

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast"
)

// WriteJSON writes a plan as a text that Read reads, with a line for each category, decoration, section and row.
// It writes no defaults.
func WriteJSON(plan holdfast.SeatingPlan) ([]byte, error) {
	form := PlanOf(plan)
	w := &jsonWriter{}
	w.json("{\n \"name\":", form.Name)
	w.list(",\n \"categories\":", "\n  ", len(form.Categories), func(i int) { w.json("", form.Categories[i]) })
	if form.FocalPoint != nil {
		w.json(",\n \"focalPoint\":", form.FocalPoint)
	}
	if len(form.Decorations) > 0 {
		w.list(",\n \"decorations\":", "\n  ", len(form.Decorations), func(i int) { w.json("", form.Decorations[i]) })
	}
	w.list(",\n \"sections\":", "\n  ", len(form.Sections), func(i int) { w.section(form.Sections[i]) })
	w.text.WriteString("\n}\n")
	return w.text.Bytes(), w.err
}

type jsonWriter struct {
	text bytes.Buffer
	err  error // the first one
}

// json writes a value behind a text.
func (w *jsonWriter) json(before string, value any) {
	w.text.WriteString(before)
	e := json.NewEncoder(&w.text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		if w.err == nil {
			w.err = err
		}
		return
	}
	w.text.Truncate(w.text.Len() - len("\n"))
}

// list writes an array, each item on a line.
func (w *jsonWriter) list(before, line string, n int, item func(i int)) {
	w.text.WriteString(before + "[")
	for i := range n {
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.text.WriteString(line)
		item(i)
	}
	w.text.WriteByte(']')
}

func (w *jsonWriter) section(s Section) {
	rows := s.Rows
	s.Rows = nil
	w.json("", s)
	if len(rows) > 0 && w.err == nil {
		w.text.Truncate(w.text.Len() - len("}"))
		w.list(",\"rows\":", "\n   ", len(rows), func(i int) { w.json("", rows[i]) })
		w.text.WriteByte('}')
	}
}
