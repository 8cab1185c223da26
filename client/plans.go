package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// SeatingPlan is the plan of a hall. It never changes.
type SeatingPlan struct {
	ID          string       `json:"id,omitempty"` // in answers only
	Name        string       `json:"name"`
	Categories  []Category   `json:"categories"`
	FocalPoint  *Point       `json:"focalPoint,omitempty"` // what the hall looks at
	Decorations []Decoration `json:"decorations,omitempty"`
	Sections    []Section    `json:"sections"`
	CreatedAt   time.Time    `json:"createdAt,omitzero"` // in answers only
}

// Decoration is a part of the drawing of a hall. A stage, an area or a wall has Points; a text or an icon has At.
type Decoration struct {
	Kind   string       `json:"kind"` // stage, area, wall, text or icon
	Points [][2]float64 `json:"points,omitempty"`
	At     *[2]float64  `json:"at,omitempty"`
	Text   string       `json:"text,omitempty"`
	Icon   string       `json:"icon,omitempty"`
	Floor  string       `json:"floor,omitempty"` // of the sections that it is drawn with; "" means all
}

// Category is a price class of seats.
type Category struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Color string `json:"color,omitempty"` // #rrggbb
}

// Point is a position, in the units of the plan.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Section is a part of a hall. It has either Rows or a Capacity (general admission).
type Section struct {
	Key      string       `json:"key"`
	Name     string       `json:"name"`
	Category string       `json:"category"` // a category's key
	Floor    string       `json:"floor,omitempty"`
	Entrance string       `json:"entrance,omitempty"`
	Rows     []Row        `json:"rows,omitempty"`
	Capacity int64        `json:"capacity,omitempty"`
	Outline  [][2]float64 `json:"outline,omitempty"`
	ViewURL  string       `json:"viewUrl,omitempty"` // https URL of a picture of the view
}

// Row is a row of a section.
type Row struct {
	Key       string `json:"key"`
	Label     string `json:"label,omitempty"`     // default: the key
	Category  string `json:"category,omitempty"`  // default: the section's
	Adjacency string `json:"adjacency,omitempty"` // LINE (default), NONE, ALL
	// Seats are in their physical order; nil is a gap. If it is nil, the row has Count seats without
	// gaps, whose IDs are <section>-<row>-1 and so on. An answer always has Seats.
	Seats []*Seat `json:"-"`
	Count int64   `json:"-"`
}

// Seat is a numbered seat.
type Seat struct {
	ID             string   `json:"id"`
	Label          string   `json:"label,omitempty"`    // default: the position in the row
	Category       string   `json:"category,omitempty"` // default: the row's
	X              *float64 `json:"x,omitempty"`        // default: the position in the row
	Y              *float64 `json:"y,omitempty"`        // default: the index of the row
	Accessible     bool     `json:"accessible,omitempty"`
	Companion      bool     `json:"companion,omitempty"`
	RestrictedView bool     `json:"restrictedView,omitempty"`
	Note           string   `json:"note,omitempty"`
	ViewURL        string   `json:"viewUrl,omitempty"` // https URL of a picture of the view
}

// rowFields is a Row without its methods.
type rowFields Row

// MarshalJSON implements json.Marshaler.
func (r Row) MarshalJSON() ([]byte, error) {
	var seats any = r.Seats
	if r.Seats == nil {
		seats = r.Count
	}
	return json.Marshal(struct {
		rowFields
		Seats any `json:"seats"`
	}{rowFields(r), seats})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Row) UnmarshalJSON(text []byte) error {
	var row struct {
		rowFields
		Seats json.RawMessage `json:"seats"`
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	*r = Row(row.rowFields)
	if json.Unmarshal(row.Seats, &r.Count) == nil {
		return nil
	}
	return json.Unmarshal(row.Seats, &r.Seats)
}

// SeatingPlanSummary is a seating plan without rows and seats.
type SeatingPlanSummary struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	TotalSeats int64            `json:"totalSeats"`
	Categories []Category       `json:"categories"`
	Sections   []SectionSummary `json:"sections"`
	CreatedAt  time.Time        `json:"createdAt"`
	// Replayed is true if an earlier request with the same key created the plan.
	Replayed bool `json:"-"`
}

// SectionSummary is a section of a SeatingPlanSummary.
type SectionSummary struct {
	Key      string `json:"key"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Seats    int64  `json:"seats"` // in rows, or the capacity
}

// CreateSeatingPlan creates a plan; its ID and CreatedAt are ignored, so that a plan that was read
// can be created elsewhere. idempotencyKey makes repeated requests create one plan, for 24 h. If it
// is "", the client generates a key for the call. An invalid plan is refused with
// ValidationFailed; the Error's Fields have the locations.
func (c *Client) CreateSeatingPlan(ctx context.Context, plan SeatingPlan, idempotencyKey string) (of SeatingPlanSummary, err error) {
	plan.ID, plan.CreatedAt = "", time.Time{}
	body := struct {
		SeatingPlan
		IdempotencyKey string `json:"idempotencyKey"`
	}{plan, cmp.Or(idempotencyKey, rand.Text())}
	header, err := c.call(ctx, request{method: http.MethodPost, path: "/api/seating-plans", body: body, isPlan: true}, &of)
	of.Replayed = header.Get("Idempotent-Replayed") == "true"
	return of, err
}

// GetSeatingPlan returns a plan written out: each seat has its label, category and position. If
// sections are given, it has only the sections with these keys. A caller may cache a plan,
// which never changes.
func (c *Client) GetSeatingPlan(ctx context.Context, id string, sections ...string) (plan SeatingPlan, err error) {
	query := url.Values{}
	for _, key := range sections {
		query.Add("section", key)
	}
	_, err = c.call(ctx, request{
		method: http.MethodGet, path: "/api/seating-plans/" + url.PathEscape(id), query: query, isPlan: true,
	}, &plan)
	return plan, err
}

// ListSeatingPlans iterates over all plans, as ListEvents does.
func (c *Client) ListSeatingPlans(ctx context.Context) iter.Seq2[SeatingPlanSummary, error] {
	return list[SeatingPlanSummary](ctx, c, "/api/seating-plans", Filter{})
}

// PlanPreview is what is wrong with a plan, or else what it would sell first.
type PlanPreview struct {
	TotalSeats int64         `json:"totalSeats"` // 0 if there are problems
	Problems   []PlanProblem `json:"problems"`   // the first 100
	Picks      []PlanPick    `json:"picks"`      // none if there are problems
}

// PlanProblem is a problem of a plan.
type PlanProblem struct {
	Where string `json:"where"` // a path in the plan, such as sections[3].rows[2].seats[7].id
	What  string `json:"what"`
}

// PlanPick is the best available seats of an empty hall.
type PlanPick struct {
	Seats    int      `json:"seats"`
	SeatIDs  []string `json:"seatIds"` // empty if no section has so many seats of one category
	Adjacent bool     `json:"adjacent"`
}

// PreviewSeatingPlan checks a plan, which is not created, and picks the best available seats of the empty hall for each number of
// seats. The problems of a plan are in the answer, not in err. It needs a key with the scope admin.
func (c *Client) PreviewSeatingPlan(ctx context.Context, plan SeatingPlan, seats ...int) (preview PlanPreview, err error) {
	plan.ID, plan.CreatedAt = "", time.Time{}
	body := struct {
		Plan  SeatingPlan `json:"plan"`
		Seats []int       `json:"seats"`
	}{plan, append([]int{}, seats...)}
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/admin/seating-plans/preview", body: body, isPlan: true}, &preview)
	return preview, err
}

// ExportedPlan is a plan as a file of another format.
type ExportedPlan struct {
	Format      string           `json:"format"`
	File        string           `json:"file"`        // its text
	Differences []PlanDifference `json:"differences"` // the parts of the plan that are not in the file, or differ
}

// PlanDifference is a difference between a plan and a file.
type PlanDifference struct {
	Kind     string   `json:"kind"` // dropped, renamed or guessed
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // at most five
}

// ExportSeatingPlan writes a plan, which is not created, as csv, pretix or svg. It needs a key with the scope admin.
func (c *Client) ExportSeatingPlan(ctx context.Context, plan SeatingPlan, format string) (file ExportedPlan, err error) {
	plan.ID, plan.CreatedAt = "", time.Time{}
	_, err = c.call(ctx, request{
		method: http.MethodPost, path: "/api/admin/seating-plans/export", query: url.Values{"format": {format}}, body: plan, isPlan: true,
	}, &file)
	return file, err
}
