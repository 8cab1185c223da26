package planfile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Kind is the kind of a difference between a source and its plan.
type Kind string

// A dropped part is not in the plan. A renamed one has another key or text there. A guessed one
// is not in the source.
const (
	Dropped Kind = "dropped"
	Renamed Kind = "renamed"
	Guessed Kind = "guessed"
)

// Note is a difference between a source and its plan.
type Note struct {
	Kind     Kind     `json:"kind"`
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"` // the first maxExamples
	Option   string   `json:"option,omitempty"`   // the option that would keep the part, such as OptionAccessible
}

const maxExamples = 5

// Report lists the differences, in the order of their first occurrence.
type Report []Note

// count adds n ≥ 1 parts to a note, and returns it until the next call; example may be "".
func (r *Report) count(kind Kind, what string, n int, example string) *Note {
	at := slices.IndexFunc(*r, func(note Note) bool { return note.Kind == kind && note.What == what })
	if at < 0 {
		at = len(*r)
		*r = append(*r, Note{Kind: kind, What: what})
	}
	(*r)[at].add(n, example)
	return &(*r)[at]
}

// unknown notes a property, or a column, that the format does not have. Names may differ in every seat, so only the
// first maxUnknown have a note of their own, and as many of those that may say which seats are accessible: isOfSeat
// means that it may be one of them.
func (r *Report) unknown(what, name string, isOfSeat bool) {
	const maxUnknown, longest = 30, 40
	what += " " + quoted(strings.ToValidUTF8(name[:min(len(name), longest)], ""))
	isLike := func(word string) bool { return strings.Contains(plainName(name), word) }
	option := ""
	if isOfSeat && slices.ContainsFunc([]string{"wheelchair", "accessib", "disab", "handicap", "rollstuhl", "barrier"}, isLike) {
		option = OptionAccessible
	}
	isKnown, others := false, 0
	for _, note := range *r {
		isKnown = isKnown || note.What == what
		if strings.HasPrefix(note.What, "unknown ") && note.Option == option {
			others++
		}
	}
	if !isKnown && others >= maxUnknown {
		what, option = "more unknown properties", ""
	}
	note := r.count(Dropped, what, 1, "")
	note.Option = cmp.Or(note.Option, option)
}

// similarNames notes sections that are probably one, of which a part is misspelled.
func (r *Report) similarNames(plan holdfast.SeatingPlan) {
	names := map[string]string{}
	for _, s := range plan.Sections {
		lower := strings.ToLower(s.Name)
		if other := cmp.Or(names[lower], s.Name); other != s.Name {
			r.count(Guessed, "sections whose names differ in case alone, which stay different sections", 1, quoted(other)+" and "+quoted(s.Name))
		} else {
			names[lower] = s.Name
		}
	}
}

// renamed notes a text that is another one in the plan.
func (r *Report) renamed(what, from, to string) {
	if from != to {
		r.count(Renamed, what, 1, quoted(from)+" is "+to)
	}
}

func (n *Note) add(count int, example string) {
	n.Count += count
	if example != "" && len(n.Examples) < maxExamples {
		n.Examples = append(n.Examples, example)
	}
}

// String is a line for operators.
func (n Note) String() string {
	var b strings.Builder
	b.WriteString(string(n.Kind) + ": " + n.What + ": " + strconv.Itoa(n.Count))
	if len(n.Examples) > 0 {
		b.WriteString(" (" + strings.Join(n.Examples, "; "))
		if n.Count > len(n.Examples) {
			b.WriteString("; …")
		}
		b.WriteByte(')')
	}
	return b.String()
}

// setCategories moves the categories of a section's seats to the highest level that determines them
// all: a section has the category of its first seat, a row its own if all its seats have
// another one. Each seat has a category before.
func setCategories(s *holdfast.Section) {
	for i := range s.Rows {
		row := &s.Rows[i]
		of, same := "", true // of the row's seats
		for _, seat := range row.Seats {
			if seat == nil {
				continue
			}
			if of == "" {
				of = seat.Category
			}
			same = same && seat.Category == of
		}
		if s.Category == "" {
			s.Category = of
		}
		if same && of != s.Category {
			row.Category = of
		}
		for _, seat := range row.Seats {
			if seat != nil && (same || seat.Category == s.Category) {
				seat.Category = ""
			}
		}
	}
}

// place is the part of a plan that a problem is about.
type place struct {
	List  string // categories, decorations or sections; "" means the plan itself
	Index []int  // in the list; then the row's and the seat's
	Field string // "" means the part itself
}

// parsePlace reads the location of a problem of seating.Check, such as
// sections[3].rows[2].seats[7].id.
func parsePlace(path string) (p place) {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
		if !indexed || err != nil || part[0] == '[' || name == "outline" || name == "points" {
			p.Field = part
			continue
		}
		if p.List == "" {
			p.List = name
		}
		p.Index = append(p.Index, n)
	}
	if p.List == "" && p.Field != "" {
		if before, _, ok := strings.Cut(path, "."); ok { // focalPoint.x
			p.List, p.Index = before, nil
		}
	}
	return p
}
