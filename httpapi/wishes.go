package httpapi

import (
	"context"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
)

// WishBody is the part of a request that selects the seats, in exactly one form.
type WishBody struct {
	Seats      *int64    `json:"seats,omitempty" nullable:"true" minimum:"1" maximum:"10000000" doc:"Without a seating plan, or with section."`
	SeatIDs    []string  `json:"seatIds,omitempty" nullable:"true" minItems:"1" maxItems:"50" doc:"IDs of named seats."`
	Accessible *int64    `json:"accessibleSeats,omitempty" nullable:"true" minimum:"0" maximum:"50" doc:"How many of seatIds are accessible."`
	Best       *bestBody `json:"bestAvailable,omitempty"`
	Section    string    `json:"section,omitempty" nullable:"true" minLength:"1" maxLength:"32" doc:"General admission; give seats too."`
}

type bestBody struct {
	Seats      int64    `json:"seats" minimum:"1" maximum:"50"`
	Categories []string `json:"categories,omitempty" nullable:"true" minItems:"1" maxItems:"64" doc:"Category keys, the preferred one first."`
	Section    string   `json:"section,omitempty" nullable:"true" minLength:"1" maxLength:"32" doc:"Key of the only section."`
	Accessible int64    `json:"accessibleSeats,omitempty" nullable:"true" minimum:"0" maximum:"50" doc:"Exact number of accessible seats."`
	Adjacent   string   `json:"adjacent,omitempty" nullable:"true" enum:"REQUIRED,PREFERRED" doc:"PREFERRED if absent."`
}

// wish returns the wish, and the requested number of seats, or 0 if its form determines the number.
func (b WishBody) wish() (seats int64, w holdfast.Wish, err error) {
	forms := 0
	for _, has := range []bool{b.SeatIDs != nil, b.Best != nil, b.Section != "" || b.Seats != nil} {
		if has {
			forms++
		}
	}
	switch {
	case forms != 1, b.Section != "" && b.Seats == nil:
		return 0, w, holdfast.RefuseInput("body", "Give exactly one of seats, seatIds, bestAvailable, or a section with seats.")
	case b.Accessible != nil && b.SeatIDs == nil:
		return 0, w, holdfast.RefuseInput("body.accessibleSeats", "accessibleSeats goes with seatIds.")
	case b.Best != nil:
		best := b.Best
		return best.Seats, holdfast.Wish{Best: &holdfast.BestAvailable{
			Categories: best.Categories, Section: best.Section, Accessible: best.Accessible, Required: best.Adjacent == "REQUIRED",
		}}, nil
	case b.SeatIDs != nil:
		w = holdfast.Wish{SeatIDs: b.SeatIDs}
		if b.Accessible != nil {
			w.Accessible = *b.Accessible
		}
		return 0, w, nil
	default:
		return *b.Seats, holdfast.Wish{Section: b.Section}, nil
	}
}

// placeBody is where a seat of a lock or a booking is. General admission has a section and a category
// alone.
type placeBody struct {
	SeatID   string `json:"seatId,omitempty"`
	Section  string `json:"section,omitempty"`
	Row      string `json:"row,omitempty" doc:"The label of the row."`
	Label    string `json:"label,omitempty"`
	Category string `json:"category,omitempty"`
}

// places returns the places of seats. The answer of a command that was executed must not fail, so if the plan
// can't be read, the places have the IDs alone.
func (a *api) places(ctx context.Context, eventID holdfast.ID, seatIDs []string, section string) []placeBody {
	return a.placesIn(ctx, eventID, holdfast.ID{}, seatIDs, section)
}

// placesIn is places in the plan that an event had.
func (a *api) placesIn(ctx context.Context, eventID, planID holdfast.ID, seatIDs []string, section string) []placeBody {
	if len(seatIDs) == 0 && section == "" {
		return nil
	}
	places, err := a.readPlaces(ctx, eventID, planID, seatIDs, section)
	return a.placeBodies(ctx, seatIDs, places, err)
}

// readPlaces reads the places of seats in the plan that an event had. Without one, as in a record of an earlier revision at the end of
// a booking whose lock had ended before, it uses the present plan.
func (a *api) readPlaces(ctx context.Context, eventID, planID holdfast.ID, seatIDs []string, section string) ([]holdfast.Place, error) {
	if planID.IsZero() {
		return a.Seats.Places(ctx, eventID, seatIDs, section)
	}
	return a.Seats.PlacesIn(ctx, planID, seatIDs, section)
}

// placeBodies are the places of seats or, if they can't be read, the seats' IDs.
func (a *api) placeBodies(ctx context.Context, seatIDs []string, places []holdfast.Place, err error) []placeBody {
	if err != nil {
		a.Log.WarnContext(ctx, "The places of seats can't be read", slog.String("requestId", requestID(ctx)), slog.Any("error", err))
	}
	if places == nil {
		for _, id := range seatIDs {
			places = append(places, holdfast.Place{SeatID: id})
		}
	}
	return newBodies(places, func(p holdfast.Place) placeBody { return placeBody(p) })
}
