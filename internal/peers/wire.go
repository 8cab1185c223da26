package peers

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// envelope has messages that were ready at the same time. An empty one is a sign of life, or asks for one.
type envelope[M any] struct{ Messages []M }

// toOwner is a message to the process that owns an event. One field beside ID is set.
type toOwner struct {
	ID      int64    // of a command or a question
	Command *request `bson:",omitempty"` // to carry out
	Waiting *[]int64 `bson:",omitempty"` // the commands of question ID whose callers still wait
	GaveUp  bool     `bson:",omitempty"` // the caller of the command
}

// toClient is a message to the process that has sent a command. One field beside ID is set.
type toClient struct {
	ID       int64   // of a command or a question
	Reply    *reply  `bson:",omitempty"` // to a command
	Question []int64 `bson:",omitempty"` // commands: do their callers still wait?
}

// maxMessages bounds the messages of an envelope, far below gRPC's 4 MiB: a command with 100 named seats has a few KiB.
const maxMessages = 100

// seal puts a message into an envelope, with those that are ready beside it.
func seal[M any](first M, ready <-chan M) *envelope[M] {
	e := &envelope[M]{Messages: []M{first}}
	for len(e.Messages) < maxMessages {
		select {
		case m := <-ready:
			e.Messages = append(e.Messages, m)
		default:
			return e
		}
	}
	return e
}

// request is a command that is forwarded, with what its process knows of its caller.
type request struct {
	From  int32 // the writer
	Event holdfast.ID

	// One of them is set. The venue's own commands are rare, and not forwarded.
	Acquire     *inventory.Acquire     `bson:",omitempty"`
	Release     *inventory.Release     `bson:",omitempty"`
	ChangeSeats *inventory.ChangeSeats `bson:",omitempty"`
	Cancel      *inventory.Cancel      `bson:",omitempty"`

	Origin holdfast.Origin
	Trace  []byte `bson:",omitempty"` // the caller's trace and span; empty: none
	Traced byte   // the flags of the trace
}

// requestOf is the request of a command; false if it is not forwarded: commands of its kind are not, or its reads have to
// see what this process has seen.
func requestOf(ctx context.Context, from int32, event holdfast.ID, c inventory.Command) (*request, bool) {
	if mongodb.ReadTimeOf(ctx) != (mongodb.ReadTime{}) {
		return nil, false
	}
	q := &request{From: from, Event: event, Origin: holdfast.OriginOf(ctx)}
	switch c := c.(type) {
	case inventory.Acquire:
		q.Acquire = &c
	case inventory.Release:
		q.Release = &c
	case inventory.ChangeSeats:
		q.ChangeSeats = &c
	case inventory.Cancel:
		q.Cancel = &c
	default:
		return nil, false
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		traceID, spanID := span.TraceID(), span.SpanID()
		q.Trace, q.Traced = append(traceID[:], spanID[:]...), byte(span.TraceFlags())
	}
	return q, true
}

// command is the command of a request; nil if it is of a kind that this version does not know.
func (q *request) command() inventory.Command {
	switch {
	case q.Acquire != nil:
		return *q.Acquire
	case q.Release != nil:
		return *q.Release
	case q.ChangeSeats != nil:
		return *q.ChangeSeats
	case q.Cancel != nil:
		return *q.Cancel
	default:
		return nil
	}
}

// context is ctx with what the request says of its caller.
func (q *request) context(ctx context.Context) context.Context {
	ctx = holdfast.WithOrigin(ctx, q.Origin)
	var traceID trace.TraceID
	var spanID trace.SpanID
	if len(q.Trace) == len(traceID)+len(spanID) {
		copy(spanID[:], q.Trace[copy(traceID[:], q.Trace):])
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(q.Traced), Remote: true,
		}))
	}
	return ctx
}

// reply is the answer of an event's owner.
type reply struct {
	Lock     *holdfast.Lock    `bson:",omitempty"`
	Booking  *holdfast.Booking `bson:",omitempty"`
	Replayed bool
	Error    *wireError `bson:",omitempty"` // nil: the command was carried out

	NotTaken  bool // the command was not carried out, and never will be; nothing else is set
	IsWorthIt bool // that the event's commands are forwarded; see routes.noteCommand
	Leaving   bool // the owner stops: it takes no more
}

func replyOf(r inventory.Result, err error) (*reply, error) {
	failed, encodeErr := encodeError(err)
	return &reply{Lock: r.Lock, Booking: r.Booking, Replayed: r.Replayed, Error: failed}, encodeErr
}

func (r *reply) result() (inventory.Result, error) {
	err := r.Error.decode()
	return inventory.Result{Err: err, Lock: r.Lock, Booking: r.Booking, Replayed: r.Replayed}, err
}

// wireError is an error with a code, or any other one, which has none.
type wireError struct {
	Code    holdfast.Code
	Message string
	Kind    string   // of the details; "": there are none
	Details bson.Raw `bson:",omitempty"` // a document with them
	Cause   string   // for the log
}

// details are the types that an error's details may have, by name.
var details = func() map[string]reflect.Type {
	byName := map[string]reflect.Type{}
	for _, d := range []any{
		holdfast.SeatsUnavailable{}, holdfast.SeatOrphaned{}, holdfast.SeatsNotAdjacent{}, holdfast.LimitReached{},
		holdfast.CapacityBelowTaken{}, holdfast.RefusedPayment{}, holdfast.UnknownLock{}, holdfast.Invalid{},
	} {
		t := reflect.TypeOf(d)
		byName[t.Name()] = t
	}
	return byName
}()

const detailsField = "d"

func encodeError(err error) (*wireError, error) {
	if err == nil {
		return nil, nil //nolint:nilnil // no error
	}
	coded, ok := errors.AsType[*holdfast.Error](err)
	if !ok {
		return &wireError{Message: err.Error()}, nil
	}
	e := &wireError{Code: coded.Code, Message: coded.Message}
	if coded.Cause != nil {
		e.Cause = coded.Cause.Error()
	}
	if coded.Details == nil {
		return e, nil
	}
	e.Kind = reflect.TypeOf(coded.Details).Name()
	if details[e.Kind] == nil {
		return nil, fmt.Errorf("the details of %s have the type %T, which is not forwarded", coded.Code, coded.Details)
	}
	var encodeErr error
	e.Details, encodeErr = bson.Marshal(bson.D{{Key: detailsField, Value: coded.Details}})
	return e, encodeErr
}

// decode is the error that was encoded; nil if there was none.
func (e *wireError) decode() error {
	switch {
	case e == nil:
		return nil
	case e.Code == "":
		return errors.New(e.Message)
	}
	coded := &holdfast.Error{Code: e.Code, Message: e.Message}
	if e.Cause != "" {
		coded.Cause = errors.New(e.Cause)
	}
	if t := details[e.Kind]; t != nil {
		value := reflect.New(t)
		if err := e.Details.Lookup(detailsField).Unmarshal(value.Interface()); err != nil {
			coded.Cause = errors.Join(coded.Cause, fmt.Errorf("its details can't be read: %w", err))
			return coded
		}
		coded.Details = value.Elem().Interface()
	}
	return coded
}

// codec writes the messages of gRPC in BSON, which the domain's types have a form in.
type codec struct{}

func (codec) Name() string                          { return "bson" }
func (codec) Marshal(message any) ([]byte, error)   { return bson.Marshal(message) }
func (codec) Unmarshal(data []byte, into any) error { return bson.Unmarshal(data, into) }
