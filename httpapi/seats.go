package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	// maxSectionsOfIDs bounds the sections of an answer with the IDs of seats.
	maxSectionsOfIDs = 20
	mapCacheControl  = "max-age=1"
)

type seatMapQuery struct {
	PathID
	SectionsQuery
	NoneMatch
	Format string `query:"format" enum:"bitmap,ids" default:"bitmap" doc:"With ids, at most 20 sections may be named."`
}

type seatMapBody struct {
	Rev        int64              `json:"rev" doc:"The event's revision. It rises with every change."`
	Sections   []sectionSeatsBody `json:"sections" nullable:"false"`
	Categories []categoryBody     `json:"categories" nullable:"false"`
}

type sectionSeatsBody struct {
	Key         string    `json:"key"`
	Total       int64     `json:"total"`
	Available   int64     `json:"available"`
	Oversold    int64     `json:"oversold,omitempty" doc:"Places taken beyond the capacity, by other software."`
	Bitmap      *string   `json:"bitmap,omitempty" doc:"Base64. A bit for each seat in plan order, highest first; 1 means not available."`
	Unavailable *[]string `json:"unavailable,omitempty" doc:"The IDs of the seats that are not available, for the format ids."`
}

type categoryBody struct {
	Key       string `json:"key"`
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
}

type pathSeat struct {
	PathID
	SeatID string `path:"seatId" maxLength:"64"`
}

type seatBody struct {
	ID        string `json:"id"`
	Section   string `json:"section"`
	Row       string `json:"row" doc:"The label of the row."`
	Label     string `json:"label"`
	Category  string `json:"category"`
	State     string `json:"state" enum:"AVAILABLE,LOCKED,SOLD,BLOCKED"`
	LockID    string `json:"lockId,omitempty"`
	BookingID string `json:"bookingId,omitempty"`
}

type seatList struct {
	PathID
	Body struct {
		SeatIDs []string `json:"seatIds" minItems:"1" maxItems:"10000"`
	}
}

type blockedBody struct {
	Blocked int64 `json:"blocked" doc:"Number of blocked seats of the event."`
}

func (a *api) registerSeatRoutes() {
	tags := []string{"Seats"}
	route(a, huma.Operation{
		OperationID: "get-seats", Method: http.MethodGet, Path: "/api/events/{id}/seats", Tags: tags, Summary: "Get the seats that are taken",
		Description: "Of an event with a seating plan. The answer does not distinguish held, sold and blocked seats.",
		Errors:      []int{http.StatusNotFound}, Metadata: map[string]any{metadataRepeats: "section"},
		Responses: cachedResponse[seatMapBody](a.huma.OpenAPI().Components.Schemas, "OK", mapCacheControl),
	}, scopeCustomer, a.getSeats)
	route(a, huma.Operation{
		OperationID: "get-seat", Method: http.MethodGet, Path: "/api/events/{id}/seats/{seatId}", Tags: tags, Summary: "Get a seat, and its lock",
		Errors: []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *pathSeat) (*found[seatBody], error) {
		s, err := a.Seats.Seat(ctx, parseID(in.ID), in.SeatID)
		return &found[seatBody]{Body: seatBody{
			ID: s.SeatID, Section: s.Section, Row: s.Row, Label: s.Label, Category: s.Category, State: string(s.State),
			LockID: formatID(s.LockID), BookingID: formatID(s.BookingID),
		}}, err
	})
	block := func(id, path, summary string, change func(context.Context, holdfast.ID, []string) (int64, error)) {
		route(a, huma.Operation{
			OperationID: id, Method: http.MethodPost, Path: path, Tags: tags, Summary: summary,
			Description: "All of them, or none. A repeat changes nothing.", Errors: []int{http.StatusNotFound, http.StatusConflict},
			Metadata: map[string]any{metadataMaxBody: int64(maxBlockBytes)},
		}, config.ScopeAdmin, func(ctx context.Context, in *seatList) (*found[blockedBody], error) {
			n, err := change(ctx, parseID(in.ID), in.Body.SeatIDs)
			return &found[blockedBody]{Body: blockedBody{Blocked: n}}, err
		})
	}
	block("block-seats", "/api/events/{id}/seats/block", "Take seats out of sale", a.Seats.BlockSeats)
	block("unblock-seats", "/api/events/{id}/seats/unblock", "Put blocked seats on sale again", a.Seats.UnblockSeats)
}

// maxBlockBytes is enough for seats.MaxBlockedAtOnce IDs.
const maxBlockBytes = seats.MaxBlockedAtOnce * (holdfast.MaxSeatIDLength + 8)

func (a *api) getSeats(ctx context.Context, in *seatMapQuery) (*huma.StreamResponse, error) {
	m, err := a.Seats.SeatMap(ctx, parseID(in.ID))
	if err != nil {
		return nil, err
	}
	numbers, err := sectionNumbers(m.Seats.Hall(), in.Sections)
	if err != nil {
		return nil, err
	}
	if in.Format == "ids" && len(numbers) > maxSectionsOfIDs {
		return nil, holdfast.RefuseInput("query.format", "The format ids is for at most %d sections: name them.", maxSectionsOfIDs)
	}
	answer := &sectioned{
		etag: seatMapTag(m, in), cacheControl: mapCacheControl, form: newSeatMapBody(m),
		sections: func(context.Context) iter.Seq2[json.RawMessage, error] {
			return sectionTexts(m.Seats, numbers, in.Format == "ids")
		},
	}
	return answer.response(a, &in.NoneMatch), nil
}

// seatMapTag differs between different answers.
func seatMapTag(m seats.SeatMap, in *seatMapQuery) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%q|%s", in.ID, m.PlanID, in.Sections, in.Format))
	const tagBytes = 8
	return fmt.Sprintf(`"%d-%s"`, m.Revision, hex.EncodeToString(sum[:tagBytes]))
}

// sectionNumbers finds sections by their keys, in plan order; without keys it returns all of them.
func sectionNumbers(hall *seating.Hall, keys []string) ([]int, error) {
	numbers := make([]int, 0, len(hall.Sections()))
	for _, key := range keys {
		n, found := hall.FindSection(key)
		if !found {
			return nil, holdfast.RefuseInput("query.section", "The seating plan has no such section.")
		}
		numbers = append(numbers, n)
	}
	if len(keys) == 0 {
		for n := range hall.Sections() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// newSeatMapBody is the answer without its sections.
func newSeatMapBody(m seats.SeatMap) *seatMapBody {
	hall := m.Seats.Hall()
	body := &seatMapBody{Rev: m.Revision, Sections: []sectionSeatsBody{}}
	totals := make([]int64, len(hall.Categories()))
	for _, part := range hall.Parts() {
		if hall.Sections()[part.Section].GeneralAdmission() {
			totals[part.Category] += m.Seats.Capacity(part.Section)
		} else {
			totals[part.Category] += part.Seats
		}
	}
	for n, key := range hall.Categories() {
		body.Categories = append(body.Categories, categoryBody{Key: key, Total: totals[n], Available: m.Seats.AvailableOf(n)})
	}
	return body
}

func sectionTexts(o *seating.Occupancy, numbers []int, withIDs bool) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, n := range numbers {
			if !yield(json.Marshal(newSectionSeatsBody(o, n, withIDs))) {
				return
			}
		}
	}
}

func newSectionSeatsBody(o *seating.Occupancy, n int, withIDs bool) sectionSeatsBody {
	section := &o.Hall().Sections()[n]
	body := sectionSeatsBody{Key: section.Key, Total: o.Capacity(n), Available: o.AvailableIn(n), Oversold: o.OversoldIn(n)}
	switch {
	case section.GeneralAdmission():
	case withIDs:
		ids := []string{}
		for seat := range o.TakenSeats(n) {
			ids = append(ids, section.Seats[seat].ID)
		}
		body.Unavailable = &ids
	default:
		body.Bitmap = new(base64.StdEncoding.EncodeToString(o.Bytes(nil, n)))
	}
	return body
}
