package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// createPlanTimeout bounds the transaction that stores a plan. The largest plan needs some seconds.
const createPlanTimeout = 20 * time.Second

type seatingPlanSummaryBody struct {
	ID         string                      `json:"id"`
	Name       string                      `json:"name"`
	TotalSeats int64                       `json:"totalSeats" doc:"Number of seats in rows, plus the capacities."`
	Categories []planfile.Category         `json:"categories" nullable:"false"`
	Sections   []seatingPlanSectionSummary `json:"sections" nullable:"false"`
	CreatedAt  string                      `json:"createdAt" format:"date-time"`
}

type seatingPlanSectionSummary struct {
	Key      string `json:"key"`
	Name     string `json:"name"`
	Category string `json:"category" doc:"The key of a category."`
	Seats    int64  `json:"seats" doc:"Number of seats in rows, or the capacity."`
}

func newSeatingPlanSummaryBody(of seats.PlanSummary) seatingPlanSummaryBody {
	return seatingPlanSummaryBody{
		ID: of.ID.String(), Name: of.Name, TotalSeats: of.TotalSeats,
		Categories: newBodies(of.Categories, func(c holdfast.Category) planfile.Category { return planfile.Category(c) }),
		Sections:   newBodies(of.Sections, func(s seats.SectionSummary) seatingPlanSectionSummary { return seatingPlanSectionSummary(s) }),
		CreatedAt:  formatTime(of.CreatedAt),
	}
}

// seatingPlanBody is a plan in an answer. It is written section by section.
type seatingPlanBody struct {
	ID string `json:"id"`
	planfile.Plan
	CreatedAt string `json:"createdAt" format:"date-time"`
}

// newSeatingPlanBody describes a plan in a request; planfile reads it.
type newSeatingPlanBody struct {
	planfile.Plan
	IdempotencyKey string `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Unique per API key, for 24 h."`
}

// PlanBody is the body of a request with a seating plan. Package planfile reads it: huma would need
// many times the memory and the time.
type PlanBody struct {
	text        []byte
	contentType string
}

// Resolve is called by huma after it has read the request. The text is the request's own.
func (b *PlanBody) Resolve(ctx huma.Context) []error {
	body, _ := ctx.BodyReader().(*bytes.Buffer)
	b.text, b.contentType = body.Bytes(), ctx.Header("Content-Type")
	return nil
}

type newSeatingPlan struct {
	IdempotencyHeader
	PlanBody
}

func (a *api) registerSeatingPlanRoutes() {
	tags, schemas := []string{"Seating plans"}, a.huma.OpenAPI().Components.Schemas
	route(a, huma.Operation{
		OperationID: "create-seating-plan", Method: http.MethodPost, Path: "/api/seating-plans", Tags: tags,
		Summary: "Create a seating plan",
		Description: "A plan never changes. The order of a row's seats is their physical order; null is a gap. " +
			"The body has at most 20,000,000 bytes, and the plan at most 200,000 seats in rows, 20,000 in a section and 500 in a row. " +
			"The same request with the same idempotency key returns the plan that the first one created.",
		DefaultStatus: http.StatusCreated,
		Metadata:      map[string]any{metadataMaxBody: maxPlanBytes, metadataTimeout: createPlanTimeout},
	}, config.ScopeAdmin, a.createSeatingPlan)
	// Described after it was registered, or huma would read the body too.
	a.huma.OpenAPI().Paths["/api/seating-plans"].Post.RequestBody = newSeatingPlanRequest(schemas)
	route(a, huma.Operation{
		OperationID: "list-seating-plans", Method: http.MethodGet, Path: "/api/seating-plans", Tags: tags,
		Summary: "List seating plans", Description: "Without rows and seats.",
	}, scopeCustomer, func(ctx context.Context, in *PageQuery) (*list[seatingPlanSummaryBody], error) {
		summaries, next, err := a.Plans.List(ctx, in.page())
		return newList(summaries, next, newSeatingPlanSummaryBody), err
	})
	route(a, huma.Operation{
		OperationID: "get-seating-plan", Method: http.MethodGet, Path: "/api/seating-plans/{id}", Tags: tags,
		Summary: "Get a seating plan",
		Description: "Written out: each seat has its ID, label, category and position. " +
			"A plan never changes, so that the answer can be cached for ever; If-None-Match with its ETag answers 304.",
		Errors: []int{http.StatusNotFound}, Responses: cachedResponse[seatingPlanBody](schemas, "The plan, written out.", planCacheControl),
		Metadata: map[string]any{metadataRepeats: "section"},
	}, scopeCustomer, a.getSeatingPlan)
	a.registerPlanConversion()
	a.registerPlanPreview()
	a.registerPlanExport()
}

func (a *api) createSeatingPlan(ctx context.Context, in *newSeatingPlan) (*created[seatingPlanSummaryBody], error) {
	plan, keyInBody, err := in.read(a.huma)
	if err != nil {
		return nil, err
	}
	key, err := in.creationKey(ctx, keyInBody)
	if err != nil {
		return nil, err
	}
	of, replayed, err := a.Plans.Create(ctx, plan, key)
	return newCreated("/api/seating-plans/", of.ID, replayed, newSeatingPlanSummaryBody(of)), err
}

// read reads the plan and the idempotency key, and refuses invalid values in the words of
// the other routes.
func (b *PlanBody) read(formats huma.API) (plan holdfast.SeatingPlan, key string, err error) {
	if err := b.expectJSON(formats); err != nil {
		return plan, "", err
	}
	plan, key, problems, err := planfile.ReadRequest(b.text)
	switch {
	case err != nil:
		return plan, "", invalidBody(http.StatusBadRequest, codeMalformed, err)
	case len(problems) > 0:
		return plan, "", seats.InvalidPlan(problems)
	}
	plan.Name = strings.TrimSpace(plan.Name)
	return plan, key, nil
}

// expectJSON refuses a request without a body, or with one of another type, in the words of the other routes.
func (b *PlanBody) expectJSON(formats huma.API) error {
	if len(b.text) == 0 {
		return newProblem(http.StatusBadRequest, codeMalformed, "request body is required")
	}
	var ignored any
	if err := formats.Unmarshal(b.contentType, []byte("null"), &ignored); errors.Is(err, huma.ErrUnknownContentType) {
		return invalidBody(http.StatusUnsupportedMediaType, codeMediaType, err)
	}
	return nil
}

// invalidBody refuses a body as a whole.
func invalidBody(status int, code holdfast.Code, err error) error {
	p := newProblem(status, code, detailInvalid)
	p.Errors = []holdfast.FieldError{{Where: "body", What: err.Error()}}
	return p
}

// SectionsQuery selects sections. An empty key is refused, as FilterQuery does.
type SectionsQuery struct {
	Sections []string `query:"section,explode" maxItems:"500" doc:"The key of a section. It may be repeated. Default: all sections."`
}

// Resolve is called by huma after it has read the request.
func (SectionsQuery) Resolve(ctx huma.Context) []error {
	return refuseEmptySection(ctx)
}

func refuseEmptySection(ctx huma.Context) []error {
	u := ctx.URL()
	if slices.Contains(u.Query()["section"], "") {
		return []error{&huma.ErrorDetail{Location: "query.section", Message: "the key is empty: give one, or leave it out"}}
	}
	return nil
}

// NoneMatch is the header of a client that has a previous answer. huma reads its first line, Resolve all of them.
type NoneMatch struct {
	FirstLine string `header:"If-None-Match" doc:"The ETag of a previous answer."`

	lines []string
}

// Resolve is called by huma after it has read the request.
func (m *NoneMatch) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	m.lines = r.Header["If-None-Match"]
	return nil
}

// matches reports whether a line has the ETag. A proxy that compresses may have made it weak.
func (m *NoneMatch) matches(etag string) bool {
	for _, line := range m.lines {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

type seatingPlanQuery struct {
	PathID
	SectionsQuery
	NoneMatch
}

const planCacheControl = "public, max-age=31536000, immutable"

// planETag is the ETag of all plans, because the URL has the plan's ID and the sections, and a plan never changes. Change the
// version if the form of the answer changes.
func planETag(id holdfast.ID) string {
	const version = "2"
	return `"` + id.String() + "-" + version + `"`
}

func (a *api) getSeatingPlan(ctx context.Context, in *seatingPlanQuery) (*huma.StreamResponse, error) {
	of, err := a.Plans.Summary(ctx, parseID(in.ID))
	if err != nil {
		return nil, err
	}
	sections, err := of.Numbers(in.Sections...)
	if err != nil {
		return nil, err
	}
	plan := &sectioned{
		etag: planETag(of.ID), cacheControl: planCacheControl,
		form: seatingPlanBody{ID: of.ID.String(), Plan: planfile.PlanOf(holdfast.SeatingPlan{
			Name: of.Name, Categories: of.Categories, FocalPoint: of.FocalPoint, Decorations: of.Decorations,
		}), CreatedAt: formatTime(of.CreatedAt)},
		sections: func(ctx context.Context) iter.Seq2[json.RawMessage, error] { return a.Plans.Texts(ctx, of, sections) },
	}
	return plan.response(a, &in.NoneMatch), nil
}
