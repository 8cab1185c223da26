package peers

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// fill gives each field of a value another value than zero, so that a field that is not sent is noticed.
func fill(t *testing.T, v reflect.Value, n *int64) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMilli(1_700_000_000_000 + *n).UTC()))
			return
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				t.Fatalf("%s.%s is not exported, so it is not sent", v.Type(), v.Type().Field(i).Name)
			}
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(*n) + uint64(i))
		}
	case reflect.String:
		v.SetString("text é \x00 " + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int, reflect.Int32:
		v.SetInt(*n)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	default:
		t.Fatalf("a field of the kind %s is not known to the test", v.Kind())
	}
}

// sent is a message as it arrives.
func sent[M any](t *testing.T, m *M) *M {
	t.Helper()
	data, err := codec{}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var arrived M
	if err := (codec{}).Unmarshal(data, &arrived); err != nil {
		t.Fatal(err)
	}
	return &arrived
}

// Every field of a command and of an answer arrives, also with a zero value.
func TestWire_LosesNothing(t *testing.T) {
	t.Parallel()
	var commands envelope[toOwner]
	var answers envelope[toClient]
	n := int64(0)
	for range 2 {
		var command toOwner
		var answer toClient
		fill(t, reflect.ValueOf(&command).Elem(), &n)
		fill(t, reflect.ValueOf(&answer).Elem(), &n)
		bytes, err := bson.Marshal(bson.D{{Key: detailsField, Value: holdfast.CapacityBelowTaken{Taken: n}}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Reply.Error.Details = bytes
		commands.Messages, answers.Messages = append(commands.Messages, command), append(answers.Messages, answer)
	}
	commands.Messages = append(commands.Messages, toOwner{ID: 1, Command: &request{Acquire: &inventory.Acquire{}}})
	answers.Messages = append(answers.Messages, toClient{ID: 1, Reply: &reply{Lock: &holdfast.Lock{}}})
	if diff := cmp.Diff(&commands, sent(t, &commands)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&answers, sent(t, &answers)); diff != "" {
		t.Error(diff)
	}
}

// A refusal arrives with its details, whichever they are.
func TestWire_KeepsRefusals(t *testing.T) {
	t.Parallel()
	zero := int64(0)
	refusals := []error{
		nil, errors.New("no code"), holdfast.NotFound(holdfast.CodeLockNotFound),
		holdfast.Refuse(holdfast.CodeSeatLimitReached, "m").With(holdfast.LimitReached{Limit: 3, Held: &zero}),
	}
	n := int64(0)
	for _, kind := range details {
		value := reflect.New(kind).Elem()
		fill(t, value, &n)
		refusals = append(refusals, holdfast.Refuse(holdfast.CodeSeatsUnavailable, "m").With(value.Interface()),
			holdfast.Refuse(holdfast.CodeSeatsUnavailable, "m").With(reflect.Zero(kind).Interface()))
	}
	for _, refusal := range refusals {
		answer, err := replyOf(inventory.Result{}, refusal)
		if err != nil {
			t.Fatal(err)
		}
		_, got := sent(t, answer).result()
		if refusal == nil {
			if got != nil {
				t.Errorf("an error arrived that was not sent: %v", got)
			}
			continue
		}
		if got == nil || got.Error() != refusal.Error() {
			t.Errorf("sent %v, got %v", refusal, got)
			continue
		}
		want, _ := errors.AsType[*holdfast.Error](refusal)
		if arrived, _ := errors.AsType[*holdfast.Error](got); !reflect.DeepEqual(arrived, want) {
			t.Errorf("sent %#v, got %#v", want, arrived)
		}
	}
}

// The cause of an error arrives as a text for the log.
func TestWire_KeepsTheCause(t *testing.T) {
	t.Parallel()
	answer, err := replyOf(inventory.Result{}, holdfast.Refuse(holdfast.CodeUnavailable, "m").By(errors.New("a socket")))
	if err != nil {
		t.Fatal(err)
	}
	if _, got := sent(t, answer).result(); got.Error() != "UNAVAILABLE: m: a socket" {
		t.Errorf("got %v", got)
	}
}

// All details that errors.go declares are known.
func TestWire_KnowsAllDetails(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE || len(group.Specs) < 2 {
			continue
		}
		for _, s := range group.Specs {
			found++
			if name := s.(*ast.TypeSpec).Name.Name; details[name] == nil {
				t.Errorf("the details %s are not forwarded", name)
			}
		}
	}
	if found != len(details) {
		t.Errorf("errors.go declares %d details, %d are known", found, len(details))
	}
}

// A command arrives with its caller's origin and trace. A block is not sent.
func TestRequest_HasItsCaller(t *testing.T) {
	t.Parallel()
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	origin := holdfast.Origin{Actor: "shop", RequestID: "r1"}
	ctx := trace.ContextWithSpanContext(holdfast.WithOrigin(t.Context(), origin), span)
	command := inventory.Release{LockID: holdfast.ID{5}}
	q, ok := requestOf(ctx, 3, holdfast.ID{6}, command)
	if !ok {
		t.Fatal("it is not forwarded")
	}
	q = sent(t, q)
	arrived := q.context(context.Background())
	if got := trace.SpanContextFromContext(arrived); !got.Equal(span) {
		t.Errorf("the span is %v, want %v", got, span)
	}
	if got := holdfast.OriginOf(arrived); got != origin {
		t.Errorf("the origin is %v", got)
	}
	if got := q.command(); got != command || q.From != 3 || q.Event != (holdfast.ID{6}) {
		t.Errorf("got %+v: %+v", q, got)
	}
	if _, ok := requestOf(ctx, 3, holdfast.ID{6}, inventory.Block{}); ok {
		t.Error("a block is forwarded")
	}
	if q := (&request{}); q.command() != nil {
		t.Error("an unknown command is some other one")
	}
}
