package seats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	plansName    = "seatingplans"
	sectionsName = "seatingsections"
)

// Collections returns the collections and indexes that this package needs.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{
		{Name: plansName, Schema: &planRules},
		{Name: sectionsName, Schema: &sectionRules, Indexes: []mongodb.Index{bySection}},
	}
}

// bySection finds the parts of a plan's sections in their order.
var bySection = mongodb.Index{Keys: mongodb.Keys("planId", "number", "part"), Unique: true}

// Plans creates and reads the seating plans of one database.
type Plans struct {
	db    *mongodb.DB
	halls *cache[ID, *seating.Hall]
	texts *cache[textKey, []json.RawMessage]
}

const (
	// maxCachedSeats bounds the memory of the halls: a seat of a hall needs some 200 bytes.
	maxCachedSeats = 1_000_000
	// hallOverhead is the constant memory of a hall, in seats, so that small halls are bounded too.
	hallOverhead = 500
)

func sizeOf(hall *seating.Hall) int { return hall.NumberedSeats() + hallOverhead }

// NewPlans returns the service for a database.
func NewPlans(db *mongodb.DB) *Plans {
	return &Plans{db: db, halls: newCache[ID](maxCachedSeats, sizeOf), texts: newCache[textKey](maxCachedText, sizeOfText)}
}

// PlanSummary is a plan without rows and seats.
type PlanSummary struct {
	ID          ID
	Name        string
	TotalSeats  int64 // seats in rows, and the capacities
	Categories  []holdfast.Category
	FocalPoint  *holdfast.Point       // nil if there is none
	Decorations []holdfast.Decoration // not read by List
	Sections    []SectionSummary
	CreatedAt   time.Time
}

// SectionSummary is a section of a PlanSummary.
type SectionSummary struct {
	Key      string
	Name     string
	Category string // key
	Seats    int64  // number of seats in rows, or the capacity
}

// summaryOf returns the summary of a plan that is written out.
func summaryOf(plan holdfast.SeatingPlan) PlanSummary {
	summary := PlanSummary{
		ID: plan.ID, Name: plan.Name, TotalSeats: plan.TotalSeats(), Categories: plan.Categories, FocalPoint: plan.FocalPoint,
		Decorations: plan.Decorations, Sections: make([]SectionSummary, 0, len(plan.Sections)), CreatedAt: plan.CreatedAt,
	}
	for _, s := range plan.Sections {
		summary.Sections = append(summary.Sections, SectionSummary{Key: s.Key, Name: s.Name, Category: s.Category, Seats: s.TotalSeats()})
	}
	return summary
}

// Numbers returns where the sections with these keys are in the plan, in the plan's order and each
// once; without keys, all sections are. It refuses a key that the plan does not have with VALIDATION_FAILED.
func (s PlanSummary) Numbers(keys ...string) ([]int, error) {
	numbers := make([]int, 0, len(s.Sections))
	if len(keys) == 0 {
		for n := range s.Sections {
			numbers = append(numbers, n)
		}
	}
	for _, key := range keys {
		n := slices.IndexFunc(s.Sections, func(of SectionSummary) bool { return of.Key == key })
		if n < 0 {
			return nil, holdfast.RefuseInput("query.section", "The seating plan has no such section.")
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// Create stores a plan, written out, and returns its summary; the plan's ID and CreatedAt are set
// here. replayed reports that an earlier request with the same key created the plan. It refuses with
// IDEMPOTENCY_KEY_REUSED, and with VALIDATION_FAILED, whose details are the first
// seating.MaxProblems. After OUTCOME_UNKNOWN the plan may exist; the same request with the same key
// returns it.
func (s *Plans) Create(
	ctx context.Context, plan holdfast.SeatingPlan, key holdfast.CreationKey,
) (of PlanSummary, replayed bool, err error) {
	if err := holdfast.CheckText("body.idempotencyKey", key.Key, holdfast.MaxKeyLength); err != nil {
		return PlanSummary{}, false, err
	}
	if problems := seating.Check(plan); len(problems) > 0 {
		return PlanSummary{}, false, InvalidPlan(problems)
	}
	plan = seating.Expand(plan)
	plan.ID, plan.CreatedAt = mongodb.NewID(), s.db.Clock()().UTC().Truncate(time.Millisecond)
	hash := ""
	if key.Key != "" {
		if hash, err = hashOf(plan); err != nil {
			return PlanSummary{}, false, err
		}
	}
	of = summaryOf(plan)
	parts := encodeSections(plan)
	id, replayed, err := s.db.Create(ctx, mongodb.Creation{Collection: plansName, ID: plan.ID, Key: key, Hash: hash,
		Insert: func(ctx context.Context) error { return s.insert(ctx, of, parts) }})
	switch {
	case err != nil:
		return PlanSummary{}, false, err
	case replayed:
		of, err = s.Summary(ctx, id)
	}
	return of, replayed, err
}

// InvalidPlan refuses a plan with these problems. Their locations are paths in the plan; the refusal
// has them in the body of a request.
func InvalidPlan(problems []holdfast.FieldError) *holdfast.Error {
	inBody := make(holdfast.Invalid, 0, len(problems))
	for _, p := range problems {
		where := "body"
		if p.Where != "" {
			where += "." + p.Where
		}
		inBody = append(inBody, holdfast.FieldError{Where: where, What: p.What})
	}
	return holdfast.Refuse(holdfast.CodeInvalid, "The seating plan is invalid. Correct the parts listed in errors.").With(inBody)
}

// hashOf differs between different plans. A plan that is written out has the same hash as the plan with
// counts.
func hashOf(plan holdfast.SeatingPlan) (string, error) {
	hash := sha256.New()
	sections := plan.Sections
	plan.Sections = nil
	head, err := json.Marshal(planfile.PlanOf(plan))
	if err != nil {
		return "", err
	}
	hash.Write(head)
	for _, section := range sections { // one after the other: a plan is large
		text, err := json.Marshal(planfile.SectionOf(section))
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (s *Plans) insert(ctx context.Context, of PlanSummary, parts []bson.Raw) error {
	if _, err := s.db.Collection(plansName).InsertOne(ctx, encodeSummary(of)); err != nil {
		return err
	}
	for len(parts) > 0 {
		n, size := 0, 0
		for n < len(parts) && (n == 0 || size+len(parts[n]) <= maxInsertBytes) {
			size += len(parts[n])
			n++
		}
		if _, err := s.db.Collection(sectionsName).InsertMany(ctx, parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	record := changes.Record{PlanID: of.ID, At: of.CreatedAt}
	record.Add(&holdfast.Change{Type: holdfast.ChangePlanCreated, Origin: holdfast.OriginOf(ctx)})
	return changes.Insert(ctx, s.db, &record)
}

// Summary returns a plan without rows and seats, or SEATING_PLAN_NOT_FOUND. The refusal is
// confirmed: a plan that existed before the call is found.
func (s *Plans) Summary(ctx context.Context, id ID) (PlanSummary, error) {
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (PlanSummary, error) {
		return s.summary(ctx, id)
	})
}

func (s *Plans) summary(ctx context.Context, id ID) (PlanSummary, error) {
	byID := mongodb.Match(mongodb.Is("_id", id), planSchema)
	d, found, err := mongodb.First[summaryDoc](ctx, s.db.Collection(plansName), mongo.Pipeline{byID})
	switch {
	case err != nil:
		return PlanSummary{}, mongodb.Translate(err)
	case !found:
		return PlanSummary{}, holdfast.NotFound(holdfast.CodeSeatingPlanNotFound)
	}
	return d.summary(), nil
}

// List lists plans by ID, without their decorations, and the token of the next page.
func (s *Plans) List(ctx context.Context, page holdfast.Page) ([]PlanSummary, string, error) {
	filter := mongodb.Filter{Large: true, Indexed: true, Schema: planSchema, Without: bson.D{{Key: "decorations", Value: 0}}}
	docs, next, err := mongodb.List[summaryDoc](ctx, s.db.Collection(plansName), filter, page)
	if err != nil {
		return nil, "", err
	}
	summaries := make([]PlanSummary, 0, len(docs))
	for _, d := range docs {
		summaries = append(summaries, d.summary())
	}
	return summaries, next, nil
}

// Get returns a plan written out. If keys are given, it has only the sections with these keys.
// It refuses with SEATING_PLAN_NOT_FOUND, which is confirmed, and with VALIDATION_FAILED for a key
// that the plan does not have.
func (s *Plans) Get(ctx context.Context, id ID, sections ...string) (holdfast.SeatingPlan, error) {
	of, err := s.Summary(ctx, id)
	if err != nil {
		return holdfast.SeatingPlan{}, err
	}
	plan := holdfast.SeatingPlan{
		ID: of.ID, Name: of.Name, Categories: of.Categories, FocalPoint: of.FocalPoint,
		Decorations: of.Decorations, CreatedAt: of.CreatedAt,
	}
	numbers, err := of.Numbers(sections...)
	if err != nil {
		return holdfast.SeatingPlan{}, err
	}
	for section, err := range s.sections(ctx, of, numbers) {
		if err != nil {
			return holdfast.SeatingPlan{}, err
		}
		plan.Sections = append(plan.Sections, section)
	}
	return plan, nil
}

// Hall returns a plan compiled for decisions. The error is one of Get.
func (s *Plans) Hall(ctx context.Context, id ID) (*seating.Hall, error) {
	return s.halls.get(ctx, id, func(ctx context.Context) (*seating.Hall, error) {
		plan, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		hall, err := seating.NewHall(plan)
		if err != nil {
			return nil, damagedPlan(err)
		}
		return hall, nil
	})
}

// errPlanIncomplete means that parts of a section are missing, or were changed.
var errPlanIncomplete = errors.New("seats of the seating plan are missing or were changed")

// damagedPlan is the failure to read a plan that exists.
func damagedPlan(cause error) error {
	return holdfast.Refuse(holdfast.CodeUnavailable,
		"The seating plan can't be read; restore its documents in seatingplans and seatingsections.").
		By(fmt.Errorf("%w: %w", seating.ErrDamaged, cause))
}
