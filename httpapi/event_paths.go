package httpapi

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// PathEvent is the event in the path of a lock or a booking. A load balancer sends all requests of an event to one process
// by it: their commands share transactions there, and don't conflict.
type PathEvent struct {
	EventID string `path:"eventId" pattern:"^[0-9a-fA-F]{24}$" doc:"24 hex digits."`
}

// with returns the event, unless the body names another one.
func (p PathEvent) with(inBody string) (holdfast.ID, error) {
	id := parseID(p.EventID)
	if inBody != "" && parseID(inBody) != id {
		return id, holdfast.RefuseInput("body.eventId", "The path and the body name different events. Leave it out of the body.")
	}
	return id, nil
}

// PathInEvent is the ID of a lock or a booking, below its event.
type PathInEvent struct {
	PathEvent
	PathID
}

// target is the lock or the booking that a path names.
type target struct {
	event *holdfast.ID // nil if the path names none
	id    holdfast.ID
}

// eventOfBooking is the event that the path names, or zero if it names none. No booking is of the event whose ID is zero.
func (t target) eventOfBooking() (holdfast.ID, error) {
	switch {
	case t.event == nil:
		return holdfast.ID{}, nil
	case t.event.IsZero():
		return holdfast.ID{}, holdfast.NotFound(holdfast.CodeBookingNotFound)
	default:
		return *t.event, nil
	}
}

func (p PathID) target() target { return target{id: parseID(p.ID)} }

func (p PathInEvent) target() target {
	return target{event: new(parseID(p.EventID)), id: parseID(p.ID)}
}

// command is a request with a body for the lock or the booking that its path names.
type command[B any] struct {
	PathID
	Body B
}

type commandInEvent[B any] struct {
	PathInEvent
	Body B
}

// routeTwice registers an operation without a body on a lock or a booking, and the same one with the event in the path.
func routeTwice[O any](a *api, op huma.Operation, scope config.Scope, handle func(context.Context, target) (*O, error)) {
	route(a, op, scope, func(ctx context.Context, in *PathID) (*O, error) { return handle(ctx, in.target()) })
	route(a, inEvent(op), scope, func(ctx context.Context, in *PathInEvent) (*O, error) { return handle(ctx, in.target()) })
}

// routeCommandTwice is routeTwice for an operation with a body.
func routeCommandTwice[B, O any](a *api, op huma.Operation, scope config.Scope, handle func(context.Context, target, B) (*O, error)) {
	route(a, op, scope, func(ctx context.Context, in *command[B]) (*O, error) { return handle(ctx, in.target(), in.Body) })
	route(a, inEvent(op), scope, func(ctx context.Context, in *commandInEvent[B]) (*O, error) { return handle(ctx, in.target(), in.Body) })
}

// inEvent is an operation with the event in its path.
func inEvent(op huma.Operation) huma.Operation {
	op.OperationID += "-in-event"
	op.Path = strings.Replace(op.Path, "/api/", "/api/events/{eventId}/", 1)
	op.Summary += ", with its event in the path"
	op.Description = strings.TrimSpace(op.Description + " The same command as without the event in the path, by which a load balancer can " +
		"send the requests of an event to one process. A lock or a booking of another event does not exist here.")
	return op
}

// requireLock answers that a lock does not exist if the token is of another customer, or the path has another event. A
// lock's customer and event never change, so the check needs no transaction.
func (a *api) requireLock(ctx context.Context, t target) error {
	info := requestInfoOf(ctx)
	if info.scope != scopeCustomer && t.event == nil {
		return nil
	}
	lock, err := a.Seats.GetLock(ctx, t.id)
	if err == nil && !mayName(info, t, Customer{lock.UserID, lock.Holder}, lock.EventID) {
		err = holdfast.NotFound(holdfast.CodeLockNotFound)
	}
	return err
}

// requireBooking is requireLock for bookings.
func (a *api) requireBooking(ctx context.Context, t target) error {
	info := requestInfoOf(ctx)
	if info.scope != scopeCustomer && t.event == nil {
		return nil
	}
	b, err := a.Bookings.GetBooking(ctx, t.id)
	if err == nil && !mayName(info, t, Customer{b.UserID, b.Holder}, b.EventID) {
		err = holdfast.NotFound(holdfast.CodeBookingNotFound)
	}
	return err
}

func mayName(info *requestInfo, t target, c Customer, event holdfast.ID) bool {
	return (info.scope != scopeCustomer || c == info.Customer) && (t.event == nil || event == *t.event)
}
