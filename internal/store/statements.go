package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// This file has the guards and updates of a plan's writes, as commands of MongoDB.

// eventGuard matches the event if it is as the plan requires. HeldBefore of the write checks the same after the
// write.
func eventGuard(id ID, w inventory.EventWrite) bson.D {
	is := mongodb.Is("_id", id)
	switch before := w.IfUnchanged; {
	case w.Drift != nil:
		return mongodb.And(is, numberOrAbsent(fixes, w.Drift.Repairs), quiet(*w.Drift), noneWaits)
	case before == nil:
		return mongodb.And(is, unseated, onSaleForAll, sameSale(w.SaleStartsAt, w.SaleEndsAt), noneWaits,
			bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: w.AtLeast}}}})
	default:
		return mongodb.And(is, numberOrAbsent(rev, before.Revision), mongodb.Is("totalSeats", before.TotalSeats),
			mongodb.Is("availableSeats", before.AvailableSeats), numberOrAbsent("oversold", before.Oversold), sameStatus(before.Status),
			sameLimit(before.MaxSeatsPerUser), samePlan(before.Seating.PlanID), sameRules(before.Seating),
			sameSale(before.SaleStartsAt, before.SaleEndsAt))
	}
}

// quiet matches an event that a drift neither sells out nor makes available again, if the drift has such a guard.
func quiet(d inventory.Drift) bson.D {
	if !d.Quiet {
		return bson.D{}
	}
	atLeast := func(field string, n int64) bson.D { return mongodb.Is(field, bson.D{{Key: "$gte", Value: n}}) }
	staysSoldOut := mongodb.Is("availableSeats", int64(0))
	if d.Amount < 0 {
		staysSoldOut = mongodb.And(staysSoldOut, atLeast("oversold", -d.Amount))
	}
	return mongodb.Is("$or", bson.A{atLeast("availableSeats", 1+max(0, d.Amount)), staysSoldOut})
}

// onSaleForAll matches events on sale without a limit per user.
var onSaleForAll = mongodb.And(sameStatus(holdfast.OnSale), sameLimit(0))

// sameLimit matches an event with the same limit per customer; 0 means no limit.
func sameLimit(seats int64) bson.D { return numberOrAbsent("maxSeatsPerUser", seats) }

// sameSale matches an event that is on sale at the same times; the zero time means no bound.
func sameSale(starts, ends time.Time) bson.D {
	return mongodb.And(sameTime(saleStart, starts), sameTime(saleEnd, ends))
}

func sameTime(field string, t time.Time) bson.D {
	if t.IsZero() {
		return mongodb.Is(field, nil)
	}
	return mongodb.Is(field, t)
}

const (
	saleStart = "saleStartsAt"
	saleEnd   = "saleEndsAt"
)

func sameStatus(status holdfast.EventStatus) bson.D {
	if status == holdfast.OnSale {
		return bson.D{{Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{nil, string(status)}}}}}
	}
	return mongodb.Is("status", string(status))
}

// numberOrAbsent matches a field with the value n; an absent field counts as 0.
func numberOrAbsent(field string, n int64) bson.D {
	if n == 0 {
		return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: bson.A{nil, n}}}}}
	}
	return mongodb.Is(field, n)
}

// eventUpdate returns the update of an event: a document of operators, or a pipeline.
func eventUpdate(w inventory.EventWrite) any {
	if w.Drift != nil {
		return mongo.Pipeline{{{Key: "$set", Value: driftSet(*w.Drift, w.RunID)}}, {{Key: "$unset", Value: archivedAt}}}
	}
	if w.Touch {
		return bson.D{touch}
	}
	inc, set, unset := bson.D{{Key: rev, Value: max(1, w.Raise)}}, bson.D{}, bson.D{{Key: archivedAt, Value: ""}}
	addTo := func(field string, n int64) {
		if n != 0 {
			inc = append(inc, bson.E{Key: field, Value: n})
		}
	}
	addTo("availableSeats", w.Available)
	addTo("oversold", w.Oversold)
	if w.Blocked != nil {
		set = append(set, bson.E{Key: "blockedSeats", Value: *w.Blocked})
	}
	set = setMaps(set, w)
	if w.Sections != nil {
		set, unset = setSections(set, unset, *w.Sections)
	}
	if w.Counter != nil {
		set = append(set, bson.E{Key: "availableSeats", Value: w.Counter.AvailableSeats})
		inc = append(inc, bson.E{Key: fixes, Value: int64(1)})
		set, unset = setOrUnset(set, unset, "oversold", w.Counter.Oversold)
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: runID, Value: w.RunID})
	}
	if w.SweptAtRev != nil {
		set = append(set, bson.E{Key: sweptRev, Value: *w.SweptAtRev})
	}
	if c := w.Fields; c.Name != nil {
		set = append(set, bson.E{Key: "name", Value: *c.Name})
	}
	if c := w.Fields; c.TotalSeats != nil {
		set = append(set, bson.E{Key: "totalSeats", Value: *c.TotalSeats})
	}
	if c := w.Fields; c.EventDate != nil {
		set = append(set, bson.E{Key: "eventDate", Value: *c.EventDate})
	}
	if c := w.Fields; c.Status != nil {
		set = append(set, bson.E{Key: "status", Value: string(*c.Status)})
	}
	if c := w.Fields; c.MaxSeatsPerUser != nil {
		set, unset = setOrUnset(set, unset, "maxSeatsPerUser", *c.MaxSeatsPerUser)
	}
	set, unset = setTime(set, unset, saleStart, w.Fields.SaleStartsAt)
	set, unset = setTime(set, unset, saleEnd, w.Fields.SaleEndsAt)
	set = append(set, rulesSet(w.Fields)...)
	if c := w.Fields; c.SeatingPlanID != nil {
		set = append(set, bson.E{Key: planField, Value: *c.SeatingPlanID})
	}
	set = append(set, listSet(w)...)
	if w.ShopData != nil {
		set, unset = setShopData(set, unset, *w.ShopData)
	}
	return changing(bson.D{{Key: "$inc", Value: inc}, mongodb.TouchDate}, set, unset)
}

// rulesSet returns the updates of the event's rules that a change names.
func rulesSet(c holdfast.EventChange) (set bson.D) {
	if c.OrphanRule != nil {
		set = append(set, bson.E{Key: "orphanRule", Value: string(*c.OrphanRule)})
	}
	if c.AccessiblePolicy != nil {
		set = append(set, bson.E{Key: "accessiblePolicy", Value: string(*c.AccessiblePolicy)})
	}
	if c.LatePayments != nil {
		set = append(set, bson.E{Key: "latePayments", Value: string(*c.LatePayments)})
	}
	if c.LateSeconds != nil {
		set = append(set, bson.E{Key: "latePaymentSeconds", Value: *c.LateSeconds})
	}
	return set
}

func setOrUnset(set, unset bson.D, field string, n int64) (bson.D, bson.D) {
	if n == 0 {
		return set, append(unset, bson.E{Key: field, Value: ""})
	}
	return append(set, bson.E{Key: field, Value: n}), unset
}

// setTime sets a time that a change names; a zero time is removed.
func setTime(set, unset bson.D, field string, t *time.Time) (bson.D, bson.D) {
	switch {
	case t == nil:
		return set, unset
	case t.IsZero():
		return set, append(unset, bson.E{Key: field, Value: ""})
	default:
		return append(set, bson.E{Key: field, Value: *t}), unset
	}
}

// driftSet subtracts a drift from the counter's value at the time of the write.
func driftSet(d inventory.Drift, run string) bson.D {
	own := bson.D{{Key: "fixes", Value: oneMore(fixes)}}
	if run != "" {
		own = append(own, bson.E{Key: "runId", Value: run})
	}
	net := bson.D{{Key: "$subtract", Value: bson.A{
		bson.D{{Key: "$subtract", Value: bson.A{"$availableSeats", orZero("$oversold")}}}, d.Amount,
	}}}
	return bson.D{
		{Key: "availableSeats", Value: bson.D{{Key: "$max", Value: bson.A{net, 0}}}},
		{Key: "oversold", Value: bson.D{{Key: "$cond", Value: bson.A{
			bson.D{{Key: "$lt", Value: bson.A{net, 0}}}, bson.D{{Key: "$subtract", Value: bson.A{0, net}}}, "$$REMOVE",
		}}}},
		{Key: internalName, Value: bson.D{{Key: "$mergeObjects", Value: bson.A{"$" + internalName, own}}}},
		{Key: "updatedAt", Value: "$$NOW"},
	}
}

func oneMore(field string) bson.D {
	return bson.D{{Key: "$add", Value: bson.A{orZero("$" + field), int64(1)}}}
}

func orZero(field string) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{field, int64(0)}}}
}

// lockGuard matches the locks that are as the plan requires.
func lockGuard(ids []ID, w inventory.LockWrite) bson.D {
	is := mongodb.And(mongodb.In("_id", ids), mongodb.Is("status", string(w.From)), ofEvents(known(w.EventID)))
	switch w.Guard {
	case inventory.IsDue:
		return mongodb.And(is, due, numberOrAbsent(rev, w.Revision))
	case inventory.AtRevision:
		return mongodb.And(is, numberOrAbsent(rev, w.Revision))
	case inventory.LiveAtRevision:
		return mongodb.And(is, numberOrAbsent(rev, w.Revision), notDue, isBefore(w.Before))
	default:
		return is
	}
}

// isBefore matches while the database's clock is before a time. A zero time means no condition.
func isBefore(t time.Time) bson.D {
	if t.IsZero() {
		return nil
	}
	return bson.D{{Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{"$$NOW", t}}}}}
}

func lockUpdate(w inventory.LockWrite) bson.D {
	set, unset := bson.D{}, bson.D{}
	if w.To != w.From {
		set = append(set, bson.E{Key: "status", Value: string(w.To)})
	}
	if !w.ExpiresAt.IsZero() {
		set = append(set, bson.E{Key: "expiresAt", Value: w.ExpiresAt})
	}
	if w.EndedBy != "" {
		set = append(set, bson.E{Key: "endedBy", Value: string(w.EndedBy)})
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: lockRunID, Value: w.RunID})
	}
	if !w.BookingID.IsZero() {
		set = append(set, bson.E{Key: "bookingId", Value: w.BookingID})
	}
	if w.Seats != nil {
		set, unset = setSeats(set, unset, *w.Seats)
	}
	if w.ShopData != nil {
		set, unset = setShopData(set, unset, *w.ShopData)
	}
	date := mongodb.TouchDate
	if w.From == holdfast.LockBlocked && w.To != w.From {
		set, date = append(set, bson.E{Key: liftedBlock, Value: true}), endDate
	}
	update := bson.D{raiseRevision}
	if len(set) > 0 || w.ShopData != nil {
		update = append(update, date)
	}
	return changing(update, set, unset)
}

// changing adds operators to an update. MongoDB refuses empty ones.
func changing(update, set, unset bson.D) bson.D {
	if len(set) > 0 {
		update = append(update, bson.E{Key: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return update
}

// bookingGuard matches the bookings that are as the plan requires.
func bookingGuard(ids []ID, w inventory.BookingWrite) bson.D {
	is := mongodb.And(mongodb.In("_id", ids), mongodb.Is("status", string(w.From)), numberOrAbsent(rev, w.Revision),
		bookingsOf(known(w.EventID)))
	if w.WindowOpen {
		return mongodb.And(is, mongodb.Ahead("paymentExpiresAt"))
	}
	return is
}

func bookingUpdate(w inventory.BookingWrite) bson.D {
	set, unset := bson.D{{Key: "status", Value: string(w.To)}}, bson.D{}
	if !w.UpdatedAt.IsZero() {
		set = append(set, bson.E{Key: "updatedAt", Value: w.UpdatedAt})
	}
	if !w.PaymentExpiresAt.IsZero() {
		set = append(set, bson.E{Key: "paymentExpiresAt", Value: w.PaymentExpiresAt})
	}
	if w.PaymentReference != "" {
		set = append(set, bson.E{Key: referenceField, Value: w.PaymentReference})
	}
	if w.Payments != nil {
		set = append(set, bson.E{Key: listedPayments, Value: *w.Payments})
	}
	if w.Done != nil {
		set = append(set, bson.E{Key: doneRequests, Value: *w.Done})
	}
	if !w.LockID.IsZero() {
		set = append(set, bson.E{Key: "seatLockId", Value: w.LockID}, bson.E{Key: "late", Value: w.Late})
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: runID, Value: w.RunID})
	}
	if w.ShopData != nil {
		set, unset = setShopData(set, unset, *w.ShopData)
	}
	if w.Seats != nil {
		set, unset = setSeats(set, unset, *w.Seats)
	}
	if w.Customer != nil {
		set, unset = setCustomer(set, unset, *w.Customer)
	}
	return changing(bson.D{raiseRevision}, set, unset)
}

// setCustomer sets the user or the holder that has a booking.
func setCustomer(set, unset bson.D, c inventory.Customer) (_, _ bson.D) {
	set, unset = append(set, bson.E{Key: "userId", Value: c.UserID}), append(unset, bson.E{Key: sourceUser, Value: ""})
	if c.Holder == "" {
		return set, append(unset, bson.E{Key: holderField, Value: ""})
	}
	return append(set, bson.E{Key: holderField, Value: c.Holder}), unset
}
